"""A made-up ticket, code or client that the schema refuses does not match (HO-6, OA-13); used tickets (HO-2)."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from conformance.checks.check_hosted import (
    a_ticket_is_consumed_once,
    a_ticket_opens_its_own_session_only,
    an_unknown_ticket_has_the_stated_status,
    both_hosted_operations_answer_one_projection,
)
from conformance.checks.check_oauth_failures import _FAILURES, a_failed_exchange_has_the_stated_status
from conformance.checks.support.forged_secrets import MADE_UP
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import ExchangeStatuses, Hosted, OAuth
from conformance.profile.model import Limits, Schemas
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

CONSUME = CONTRACT.operations["consumeHostedCheckoutBrowserTicket"]
CANCEL = CONTRACT.operations["cancelHostedCheckoutBrowser"]
EXCHANGE = CONTRACT.operations["exchangeOAuthToken"]
PATTERNS = {"names its start": "^known[0-9a-z]+$", "allows any": "^.+$"}
SECRET = "known0123456789abcdef"


def _answer(answer: Any, secret: str, pattern: str, unknown: int) -> bytes:
    if secret == SECRET:
        return bytes(answer(200, {"data": {"access_token": "t"}}))
    is_refused = pattern == PATTERNS["names its start"] and not secret.startswith("known")
    return bytes(answer(400 if is_refused else unknown, {"code": "c"}))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("status", "outcome"), [(404, Outcome.PASSED), (403, Outcome.FAILED)])
@pytest.mark.parametrize("change", MADE_UP)
def test_a_ticket_of_another_form(
    judged: Any, answer: Any, pattern: str, status: int, outcome: Outcome, change: str
) -> None:
    def script(arrived: Any) -> bytes:
        return _answer(answer, json.loads(arrived.body)["ticket"], PATTERNS[pattern], status)

    fixture = Fixture("session", "open", values=({"id": "s1", "ticket": SECRET},), reusable=True)
    facts = OperationFacts(path={"sessionId": "{session.id}"}, body={"ticket": "{session.ticket}"})
    schema = {"type": "object", "properties": {"ticket": {"type": "string", "pattern": PATTERNS[pattern]}}}
    result, _ = judged(
        script, partial(an_unknown_ticket_has_the_stated_status, change=MADE_UP[change]), CONSUME,
        schemas=Schemas({CONSUME.request_schema: schema}), operations={CONSUME.id: facts},
        fixtures={"session": {"open": fixture}}, hosted=Hosted(unknown_ticket_status=404),
    )  # fmt: skip
    is_of_schema = pattern == "names its start" and change == "made-up"
    is_of_schema = pattern == "names its start" and change == "made-up"
    assert result.outcome is (Outcome.INAPPLICABLE if is_of_schema else outcome), result


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("status", "outcome"), [(401, Outcome.PASSED), (403, Outcome.FAILED)])
def test_a_code_of_another_form(judged: Any, answer: Any, pattern: str, status: int, outcome: Outcome) -> None:
    def script(arrived: Any) -> bytes:
        return _answer(answer, json.loads(arrived.body)["code"], PATTERNS[pattern], status)

    fixture = Fixture("oauth", "code", values=({"code": SECRET},), reusable=True)
    schema = {"type": "object", "properties": {"code": {"type": "string", "pattern": PATTERNS[pattern]}}}
    result, _ = judged(
        script, partial(a_failed_exchange_has_the_stated_status, failure=_FAILURES["unknown-code"]), EXCHANGE,
        schemas=Schemas({EXCHANGE.request_schema: schema}), fixtures={"oauth": {"code": fixture}},
        operations={EXCHANGE.id: OperationFacts(body={"code": "{oauth.code}"})},
        oauth=OAuth("c", "https://client.example/back", code="/code", status=ExchangeStatuses(bad_grant=401)),
    )  # fmt: skip
    assert result.outcome is (Outcome.INAPPLICABLE if pattern == "names its start" else outcome), result


@pytest.mark.parametrize("depth", ["standard", "quick"])
@pytest.mark.parametrize("later", [200, 404, 409])
def test_a_used_ticket_is_tried_some_time_later(judged: Any, answer: Any, depth: Any, later: int) -> None:
    """It may have ended by then. A run in quick depth does not wait for that."""
    uses: dict[str, int] = {}

    def script(arrived: Any) -> bytes:
        ticket = json.loads(arrived.body)["ticket"]
        uses[ticket] = uses.get(ticket, 0) + 1
        status = {1: 200, 2: 409}.get(uses[ticket], later)
        return bytes(answer(status, {"data": {}} if status == 200 else {"code": "used"}))

    facts = OperationFacts(path={"sessionId": "{session.id}"}, body={"ticket": "{session.ticket}"})
    tickets = tuple({"id": f"s{n}", "ticket": f"{SECRET}{n}"} for n in range(3))
    result, _ = judged(
        script, a_ticket_is_consumed_once, CONSUME, limits=Limits(timeout_s=2, patience_s=0.2, depth=depth),
        fixtures={"session": {"open": Fixture("session", "open", values=tickets)}},
        operations={CONSUME.id: facts}, hosted=Hosted(tickets_single_use=True),
    )  # fmt: skip
    is_seen = later == 200 and depth == "standard"
    assert result.outcome is (Outcome.FAILED if is_seen else Outcome.PASSED), result
    assert max(uses.values()) == (3 if depth == "standard" else 2)


@pytest.mark.parametrize(
    ("member", "outcome"), [("ticket", Outcome.FAILED), ("id", Outcome.INAPPLICABLE), ("visit", Outcome.INAPPLICABLE)]
)
def test_what_consume_does_not_take_is_no_ticket_of_a_cancellation(
    judged: Any, answer: Any, member: str, outcome: Outcome
) -> None:
    """A cancellation may repeat its session's id, or name its visit, and the service may ignore either (HO-3)."""
    facts = OperationFacts(path={"sessionId": "{session.id}"}, body={"ticket": "{session.ticket}"})
    cancelled = OperationFacts(path={"sessionId": "{session.id}"}, body={"of": f"{{session.{member}}}"})
    sessions = tuple({"id": f"s{n}", "ticket": f"{SECRET}{n}", "visit": f"v{n}"} for n in range(9))
    result, _ = judged(
        lambda _: answer(200, {"data": {}}), a_ticket_opens_its_own_session_only, CANCEL,
        fixtures={"session": {"open": Fixture("session", "open", values=sessions)}},
        operations={CONSUME.id: facts, CANCEL.id: cancelled},
    )  # fmt: skip
    assert result.outcome is outcome, result


