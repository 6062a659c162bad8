"""Faults of what a profile states about the token exchange and about tickets: OA-5, OA-8, OA-13 to OA-18, HO-6."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from conformance.reference.call import Answer, Call, JsonObject, Refusal
from conformance.reference.dpop import Proof, bad_proof, has_current_nonce
from conformance.reference.oauth import CLIENTS, bad_grant, burn, digest
from conformance.reference.policy import (
    GrantCondition,
    Handler,
    Policy,
    evolve,
    with_handler,
    with_idempotency,
    with_oauth,
    with_proof,
    with_status,
)
from conformance.reference.registry import fault
from conformance.reference.tables import codes, tokens

_EXCHANGE = "exchangeOAuthToken"
_CONSUME, _CANCEL = "consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser"
Registrar = Callable[[Callable[[Policy], Policy]], Any]


def off(name: str, requirement: str, title: str, source: str, seeded_in: str = "") -> Registrar:
    """Registers a fault of the token exchange."""
    return fault(
        name, requirement=requirement, title=title, operations=(_EXCHANGE,), source=source, seeded_in=seeded_in
    )


def _with_grant(policy: Policy, **conditions: GrantCondition) -> Policy:
    return with_oauth(policy, grant={**policy.oauth.grant, **conditions})


# The status of each failure


@off("F360", "OA-13", "a missing proof is answered 400", "a required header that the schema of the request checks")
def missing_proof_400(policy: Policy) -> Policy:
    return with_status(policy, "missing_proof", 400)


@off("F361", "OA-13", "a bad proof is answered 400", "RFC 9449 section 5: invalid_dpop_proof is an error of 400")
def bad_proof_400(policy: Policy) -> Policy:
    return with_status(policy, "bad_proof", 400)


@off("F362", "OA-13", "an unknown client is answered 401", "RFC 6749 section 5.2: invalid_client may be 401")
def unknown_client_401(policy: Policy) -> Policy:
    return with_status(policy, "unknown_client", 401)


@off("F363", "OA-13", "a wrong verifier is answered 401", "a verifier that counts as a credential")
def wrong_verifier_401(policy: Policy) -> Policy:
    def verifier(call: Call, code: Mapping[str, Any]) -> None:
        try:
            policy.oauth.grant["verifier"](call, code)
        except Refusal:
            raise bad_proof("The code verifier does not match.") from None

    return _with_grant(policy, verifier=verifier)


@off("F364", "OA-13", "a body that breaks the schema is answered 401", "a filter that turns every error into 401")
def bad_body_401(policy: Policy) -> Policy:
    def validate(call: Call, schema: Mapping[str, Any], body: Any) -> JsonObject:
        try:
            return policy.reading.validate(call, schema, body)
        except Refusal as refusal:
            kind = "bad_credential" if call.operation == _EXCHANGE else refusal.kind
            raise Refusal(kind, refusal.message) from None

    return evolve(policy, reading=evolve(policy.reading, validate=validate))


@off("F365", "OA-13", "an unknown code is answered 401", "a code that is looked up as a session is")
def unknown_code_401(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def exchange(call: Call, db: Connection) -> Answer:
            known = db.execute(select(codes.c.digest).where(codes.c.digest == digest(call.body["code"]))).first()
            if known is None:
                raise Refusal("unknown_code", "There is no such code.")
            return original(call, db)

        return exchange

    return with_status(with_handler(policy, _EXCHANGE, wrap), "unknown_code", 401)


# The bounds of iat


@off("F366", "OA-8", "proofs are accepted for twice as long as stated", "a window that is counted to both sides")
def behind_twice(policy: Policy) -> Policy:
    return with_oauth(policy, clock_behind_s=2 * policy.oauth.clock_behind_s)


@off("F367", "OA-8", "proofs of half the stated age are refused", "another default of a library")
def behind_half(policy: Policy) -> Policy:
    return with_oauth(policy, clock_behind_s=policy.oauth.clock_behind_s / 2)


@off("F368", "OA-8", "an iat ahead is accepted as far as one behind", "abs() of the difference")
def ahead_as_behind(policy: Policy) -> Policy:
    return with_oauth(policy, clock_ahead_s=policy.oauth.clock_behind_s)


@off("F369", "OA-8", "an iat a few seconds ahead is refused", "RFC 9449 section 11.1, read without an allowance")
def ahead_refused(policy: Policy) -> Policy:
    return with_oauth(policy, clock_ahead_s=1.0)


# Used proofs


@off("F370", "OA-16", "a retry with the same proof is refused", "a replay filter in front of the idempotency layer")
def retry_refused(policy: Policy) -> Policy:
    return with_oauth(policy, proof_reuse="refused")


@off("F371", "OA-16", "a jti is compared with the last one of its key only", "a column last_jti instead of a table")
def last_jti_only(policy: Policy) -> Policy:
    last: dict[str, str] = {}

    def refuse_repeat(call: Call, _code: Mapping[str, Any]) -> None:
        assert call.proof is not None
        jti = str(call.proof.claims["jti"])
        if last.get(call.proof.jkt) == jti:
            raise bad_proof("The proof was used before.")
        last[call.proof.jkt] = jti

    return _with_grant(with_oauth(policy, proof_reuse="accepted"), repeat=refuse_repeat)


@off("F372", "OA-16", "a jti is remembered for each code", "a cache key that holds the request's digest")
def jti_by_code(policy: Policy) -> Policy:
    seen: set[tuple[str, str]] = set()

    def refuse_repeat(call: Call, code: Mapping[str, Any]) -> None:
        assert call.proof is not None
        pair = str(call.proof.claims["jti"]), str(code["digest"])
        if pair in seen:
            raise bad_proof("The proof was used before.")
        seen.add(pair)

    return _with_grant(with_oauth(policy, proof_reuse="accepted"), repeat=refuse_repeat)


# Codes


def _burning(policy: Policy, burns: Callable[[Call, Refusal], bool]) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if call.operation == _EXCHANGE and burns(call, refusal):
                burn(call)
            raise

    return with_idempotency(policy, run=run)


@off("F373", "OA-15", "a wrong verifier uses the code up", "a code that is deleted when it is read (GETDEL of Redis)")
def failure_burns(policy: Policy) -> Policy:
    return _burning(policy, lambda _call, refusal: refusal.kind == "bad_grant")


@off("F374", "OA-15", "a code of another client is used up", "RFC 6749 section 10.5: codes revoked on suspicion")
def other_client_burns(policy: Policy) -> Policy:
    def is_other_client(call: Call, refusal: Refusal) -> bool:
        return refusal.kind == "bad_grant" and call.body.get("clientId") != "conformance"

    return _burning(policy, is_other_client)


@off("F991", "OA-15", "a used proof uses the fresh code up", "a code that is taken before its proof is looked up")
def used_proof_burns(policy: Policy) -> Policy:
    return _burning(policy, lambda _call, refusal: refusal.kind == "bad_proof")


@off("F375", "OA-14", "codes never end", "an expiry that is stored and never read")
def codes_never_end(policy: Policy) -> Policy:
    return with_oauth(policy, code_lifetime_s=float("inf"))


@off("F376", "OA-14", "codes end after a minute", "RFC 6749 section 4.1.2 names ten minutes, libraries use one")
def codes_end_early(policy: Policy) -> Policy:
    return with_oauth(policy, code_lifetime_s=60.0)


@off("F377", "OA-14", "codes end a minute late", "leeway for clocks that is added to every expiry")
def codes_end_late(policy: Policy) -> Policy:
    return with_oauth(policy, code_lifetime_s=policy.oauth.code_lifetime_s + 60)


# The answer


def _with_answer(policy: Policy, **members: Any) -> Policy:
    return with_oauth(policy, issue=lambda call, code: {**policy.oauth.issue(call, code), **members})


@off("F378", "OA-17", "the lifetime is in milliseconds", "a duration of the language's own unit")
def lifetime_in_ms(policy: Policy) -> Policy:
    return _with_answer(policy, expiresIn=1000 * policy.oauth.token_lifetime_s)


@off("F379", "OA-17", "the lifetime is the time of the end", "exp of the token in place of expires_in")
def lifetime_is_a_time(policy: Policy) -> Policy:
    def issue(call: Call, code: Mapping[str, Any]) -> JsonObject:
        return {**policy.oauth.issue(call, code), "expiresIn": int(time.time()) + policy.oauth.token_lifetime_s}

    return with_oauth(policy, issue=issue)


@off("F380", "OA-17", "tokens live half as long as stated", "an environment with another setting")
def other_lifetime(policy: Policy) -> Policy:
    return with_oauth(policy, token_lifetime_s=policy.oauth.token_lifetime_s // 2)


@off("F389", "OA-17", "the token type is in lower case", "a library that folds every token type")
def type_in_lower_case(policy: Policy) -> Policy:
    return _with_answer(policy, tokenType="dpop")


# Nonces


def _nonce(call: Call) -> str:
    return call.keys.sign(f"nonce:{int(call.now // 300)}")[:32]


@off("F381", "OA-18", "a nonce is demanded", "RFC 9449 section 8, switched on in one environment")
def nonce_demanded(policy: Policy) -> Policy:
    return with_oauth(policy, nonce=_nonce)


@off("F382", "OA-18", "a nonce is demanded of every key that has no token yet", "nonces for new clients only")
def nonce_for_new_keys(policy: Policy) -> Policy:
    def nonce(call: Call, proof: Proof) -> None:
        with call.store.read() as db:
            known = db.execute(select(tokens.c.digest).where(tokens.c.jkt == proof.jkt).limit(1)).first()
        if known is None or "nonce" in proof.claims:
            has_current_nonce(evolve(call, policy=with_oauth(policy, nonce=_nonce)), proof)

    return with_proof(policy, nonce=nonce)


# Clients and redirect URIs


@off("F383", "OA-5", "a redirect URI that begins with the code's is accepted", "a comparison by prefix")
def redirect_uri_by_prefix(policy: Policy) -> Policy:
    def redirect_uri(call: Call, code: Mapping[str, Any]) -> None:
        if not call.body["redirectUri"].startswith(code["redirect_uri"]):
            raise bad_grant("The authorization code is not valid.")

    return _with_grant(policy, redirect_uri=redirect_uri)


@off("X83", "OA-5", "a beginning of the code's redirect URI is accepted", "a comparison by prefix, the other way round")
def beginning_of_redirect_uri(policy: Policy) -> Policy:
    def redirect_uri(call: Call, code: Mapping[str, Any]) -> None:
        if not code["redirect_uri"].startswith(call.body["redirectUri"] or "x"):
            raise bad_grant("The authorization code is not valid.")

    return _with_grant(policy, redirect_uri=redirect_uri)


@off("F384", "OA-5", "a redirect URI of another client is accepted", "one list of redirect URIs for all clients")
def redirect_uri_of_anyone(policy: Policy) -> Policy:
    def redirect_uri(call: Call, code: Mapping[str, Any]) -> None:
        client_uris = CLIENTS[code["client_id"]]
        others = [uri for uris in CLIENTS.values() for uri in uris if uri not in client_uris]
        if call.body["redirectUri"] not in others:
            policy.oauth.grant["redirect_uri"](call, code)

    return _with_grant(policy, redirect_uri=redirect_uri)


@off("F385", "OA-5", "a client with its own redirect URI gets any code", "the request is consistent, the code not read")
def code_of_another_client(policy: Policy) -> Policy:
    def unless_consistent(name: str) -> GrantCondition:
        def condition(call: Call, code: Mapping[str, Any]) -> None:
            other, uri = call.body["clientId"], call.body["redirectUri"]
            if other == code["client_id"] or uri not in CLIENTS.get(other, ()):
                policy.oauth.grant[name](call, code)

        return condition

    return _with_grant(policy, **{name: unless_consistent(name) for name in ("client", "redirect_uri")})


@off("F386", "OA-5", "no other client can exchange a code", "a client id that is fixed in the settings")
def only_one_client(policy: Policy) -> Policy:
    def client(call: Call, code: Mapping[str, Any]) -> None:
        if call.body["clientId"] == "conformance-2":
            raise bad_grant("The client is not allowed to use this grant.")
        policy.oauth.grant["client"](call, code)

    return _with_grant(policy, client=client)


@off("F705", "OA-17", "the lifetime of a token counts from its code", "one time of issue for both records")
def lifetime_from_code(policy: Policy) -> Policy:
    def issue(call: Call, code: Mapping[str, Any]) -> JsonObject:
        token = policy.oauth.issue(call, code)
        return {**token, "expiresIn": token["expiresIn"] - int(call.now - code["issued_at"])}

    return with_oauth(policy, issue=issue)


@off("F707", "OA-13", "an expired code is answered 401", "an expired session and an expired code have one exception")
def expired_401(policy: Policy) -> Policy:
    def check(call: Call, code: Mapping[str, Any]) -> None:
        if call.now - code["issued_at"] > call.policy.oauth.code_lifetime_s:
            raise Refusal("bad_credential", "The authorization code has expired.")

    return _with_grant(policy, unexpired=check)


# Tickets


@fault(
    "F387",
    requirement="HO-6",
    title="an unknown ticket is answered 403",
    operations=(_CONSUME, _CANCEL),
    source="a ticket that counts as a permission",
)
def unknown_ticket_403(policy: Policy) -> Policy:
    return with_status(policy, "bad_ticket", 403)


@fault(
    "F388",
    requirement="HO-6",
    title="cancel answers an unknown ticket 400",
    operations=(_CANCEL,),
    source="two handlers with a check of their own each",
)
def cancel_400(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def cancel(call: Call, db: Connection) -> Answer:
            try:
                return original(call, db)
            except Refusal as refusal:
                kind = "invalid" if refusal.kind == "bad_ticket" else refusal.kind
                raise Refusal(kind, refusal.message) from None

        return cancel

    return with_handler(policy, _CANCEL, wrap)
