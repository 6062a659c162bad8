"""A demand for a credential by a public read: found in every call that names no caller and no other route."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as replace_operation

import pytest
from msgspec.structs import replace

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.core.model import Finding
from conformance.core.outcomes import Outcome
from conformance.judge.assemble import assemble
from conformance.judge.public_calls import demands_credential
from tests.support.journals import END, by_check, exchange, journal

OPERATIONS = load_contract().operations
SEARCH = Request(OPERATIONS["searchPublicProducts"], query=(("q", "a"), ("page", "3")))
STORE = Request(OPERATIONS["listPublicMerchantProducts"], path={"slug": "acme-1"})
OUTSIDE = replace_operation(SEARCH.operation, path="/search")


def answered(request: Request, status: int) -> Answer:
    return Answer("x1", request, "u", (), b"", status, ())


@pytest.mark.parametrize("request_", [SEARCH, STORE, Request(OPERATIONS["getPublicRuntimeConfig"])])
@pytest.mark.parametrize(("status", "expected"), [(401, True), (403, False), (404, False), (200, False)])
def test_a_public_read_is_never_answered_401(request_: Request, status: int, *, expected: bool) -> None:
    """A 403 may come from a firewall."""
    assert demands_credential(answered(request_, status)) is expected


@pytest.mark.parametrize(
    "change",
    [
        lambda: SEARCH.with_authorization("Bearer x"),
        lambda: SEARCH.with_header("Cookie", "session=x"),
        lambda: SEARCH.with_query(access_token="x"),
        lambda: SEARCH.with_raw_query("apiKey", "x"),
        lambda: replace(SEARCH, method="HEAD"),
        lambda: replace(SEARCH, operation=OUTSIDE),
        lambda: STORE.with_path(slug=".."),
        lambda: STORE.with_path(slug="../open/identity"),
        lambda: replace(STORE, raw_path={"slug": "..%2f"}),
        lambda: Request(OPERATIONS["cancelHostedCheckoutBrowser"], path={"sessionId": "s1"}),
        lambda: Request(OPERATIONS["getApiKeyIdentity"]),
    ],
)
def test_what_may_name_a_caller_or_another_route_may_be_answered_401(change: Callable[[], Request]) -> None:
    assert not demands_credential(answered(change(), 401))


def test_there_is_a_row_only_where_a_public_read_was_judged() -> None:
    """Its checks carry the requirement in a run that has no other call."""
    name, operation = "invariant::PUB-1", SEARCH.operation.id
    plain = assemble(journal([exchange(1, operation=operation)], end=END))
    assert name not in {result.check for result in plain.results}
    finding = Finding("PUB-1", "status:401", "a public operation was answered 401 without Authorization")
    for status, findings, outcome in ((200, (), Outcome.PASSED), (401, (finding,), Outcome.FAILED)):
        seen = exchange(1, status, *findings, operation=operation, judged=("PUB-1", "STA-1"))
        row = by_check(assemble(journal([seen], end=END)), name, operation)
        assert (row.outcome, row.requirement) == (outcome, "PUB-1")
