"""Legitimate kinds of token exchange."""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from typing import Final

from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.dpop import Proof, normalize
from conformance.reference.idempotency import run_once
from conformance.reference.oauth import burn
from conformance.reference.pipeline import authenticate, read_body
from conformance.reference.policy import (
    Handler,
    Policy,
    evolve,
    with_idempotency,
    with_oauth,
    with_proof,
    with_status,
)
from conformance.reference.registry import variant

NONCE_S = 300
"""Lifetime of a nonce in seconds."""
_CODE: Final = re.compile(r"code_[A-Za-z0-9_-]{32}")
_ENDPOINT: Final = "https://commerce.example/api/v1/oauth/token"
_BASIC: Final = "Basic " + base64.b64encode(b"conformance:client-password").decode()


def current_nonce(call: Call) -> str:
    return call.keys.sign(f"nonce:{int(call.now // NONCE_S)}")[:32]


@variant(
    "D28",
    requirement="OA-6",
    title="token endpoint demands a DPoP nonce first",
    profile={"oauth": {"nonce": "required"}},
)
def nonce_demanded(policy: Policy) -> Policy:
    """RFC 9449 section 8: 400 with error use_dpop_nonce and the nonce to use."""
    return with_status(with_oauth(policy, nonce=current_nonce), "use_dpop_nonce", 400)


@variant("D29", requirement="OA-7", title="jti not tracked", profile={"oauth": {"proof_reuse": "accepted"}})
def jti_not_tracked(policy: Policy) -> Policy:
    return with_oauth(policy, proof_reuse="accepted")


@variant(
    "D30",
    requirement="OA-2",
    title="failed verifier or proof burns the code / does not burn it",
    profile={"oauth": {"failure_burns_code": True}},
)
def failure_burns(policy: Policy) -> Policy:
    """The code is invalidated; the base policy keeps it."""

    def run(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if refusal.kind in ("bad_grant", "bad_proof"):
                burn(call)
            raise

    return evolve(policy, idempotency=evolve(policy.idempotency, run=run))


@variant(
    "D31",
    requirement="OA-4",
    title="token exchange replay with same key+body returns first token although code is spent",
)
def token_replayed(policy: Policy) -> Policy:
    """The same as the base policy."""
    return with_idempotency(policy, run=run_once)


@variant(
    "V521",
    requirement="OA-15",
    title="a wrong verifier, redirect URI, client or proof burns the code, each of which is stated",
    profile={"oauth": {"failure_burns_code": ["verifier", "redirect_uri", "client", "proof"]}},
)
def stated_failures_burn(policy: Policy) -> Policy:
    """A bad proof is refused before the body is read, so that its code is looked up for that alone."""

    def check(call: Call) -> None:
        try:
            authenticate(call)
        except Refusal as refusal:
            if call.operation == "exchangeOAuthToken" and refusal.kind == "bad_proof":
                with suppress(Refusal):
                    read_body(call)
                    burn(call)
            raise

    stages = tuple(check if stage is authenticate else stage for stage in policy.stages)
    return evolve(failure_burns(policy), stages=stages)


@variant(
    "V653",
    requirement="OA-13",
    title="a code of another form than code_... is a bad request; a slash behind the token endpoint is not compared",
    profile={"oauth": {"token_url": f"{_ENDPOINT}/", "status": {"unknown_client": 401, "bad_grant": 401}}},
)
def codes_of_one_form(policy: Policy) -> Policy:
    """A code of that form which does not exist is answered 401, as stated."""

    def check_form(call: Call) -> None:
        if not _CODE.fullmatch(call.body["code"]):
            raise Refusal("bad_request", "The code is malformed.")
        policy.oauth.check_client(call)

    def check_url(call: Call, proof: Proof) -> None:
        if normalize(str(proof.claims.get("htu")).rstrip("/")) != normalize(_ENDPOINT):
            policy.oauth.proof["url"](call, proof)

    statuses = {**policy.statuses, "unknown_client": 401, "bad_grant": 401, "spent_grant": 401}
    return with_proof(with_oauth(evolve(policy, statuses=statuses), check_client=check_form), url=check_url)


@variant(
    "V654",
    requirement="OA-13",
    title="the client authenticates by Basic, and another client id in the body is a bad request",
    profile={
        "operations": {"exchangeOAuthToken": {"headers": {"Authorization": _BASIC}}},
        "oauth": {"status": {"unknown_client": 401}, "other_client_id": None, "other_client_redirect_uri": None},
    },
)
def client_with_a_password(policy: Policy) -> Policy:
    def check_client(call: Call) -> None:
        if call.request.first_header(b"authorization") != _BASIC:
            raise Refusal("bad_credential", "The client is not known.")
        if call.body["clientId"] != "conformance":
            raise Refusal("bad_request", "The clientId is not that of the authenticated client.")

    return with_oauth(evolve(policy, statuses={**policy.statuses, "unknown_client": 401}), check_client=check_client)
