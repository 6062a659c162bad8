"""An id is not a pattern, and a path is split before it is decoded (NF-1)."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import pytest

from conformance.checks.check_hostile import an_encoded_slash_is_no_path_separator
from conformance.checks.check_not_found import (
    a_pattern_that_fits_an_id_names_nothing,
    an_id_with_more_behind_it_is_answered_404,
    the_beginning_of_an_id_names_nothing,
)
from conformance.core.outcomes import Outcome
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

ORDER = CONTRACT.operations["getStorefrontOrderCancellationEligibility"]
CHECKOUT = CONTRACT.operations["checkoutPublicCart"]
QUOTE = CONTRACT.operations["quotePublicCartCheckout"]
ID = "ab12cd34ef"


def facts(operation: Any, name: str) -> dict[str, Any]:
    path = {operation.path_parameters[0]: name}
    key = Credential("full", SecretSource(env="X"), frozenset({operation.scope}))
    body = None if operation.is_read else {"note": "x"}
    return {"operations": {operation.id: OperationFacts(body=body, path=path)}, "credentials": {"full": key}}


@pytest.mark.parametrize("operation", [ORDER, QUOTE], ids=["underscores", "percent sign"])
@pytest.mark.parametrize(
    ("outcome", "name", "status"),
    [
        (Outcome.PASSED, ID, 404),
        (Outcome.PASSED, ID, 400),
        (Outcome.PASSED, ID, 403),
        (Outcome.FAILED, ID, 200),
        (Outcome.INAPPLICABLE, "10017", 200),
        (Outcome.INAPPLICABLE, "17-summer-cart", 200),
        (Outcome.INAPPLICABLE, "ab1", 200),
        (Outcome.INAPPLICABLE, "MjAyNjAxMTc=", 200),
    ],
    ids=["unknown", "no id", "firewall", "LIKE", "number", "number with a title", "short", "base64"],
)
def test_a_wildcard_in_an_id_stands_for_itself(
    judged: Any, answer: Any, operation: Any, outcome: Outcome, name: str, status: int
) -> None:
    def script(arrived: Any) -> bytes:
        asked = unquote(arrived.target.split("/")[-2])
        if asked == name:
            return bytes(answer(200, {"data": {}}))
        assert re.fullmatch(re.escape(asked).replace("%", ".*").replace("_", "."), name)
        return bytes(answer(status, {"data": {}} if status == 200 else {"error": "no"}))

    result, _ = judged(script, a_pattern_that_fits_an_id_names_nothing, operation, **facts(operation, name))
    assert result.outcome is outcome, result


@pytest.mark.parametrize("is_number_first", [True, False])
@pytest.mark.parametrize("change", [an_id_with_more_behind_it_is_answered_404, the_beginning_of_an_id_names_nothing])
def test_an_id_is_changed_only_where_the_id_of_that_request_allows_it(
    judged: Any, answer: Any, change: Any, *, is_number_first: bool
) -> None:
    """Ids of one kind may be numbers and others; a request with an unchanged id is good."""
    ids = [f"{n:08d}" if n % 2 == is_number_first else f"ab12cd{n:02d}" for n in range(1, 40)]

    def script(arrived: Any) -> bytes:
        is_known = unquote(arrived.target.split("/")[-2]) in ids
        return bytes(answer(200 if is_known else 404, {"data": {}} if is_known else {"error": "no"}))

    carts = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": name} for name in ids))}}
    stated = facts(CHECKOUT, "{cart.id}") | {"fixtures": carts}
    result, target = judged(script, change, CHECKOUT, **stated)
    assert result.outcome in (Outcome.PASSED, Outcome.INAPPLICABLE), result
    assert result.outcome is Outcome.PASSED or all(unquote(a.target.split("/")[-2]) in ids for a in target.arrived)


@pytest.mark.parametrize(("status", "outcome"), [(200, Outcome.WARNED), (404, Outcome.PASSED), (400, Outcome.PASSED)])
def test_a_server_that_decodes_a_path_first_breaks_no_sentence_of_the_interface(
    judged: Any, answer: Any, status: int, outcome: Outcome
) -> None:
    """As nginx does for what it passes on: the answer is the caller's own resource."""

    def script(arrived: Any) -> bytes:
        found = status if "%2f" in arrived.target else 200
        return bytes(answer(found, {"data": {}} if found == 200 else {"error": "no"}))

    result, _ = judged(script, an_encoded_slash_is_no_path_separator, ORDER, **facts(ORDER, ID))
    assert result.outcome is outcome, result
