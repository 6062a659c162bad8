"""An operation that refuses every call is red where another operation shows that the call is good, and only there."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_answers import a_resource_of_every_state_is_read
from conformance.checks.check_public import the_operation_is_served_under_its_declared_path
from conformance.checks.check_scopes import the_named_scope_suffices
from conformance.checks.check_valid_bodies import every_stated_body_is_accepted
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

QUOTE, REVOKE = (CONTRACT.operations[name] for name in ("quotePublicCart", "revokePublicCart"))
CANCELLATION = CONTRACT.operations["getStorefrontOrderCancellationEligibility"]
CARTS = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(40)))}}
ORDERS = {"order": {"late": Fixture("order", "late", values=tuple({"id": f"o{n}"} for n in range(40)))}}
KEYS = {"full": Credential("full", SecretSource(env="X"), frozenset({"catalog:read"}), installation="one")}


def facts(*names: str, **path: str) -> dict[str, OperationFacts]:
    """Facts of operations with one path, and bodies with a reason."""
    return {
        name: OperationFacts(body={"reason": "x"} if CONTRACT.operations[name].has_body else None, path=path)
        for name in names
    }


@pytest.mark.parametrize(
    ("status", "sibling", "outcome"),
    [
        (404, 200, Outcome.FAILED),
        (404, 404, Outcome.INCONCLUSIVE),
        (400, 200, Outcome.INCONCLUSIVE),
    ],
)
def test_a_404_is_about_the_route_where_another_operation_finds_the_cart(
    judged: Any, answer: Any, quick: None, status: int, sibling: int, outcome: Outcome
) -> None:
    """Where no other one finds it the cart may be missing, and a 400 may be about the body (VER-1)."""

    def script(arrived: Any) -> bytes:
        found = status if "/quote" in arrived.target else sibling
        return bytes(answer(found, {"data": {}} if found == 200 else {"error": "no"}))

    operations = facts(QUOTE.id, REVOKE.id, cartId="{cart.id}")
    result, _ = judged(
        script, the_operation_is_served_under_its_declared_path, QUOTE, fixtures=CARTS, operations=operations
    )
    assert result.outcome is outcome, result


def test_a_copy_that_is_behind_is_no_missing_route(judged: Any, answer: Any, quick: None) -> None:
    """A cart that is found some time later was only not visible yet (VER-1)."""
    quotes = 0

    def script(arrived: Any) -> bytes:
        nonlocal quotes
        quotes += "/api/v1/" in arrived.target and "/quote" in arrived.target
        is_found = "/quote" not in arrived.target or quotes > 3
        return bytes(answer(200, {"data": {}}) if is_found else answer(404, {"error": "no"}))

    operations = facts(QUOTE.id, REVOKE.id, cartId="{cart.id}")
    result, _ = judged(
        script, the_operation_is_served_under_its_declared_path, QUOTE, fixtures=CARTS, operations=operations
    )
    assert result.outcome is Outcome.INCONCLUSIVE, result


@pytest.mark.parametrize(
    ("status", "others", "outcome"),
    [
        (403, 200, Outcome.FAILED),
        (403, 403, Outcome.INCONCLUSIVE),
        (401, 200, Outcome.FAILED),
        (401, 401, Outcome.INCONCLUSIVE),
    ],
)
def test_a_key_is_refused_wrongly_where_another_operation_accepts_it(
    judged: Any, answer: Any, quick: None, status: int, others: int, outcome: Outcome
) -> None:
    """A cart of another installation may be refused with 403, and a key that is not known with 401 (SCO-2)."""

    def script(arrived: Any) -> bytes:
        found = status if "/quote" in arrived.target else others
        return bytes(answer(found, {"data": {}} if found == 200 else {"error": "no"}))

    async def law(case: Case) -> None:
        await the_named_scope_suffices(case, "full")

    operations = facts(QUOTE.id, REVOKE.id, cartId="{cart.id}")
    result, _ = judged(script, law, QUOTE, fixtures=CARTS, operations=operations, credentials=KEYS)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("sibling", "outcome"), [(200, Outcome.FAILED), (400, Outcome.INCONCLUSIVE)])
def test_a_read_is_not_invalid_where_another_one_finds_its_resource(
    judged: Any, answer: Any, quick: None, sibling: int, outcome: Outcome
) -> None:
    """An id that is invalid everywhere may be a mistake of the profile (ERR-3)."""

    def script(arrived: Any) -> bytes:
        found = 400 if "cancellation" in arrived.target else sibling
        return bytes(answer(found, {"data": {}} if found == 200 else {"error": "no"}))

    async def law(case: Case) -> None:
        await a_resource_of_every_state_is_read(case, ("order", "late"))

    operations = facts(CANCELLATION.id, "getStorefrontOrderAfterSalesEligibility", orderId="{order.id}")
    result, _ = judged(script, law, CANCELLATION, fixtures=ORDERS, operations=operations)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("status", "usual", "outcome"),
    [
        (400, 200, Outcome.FAILED),
        (409, 200, Outcome.PASSED),
        (400, 400, Outcome.INCONCLUSIVE),
        (200, 200, Outcome.PASSED),
    ],
)
def test_a_stated_body_is_no_bad_request(judged: Any, answer: Any, status: int, usual: int, outcome: Outcome) -> None:
    """What the state of a cart refuses, and what is refused with every body, is another question (BODY-10)."""

    def script(arrived: Any) -> bytes:
        found = status if arrived.json == {"reason": "other"} else usual
        return bytes(answer(found, {"data": {}} if found == 200 else {"error": "no"}))

    async def law(case: Case) -> None:
        await every_stated_body_is_accepted(case, 0)

    quote = OperationFacts(body={"reason": "x"}, bodies=({"reason": "other"},), path={"cartId": "{cart.id}"})
    result, _ = judged(script, law, QUOTE, fixtures=CARTS, operations={QUOTE.id: quote})
    assert result.outcome is outcome, result
