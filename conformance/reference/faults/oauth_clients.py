"""Faults of the token exchange that only a client other than the first one meets: OA-2, OA-4, OA-5, OA-14, OA-16."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from conformance.reference.call import Call
from conformance.reference.policy import Policy, before_work, evolve, with_oauth
from conformance.reference.registry import fault

_EXCHANGE = "exchangeOAuthToken"
_TOKEN = (_EXCHANGE,)
_SECOND = "conformance-2"


def _but_for_second(policy: Policy, name: str) -> Policy:
    """Without a condition of a code that is for the second client."""
    condition = policy.oauth.grant[name]

    def check(call: Call, code: Mapping[str, Any]) -> None:
        if code["client_id"] != _SECOND:
            condition(call, code)

    return with_oauth(policy, grant={**policy.oauth.grant, name: check})


@fault(
    "F701",
    requirement="OA-2",
    title="the verifier of the second client is not checked",
    operations=_TOKEN,
    source="a client that is registered as confidential, for which PKCE counts as optional",
)
def verifier_of_second(policy: Policy) -> Policy:
    return _but_for_second(policy, "verifier")


@fault(
    "F710",
    requirement="OA-5",
    title="the redirect URI of the second client is not checked",
    operations=_TOKEN,
    source="a client with a single redirect URI, for which the member counts as redundant",
)
def redirect_of_second(policy: Policy) -> Policy:
    return _but_for_second(policy, "redirect_uri")


@fault(
    "F711",
    requirement="OA-14",
    title="the codes of the second client never end",
    operations=_TOKEN,
    source="a lifetime in the settings of each client, absent for one of them",
)
def lifetime_of_second(policy: Policy) -> Policy:
    return _but_for_second(policy, "unexpired")


@fault(
    "F712",
    requirement="OA-4",
    title="a code of the second client can be used twice",
    operations=_TOKEN,
    source="a setting of each client that was meant for its tests",
)
def reuse_by_second(policy: Policy) -> Policy:
    return _but_for_second(policy, "unused")


@fault(
    "F703",
    requirement="OA-16",
    title="a used proof is good again for another client",
    operations=_TOKEN,
    source="a store of used proofs with the client in its key",
)
def proofs_by_client(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        if call.proof is not None:
            name = f"{call.body['clientId']}:{call.proof.claims['jti']}"
            call.proof = replace(call.proof, claims={**call.proof.claims, "jti": name})
        return call

    return before_work(policy, look, _EXCHANGE)


@fault(
    "F873",
    requirement="OA-5",
    title="a client id counts in any letter case",
    operations=_TOKEN,
    source="a table of clients with a collation that ignores case",
)
def client_of_any_case(policy: Policy) -> Policy:
    def check_client(call: Call) -> None:
        folded_body = {**call.body, "clientId": call.body["clientId"].lower()}
        policy.oauth.check_client(evolve(call, body=folded_body))

    def check_code(call: Call, code: Mapping[str, Any]) -> None:
        policy.oauth.grant["client"](evolve(call, body={**call.body, "clientId": call.body["clientId"].lower()}), code)

    return with_oauth(policy, grant={**policy.oauth.grant, "client": check_code}, check_client=check_client)


@fault(
    "X84",
    requirement="OA-5",
    title="the first client exchanges codes of the second one",
    operations=_TOKEN,
    source="a client of the platform itself, which may act for every other one",
)
def codes_of_second(policy: Policy) -> Policy:
    return _but_for_second(policy, "client")
