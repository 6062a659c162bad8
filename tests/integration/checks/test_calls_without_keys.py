"""Services without idempotency keys: next to what takes an equal call for a retry, what carries it out again."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from conformance.checks.check_conflicts import a_state_conflict_is_answered_409
from conformance.checks.check_hosted import a_ticket_is_consumed_once
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Hosted, Transition
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

CONSUME, QUOTE = CONTRACT.operations["consumeHostedCheckoutBrowserTicket"], CONTRACT.operations["quotePublicCart"]
SESSIONS = tuple({"id": f"session-{n}", "ticket": f"t{n:09}x"} for n in range(9))
CARTS = tuple({"id": f"c{n}"} for n in range(9))
FACTS: dict[str, Any] = {
    "idempotency": None,
    "exclusions": {"idempotency": "there is no key"},
    "hosted": Hosted(tickets_single_use=True),
    "fixtures": {
        "session": {"open": Fixture("session", "open", values=SESSIONS)},
        "cart": {"open": Fixture("cart", "open", values=CARTS)},
    },
    "transitions": (Transition(QUOTE.id, "cart.open", after=(QUOTE.id,)),),
}


@pytest.mark.parametrize("body", ["one", "unique", "another"])
@pytest.mark.parametrize(
    "service", ["replays", "replays and times", "replays wrongly", "refuses", "repeats", "repeats and counts"]
)
def test_an_equal_call_may_be_a_retry(judged: Any, answer: Any, service: str, body: str) -> None:
    """Of an equal resource nobody knows. Another resource is that of another call, and another body makes one."""
    known: dict[Any, dict[str, Any]] = {}
    used: set[str] = set()
    numbers = itertools.count()

    def script(arrived: Any) -> bytes:
        content = (arrived.target, repr(arrived.json))
        if service.startswith("replays") and content in known:
            changes = {"replays and times": {"took": next(numbers)}, "replays wrongly": {"data": {"n": 1}}}
            return bytes(answer(200, known[content] | changes.get(service, {})))
        if service.startswith(("replays", "refuses")) and arrived.target in used:
            return bytes(answer(409, {"error": "used"}))
        used.add(arrived.target)
        known[content] = {"data": {"count": next(numbers)} if service == "repeats and counts" else {}}
        return bytes(answer(200, known[content]))

    template = {"ticket": "{session.ticket}", **({"agent": "{unique}"} if body == "unique" else {})}
    bodies = ({"ticket": "{session.ticket}", "agent": "x"},) if body == "another" else ()
    facts = OperationFacts(body=template, bodies=bodies, path={"sessionId": "{session.id}"})
    result, _ = judged(script, a_ticket_is_consumed_once, CONSUME, **FACTS, operations={CONSUME.id: facts})
    replayed = Outcome.INAPPLICABLE if body == "one" else Outcome.PASSED
    repeated = Outcome.INAPPLICABLE if body == "one" else Outcome.FAILED
    expected = {
        "replays": replayed,
        "replays and times": replayed,
        "replays wrongly": Outcome.FAILED if body == "one" else Outcome.PASSED,
        "refuses": Outcome.PASSED,
        "repeats": repeated,
        "repeats and counts": Outcome.FAILED,
    }
    assert result.outcome is expected[service], result


@pytest.mark.parametrize("body", ["one", "unique"])
@pytest.mark.parametrize("service", ["replays", "refuses", "repeats"])
def test_a_retry_meets_no_conflict(judged: Any, answer: Any, service: str, body: str) -> None:
    """The call that leads to the state, and the one that it refuses, are to be two."""
    known: set[Any] = set()
    used: set[str] = set()

    def script(arrived: Any) -> bytes:
        content = (arrived.target, repr(arrived.json))
        good = arrived.target not in used or service == "repeats" or (service == "replays" and content in known)
        used.add(arrived.target)
        known.add(content)
        return bytes(answer(200 if good else 409, {"data": {}} if good else {"error": "quoted"}))

    async def law(case: Any) -> None:
        await a_state_conflict_is_answered_409(case, FACTS["transitions"][0])

    facts = OperationFacts(body={"reason": "{unique}" if body == "unique" else "x"}, path={"cartId": "{cart.id}"})
    result, _ = judged(script, law, QUOTE, **FACTS, operations={QUOTE.id: facts})
    blind = Outcome.INAPPLICABLE if body == "one" else None
    expected = {"replays": blind or Outcome.PASSED, "refuses": Outcome.PASSED, "repeats": blind or Outcome.FAILED}
    assert result.outcome is expected[service], result
