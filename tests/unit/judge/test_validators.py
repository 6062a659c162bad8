"""The schemas of a profile: what they name, and what an answer may show of its request (ANS-2)."""

from __future__ import annotations

import json

import pytest

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.judge.invariants import Invariants
from conformance.judge.validators import Validators
from conformance.profile.behavior import Answers, Authorization
from conformance.profile.model import Profile, Schemas

EXCHANGE = load_contract().operations["exchangeOAuthToken"]
BODY = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "parts": {"items": {"properties": {"verifier": {}}}}},
}
SCHEMAS = Schemas(
    {
        EXCHANGE.request_schema: BODY,
        EXCHANGE.response_schema: {
            "type": "object",
            "properties": {"data": {"type": "object", "properties": {"token": {}}}},
        },
    }
)


def test_every_member_of_a_schema_is_named_wherever_it_stands() -> None:
    assert Validators(SCHEMAS).member_names(EXCHANGE.request_schema) == {"code", "parts", "verifier"}


@pytest.mark.parametrize(
    ("sent", "shown", "found"),
    [
        ({"code": "c"}, "code", True),
        ({"code": "c"}, "verifier", True),
        ({"code": "c", "extra_note": "n"}, "extraNote", False),
        ({"code": "c"}, "extraNote", True),
    ],
    ids=["sent, and known", "known", "sent, and unknown", "not sent"],
)
def test_an_answer_may_keep_only_members_that_the_request_schema_does_not_name(
    sent: dict[str, str], shown: str, found: bool
) -> None:
    """A target may keep what it does not know; a code or a verifier that it knows is shown by mistake."""
    stated = Profile("p", "http://t", Authorization("{key}"), schemas=SCHEMAS, answers=Answers(further_members="never"))
    content, body = json.dumps({"data": {"token": "t", shown: "x"}}).encode(), json.dumps(sent).encode()
    json_type = (("Content-Type", "application/json"),)
    answer = Answer("x1", Request(EXCHANGE, body=sent), "http://t/a", (), body, 200, json_type, content)
    findings = Invariants(stated, Validators(SCHEMAS)).judge(answer)[1]
    assert [finding.code for finding in findings if finding.requirement == "ANS-2"] == (
        [f"member:/data/{shown}"] if found else []
    )


@pytest.mark.parametrize(
    ("time", "has_problem"), [("2026-01-01", False), ("2026-01-01T00:00:00Z", False), ("today", True), (1, True)]
)
def test_formats_tell_branches_of_one_of_apart(time: object, has_problem: bool) -> None:
    """Where formats are not asserted, every text matches both."""
    either = {"oneOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]}
    assert bool(Validators(Schemas({"Time": either})).problem("Time", time)) == has_problem
