"""Which refusals may come from a component in front of the target."""

from __future__ import annotations

import pytest

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.judge.answer_scope import is_out_of_scope

IDENTITY = Request(load_contract().operations["getApiKeyIdentity"])
TWICE = (("Authorization", "Bearer a"), ("authorization", "Bearer b"))


@pytest.mark.parametrize(("status", "expected"), [(400, True), (401, False), (500, False)])
def test_a_second_authorization_may_be_refused_as_no_http(status: int, expected: bool) -> None:
    """With 400 alone."""
    assert is_out_of_scope(Answer("x1", IDENTITY, "http://t/a", TWICE, b"", status)) is expected


@pytest.mark.parametrize("name", ["Accept", "DPoP", "Idempotency-Key"])
def test_another_header_twice_is_the_targets_to_refuse(name: str) -> None:
    sent = (*TWICE[:1], (name, "a"), (name, "b"))
    assert not is_out_of_scope(Answer("x1", IDENTITY, "http://t/a", sent, b"", 400))