def _projection_schema(*branches: dict[str, Any]) -> dict[str, Any]:
    around = {"type": "object", "properties": {"id": {}, "total": {}, "note": {}}, "required": ["id", "total"]}
    data = {**around, "oneOf": list(branches)} if branches else around
    return {"type": "object", "properties": {"data": data}}


_OPEN = {"properties": {"state": {"const": "consumed"}}, "required": ["state"]}
_ENDED = {"properties": {"state": {"const": "cancelled"}, "endedBy": {}}, "required": ["state", "endedBy"]}


@pytest.mark.parametrize(
    ("schema", "only_cancelled", "outcome"),
    [
        (_projection_schema(_OPEN, _ENDED), {"endedBy": "x"}, Outcome.PASSED),
        (_projection_schema(_OPEN, _ENDED), {"endedBy": "x", "other": 1}, Outcome.FAILED),
        (_projection_schema(_ENDED, _ENDED), {"endedBy": "x"}, Outcome.FAILED),
        (_projection_schema(), {"note": "x"}, Outcome.PASSED),
        (_projection_schema(), {"endedBy": "x"}, Outcome.FAILED),
        (None, {"endedBy": "x"}, Outcome.WARNED),  # which members are optional is not known
    ],
)
def test_members_that_a_projection_may_lack(
    judged: Any, answer: Any, schema: dict[str, Any] | None, only_cancelled: dict[str, Any], outcome: Outcome
) -> None:
    """Optional ones, and those that one branch of its schema requires."""

    def script(arrived: Any) -> bytes:
        is_cancel = arrived.target.endswith("/cancel")
        data = {"id": "s", "total": 1, "state": "cancelled" if is_cancel else "consumed"}
        return bytes(answer(200, {"data": {**data, **(only_cancelled if is_cancel else {})}}))

    fixture = Fixture("session", "open", values=({"id": "s1", "ticket": SECRET},), reusable=True)
    facts = OperationFacts(path={"sessionId": "{session.id}"}, body={"ticket": "{session.ticket}"})
    result, _ = judged(
        script, both_hosted_operations_answer_one_projection, CONSUME,
        schemas=Schemas({CONSUME.response_schema: schema} if schema else {}),
        operations={CONSUME.id: facts, CANCEL.id: facts},
        fixtures={"session": {"open": fixture}}, hosted=Hosted(projection_shared=True),
    )  # fmt: skip
    assert result.outcome is outcome, result
