"""A plan that allows a number of calls answers 409 to more of them, whatever the state of their resources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.check_answers import a_resource_of_every_state_is_read
from conformance.checks.check_body_rules import the_size_of_a_body_is_counted_in_bytes
from conformance.checks.check_conflicts import an_allowed_transition_leads_to_the_stated_state
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Bodies, Transition
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

QUOTE = CONTRACT.operations["quotePublicCart"]
READ = CONTRACT.operations["getStorefrontOrderCancellationEligibility"]


def values(letter: str) -> tuple[dict[str, str], ...]:
    return tuple({"id": f"{letter}{number}"} for number in range(40))


CARTS = {"cart": {state: Fixture("cart", state, values=values(state[0])) for state in ("open", "quoted")}}
ORDERS = {"order": {state: Fixture("order", state, values=values(state[0])) for state in ("eligible", "late")}}


@pytest.mark.parametrize("refuses", ["every cart", "quoted carts"])
def test_an_allowed_transition_may_be_beyond_a_quota(judged: Any, answer: Any, refuses: str) -> None:
    """Where open carts are refused too, a quoted one says nothing of its state (CONF-4)."""
    transition = Transition(QUOTE.id, "cart.quoted", leads_to="cart.quoted")

    def script(arrived: Any) -> bytes:
        is_quoted = arrived.target.split("/carts/")[1].startswith("q")
        is_refused = refuses == "every cart" or is_quoted
        return bytes(answer(409, {"error": "no"}) if is_refused else answer(200, {"data": {}}))

    async def law(case: Case) -> None:
        await an_allowed_transition_leads_to_the_stated_state(case, transition)

    result, _ = judged(script, law, QUOTE, fixtures=CARTS, transitions=(transition,))
    assert result.outcome is (Outcome.FAILED if refuses == "quoted carts" else Outcome.INCONCLUSIVE), result


CREATED = """
number = 0
def cart(context):
    global number
    number += 1
    return {"id": f"q{number}"}
"""


@pytest.mark.parametrize(
    ("refuses", "is_listed", "outcome"),
    [
        ("a quote", False, Outcome.FAILED),
        ("a quote", True, Outcome.INCONCLUSIVE),
        ("a quote for a moment", False, Outcome.INCONCLUSIVE),
        ("every call", False, Outcome.INCONCLUSIVE),
    ],
)
def test_an_operation_that_its_usual_state_refuses_is_seen(
    judged: Any,
    answer: Any,
    quick: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    refuses: str,
    is_listed: bool,
    outcome: Outcome,
) -> None:
    """Its control is answered 409, and another call on the same cart 200 (CONF-4).

    A cart of a list may be of an earlier run, one may be in use for a moment, and a plan has a quota of all calls.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "carts_of_a_test.py").write_text(CREATED)
    created = Fixture("cart", "quoted", python="carts_of_a_test.py:cart")
    cart = Fixture("cart", "quoted", values=values("q")) if is_listed else created
    quotes = 0

    def script(arrived: Any) -> bytes:
        nonlocal quotes
        is_quote = arrived.target.endswith("/quote")
        quotes += is_quote
        is_refused = refuses == "every call" or (is_quote and (refuses == "a quote" or quotes < 3))
        return bytes(answer(409, {"error": "no"}) if is_refused else answer(200, {"data": {}}))

    stated = Transition(QUOTE.id, "cart.quoted", leads_to="cart.quoted")
    revoke = Transition("revokePublicCart", "cart.quoted", leads_to="cart.revoked")
    facts = OperationFacts(body={"reason": "{unique}"}, path={"cartId": "{cart.id}"})

    async def law(case: Case) -> None:
        await an_allowed_transition_leads_to_the_stated_state(case, stated)

    result, _ = judged(
        script,
        law,
        QUOTE,
        fixtures={"cart": {"quoted": cart}},
        transitions=(stated, revoke),
        operations=dict.fromkeys((QUOTE.id, "revokePublicCart"), facts),
    )
    assert result.outcome is outcome, result


@pytest.mark.parametrize("has_quota", [True, False])
def test_a_body_of_any_size_may_be_beyond_a_quota(judged: Any, answer: Any, *, has_quota: bool) -> None:
    """409 to a large body is not a wrong status where the usual one is answered so, too (BODY-9)."""

    def script(arrived: Any) -> bytes:
        is_large = len(json.dumps(arrived.json)) > 300
        is_refused = has_quota or is_large
        return bytes(answer(409, {"error": "no"}) if is_refused else answer(200, {"data": {}}))

    bodies = Bodies(unknown_members="kept", max_bytes=300)
    result, _ = judged(script, the_size_of_a_body_is_counted_in_bytes, QUOTE, bodies=bodies)
    assert result.outcome is (Outcome.INCONCLUSIVE if has_quota else Outcome.FAILED), result


@pytest.mark.parametrize("status", [200, 401, 403, 404, 409])
def test_no_state_of_a_resource_is_a_matter_of_the_key(judged: Any, answer: Any, status: int) -> None:
    """401 and 403 are wrong for a key that reads other orders (ERR-3); any other status is another one's question."""

    def script(arrived: Any) -> bytes:
        is_late = arrived.target.split("/orders/")[1].startswith("l")
        return bytes(answer(status if is_late else 200, {"error": "no"} if is_late and status != 200 else {"data": {}}))

    async def law(case: Case) -> None:
        await a_resource_of_every_state_is_read(case, ("order", "late"))

    operations = {READ.id: OperationFacts(path={"orderId": "{order.id}"})}
    result, _ = judged(script, law, READ, fixtures=ORDERS, operations=operations)
    assert result.outcome is (Outcome.FAILED if status in (401, 403) else Outcome.PASSED), result
