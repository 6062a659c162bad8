"""A body of a given size, or of none that a header says, is the same JSON value."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.sized_bodies import in_chunks, nest, pad
from conformance.client.request import RawBody, Request
from tests.support.check_runs import CONTRACT

REQUEST = Request(CONTRACT.operations["createInstallationWebhook"], body={"url": "https://é.example"})


@pytest.mark.parametrize("size", [40, 1_000])
def test_a_padded_body_has_the_size_and_the_value(size: int) -> None:
    """The size is counted in bytes."""
    body = pad(REQUEST, size).body
    assert isinstance(body, RawBody)
    assert len(body.content) == size
    assert json.loads(body.content) == REQUEST.body


@pytest.mark.parametrize(
    "make", [lambda: pad(REQUEST, 2**40), lambda: nest(REQUEST, 2**40, b"")], ids=["size", "depth"]
)
def test_a_body_that_fills_the_memory_is_not_made(make: Callable[[], Request]) -> None:
    """A profile may state any bound; what no run sends stays open."""
    with pytest.raises(Inconclusive, match=r"a run sends no body of [0-9,]+ bytes, but 64 MiB at most"):
        make()


def test_a_body_in_chunks_is_the_same_one() -> None:
    """Only the header that says so is new."""
    plain, chunked = REQUEST.wire(""), in_chunks(REQUEST).wire("")
    assert chunked.content == plain.content
    assert set(chunked.headers) - set(plain.headers) == {("Transfer-Encoding", "chunked")}
