"""Legitimate token exchanges and tickets with other bounds, lifetimes and statuses, each stated in the profile."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from conformance.reference.call import Call, JsonObject, JsonValue, Refusal
from conformance.reference.policy import Policy, Schema, evolve, with_oauth, with_reading, with_status
from conformance.reference.registry import variant

_EXCHANGE = "exchangeOAuthToken"


@variant(
    "V320",
    requirement="OA-13",
    title="a missing or bad proof is answered 400, every other failure of an exchange 401",
    profile={
        "oauth": {
            "status": {"missing_proof": 400, "bad_proof": 400, "unknown_client": 401, "bad_grant": 401, "bad_body": 401}
        }
    },
)
def other_statuses(policy: Policy) -> Policy:
    validate, parse = policy.reading.validate, policy.reading.parse
    statuses = {"missing_proof": 400, "bad_proof": 400, "unknown_client": 401, "bad_grant": 401, "spent_grant": 401}
    for kind, status in {**statuses, "bad_exchange": 401}.items():
        policy = with_status(policy, kind, status)

    def validate_body(call: Call, schema: Schema, body: JsonValue) -> JsonObject:
        try:
            return validate(call, schema, body)
        except Refusal as refusal:
            raise _refusal_of(call, refusal) from None

    def parse_body(call: Call, text: bytes) -> JsonValue:
        try:
            return parse(call, text)
        except Refusal as refusal:
            raise _refusal_of(call, refusal) from None

    return with_reading(policy, validate=validate_body, parse=parse_body)


def _refusal_of(call: Call, refusal: Refusal) -> Refusal:
    return Refusal("bad_exchange", refusal.message) if call.operation == _EXCHANGE else refusal


@variant(
    "V321",
    requirement="OA-16",
    title="a proof is good for one request, a retry needs a new one",
    profile={"oauth": {"proof_reuse": "refused"}},
)
def proofs_used_once(policy: Policy) -> Policy:
    return with_oauth(policy, proof_reuse="refused")


@variant(
    "V322",
    requirement="OA-8",
    title="an iat is accepted five minutes off, stated in the short form",
    profile={"oauth": {"clock_allowance_s": 300, "clock_behind_s": None, "clock_ahead_s": None}},
)
def five_minutes(policy: Policy) -> Policy:
    return with_oauth(policy, clock_behind_s=300.0, clock_ahead_s=300.0)


@variant(
    "V323",
    requirement="OA-8",
    title="an iat is accepted ten seconds old and two seconds ahead, compared in whole seconds",
    profile={"oauth": {"clock_behind_s": 10, "clock_ahead_s": 2}},
)
def narrow_bounds(policy: Policy) -> Policy:
    fresh = policy.oauth.proof["fresh"]

    def in_whole_seconds(call: Call, proof: Any) -> None:
        fresh(evolve(call, now=float(math.floor(call.now))), proof)

    conditions = {**policy.oauth.proof, "fresh": in_whole_seconds}
    return with_oauth(policy, proof=conditions, clock_behind_s=10.0, clock_ahead_s=2.0)


@variant(
    "V324",
    requirement="OA-14",
    title="codes live for eight seconds, and none can be made older than it is",
    profile={"oauth": {"code_lifetime_s": 8}, "fixtures": {"oauth": {"code": {"http": {"json": {"age_s": None}}}}}},
)
def short_lived_codes(policy: Policy) -> Policy:
    return with_oauth(policy, code_lifetime_s=8.0)


@variant(
    "V325",
    requirement="OA-17",
    title="tokens live for fifteen minutes, and the answer says what remains in whole seconds",
    profile={"oauth": {"token_lifetime_s": 900}},
)
def remaining_lifetime(policy: Policy) -> Policy:
    issue = policy.oauth.issue

    def issue_with_remainder(call: Call, code: Mapping[str, Any]) -> JsonObject:
        expires_at = call.now + call.policy.oauth.token_lifetime_s
        return {**issue(call, code), "expiresIn": math.floor(expires_at - time.time())}

    return with_oauth(policy, token_lifetime_s=900, issue=issue_with_remainder)


@variant(
    "V329",
    requirement="HO-7",
    title="tickets live for eight seconds",
    profile={"hosted": {"ticket_lifetime_s": 8}},
)
def short_lived_tickets(policy: Policy) -> Policy:
    return evolve(policy, ticket_lifetime_s=8.0)


@variant(
    "V326",
    requirement="HO-6",
    title="an unknown ticket is answered 400",
    profile={"hosted": {"unknown_ticket_status": 400}},
)
def unknown_ticket_400(policy: Policy) -> Policy:
    return with_status(policy, "bad_ticket", 400)


@variant(
    "V327",
    requirement="HO-6",
    title="an unknown ticket is answered 401",
    profile={"hosted": {"unknown_ticket_status": 401}},
)
def unknown_ticket_401(policy: Policy) -> Policy:
    return with_status(policy, "bad_ticket", 401)


@variant(
    "V328",
    requirement="HO-6",
    title="an unknown ticket is answered 403",
    profile={"hosted": {"unknown_ticket_status": 403}},
)
def unknown_ticket_403(policy: Policy) -> Policy:
    return with_status(policy, "bad_ticket", 403)


@variant(
    "V542",
    requirement="OA-5",
    title="codes are issued for a proof key",
    profile={"fixtures": {"oauth": {"code": {"http": {"json": {"dpop_jkt": "{dpop.jkt}"}}}}}},
)
def codes_for_a_key(policy: Policy) -> Policy:
    """RFC 9449 section 10: the source of codes names the key. The base policy refuses a proof of another key, too."""
    return policy
