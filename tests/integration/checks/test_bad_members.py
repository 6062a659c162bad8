"""A body that is refused for a member which the call is not about is not carried out (BODY-8)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_effects import a_body_that_turns_bad_at_its_end_has_no_effect
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Effect, Transition
from conformance.profile.model import Schemas
from conformance.profile.resources import Fixture, HttpCall, OperationFacts
from tests.support.check_runs import CONTRACT

CONSUME = CONTRACT.operations["consumeHostedCheckoutBrowserTicket"]
SESSIONS = {
    "session": {
        "open": Fixture("session", "open", values=tuple({"id": f"s{n}", "ticket": f"tkt-{n:08}-x"} for n in range(20)))
    }
}
SCHEMA = {
    "type": "object",
    "properties": {"pass": {"type": "string"}, "device": {"type": "object"}},
    "required": ["pass"],
}


@pytest.mark.parametrize("burns", [True, False])
def test_a_member_that_the_body_of_the_profile_has_not_is_tried(judged: Any, answer: Any, *, burns: bool) -> None:
    """Without its ticket a call could not be carried out; with a bad optional member it could."""
    used: set[str] = set()

    def script(arrived: Any) -> bytes:
        session = arrived.target.split("/checkout/")[1].partition("/")[0] if "/checkout/" in arrived.target else ""
        if not session:
            return bytes(answer(200, {"count": int(arrived.target.rpartition("/")[2] in used)}))
        body, ticket = arrived.json, arrived.json.get("pass")
        is_valid = isinstance(ticket, str) and isinstance(body.get("device", {}), dict)
        if is_valid and session in used:
            return bytes(answer(409, {"error": "used"}))
        if is_valid or (burns and isinstance(ticket, str)):
            used.add(session)
        return bytes(answer(200, {"data": {}}) if is_valid else answer(400, {"error": "no"}))

    facts = {
        "fixtures": SESSIONS,
        "operations": {
            CONSUME.id: OperationFacts(body={"pass": "{session.ticket}"}, path={"sessionId": "{session.id}"})
        },
        "schemas": Schemas({CONSUME.request_schema: SCHEMA}),
        "transitions": (Transition(CONSUME.id, "session.open", after=(CONSUME.id,)),),
        "effects": {},
    }

    async def law(case: Case) -> None:
        call = HttpCall(f"{case.profile.base_url}/effects/{{session.id}}")
        effects: Any = case.profile.effects
        effects[CONSUME.id] = (Effect(http=call, pointer="/count"),)
        await a_body_that_turns_bad_at_its_end_has_no_effect(case)

    result, target = judged(script, law, CONSUME, **facts)
    assert any("device" in (arrived.json or {}) for arrived in target.arrived if "/checkout/" in arrived.target)
    assert (result.outcome is Outcome.FAILED) is burns, result
