"""Faults of proofs, and of what a proof protects: OA-8, OA-9, OA-10, OA-12, IDEM-8."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, select

from conformance.reference.call import Answer, Call, JsonObject, Refusal, dumps
from conformance.reference.dpop import Proof
from conformance.reference.idempotency import Record, address, find, save
from conformance.reference.pipeline import authenticate, read_body, read_key
from conformance.reference.policy import (
    Handler,
    Policy,
    Stage,
    before_work,
    evolve,
    with_idempotency,
    with_oauth,
    with_proof,
)
from conformance.reference.registry import fault
from conformance.reference.tables import proofs, tokens

_EXCHANGE = "exchangeOAuthToken"
_TOKEN = (_EXCHANGE,)


@fault(
    "F607",
    requirement="OA-8",
    title="a proof whose exp has not passed is not asked for its iat",
    operations=_TOKEN,
    source="a JWT library that validates exp where it stands, and iat only in its place",
)
def exp_in_place_of_iat(policy: Policy) -> Policy:
    def fresh(call: Call, proof: Proof) -> None:
        expires = proof.claims.get("exp")
        if not isinstance(expires, (int, float)) or expires <= call.now:
            policy.oauth.proof["fresh"](call, proof)

    return with_proof(policy, fresh=fresh)


@fault(
    "F608",
    requirement="OA-8",
    title="an iat beyond the calendar ends in 500",
    operations=_TOKEN,
    source="datetime.fromtimestamp, which raises on a year after 9999, as milliseconds are",
)
def iat_beyond_the_calendar(policy: Policy) -> Policy:
    def fresh(call: Call, proof: Proof) -> None:
        datetime.fromtimestamp(proof.claims["iat"], UTC)
        policy.oauth.proof["fresh"](call, proof)

    return with_proof(policy, fresh=fresh)


def _with_thumbprint(policy: Policy, name: Callable[[Call, Mapping[str, Any], str], str]) -> Policy:
    """`name` gets the call, its code, and the right thumbprint."""

    def issue(call: Call, code: Mapping[str, Any]) -> JsonObject:
        token = policy.oauth.issue(call, code)
        return {**token, "cnf": {"jkt": name(call, code, token["cnf"]["jkt"])}}

    return with_oauth(policy, issue=issue)


@fault(
    "F609",
    requirement="OA-9",
    title="a token is bound to the first key that its client used",
    operations=_TOKEN,
    source="a key that is registered for a client at its first exchange, and never replaced",
)
def bound_to_the_first_key(policy: Policy) -> Policy:
    first: dict[str, str] = {}
    return _with_thumbprint(policy, lambda _call, code, jkt: first.setdefault(str(code["client_id"]), jkt))


@fault(
    "F610",
    requirement="OA-9",
    title="the thumbprint is of every member of the JWK",
    operations=_TOKEN,
    source="a digest of the whole JWK in the header; RFC 7638 section 3.2 takes the required members only",
)
def thumbprint_of_all_members(policy: Policy) -> Policy:
    def name(call: Call, _code: object, jkt: str) -> str:
        if call.proof is None:
            return jkt
        members = dict(sorted(call.proof.header["jwk"].items()))
        return urlsafe_b64encode(hashlib.sha256(dumps(members)).digest()).rstrip(b"=").decode()

    return _with_thumbprint(policy, name)


@fault(
    "F611",
    requirement="OA-10",
    title="a replayed token may be cached",
    operations=_TOKEN,
    source="a store of answers that keeps status and body, and no headers",
)
def cacheable_replay(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        return evolve(policy.idempotency.replay(call, record, db, handler), headers=())

    return with_idempotency(policy, replay=replay)


def _with_authentication(policy: Policy, check: Stage) -> Policy:
    return evolve(policy, stages=tuple(check if stage is authenticate else stage for stage in policy.stages))


def _read_call(call: Call, refusal: Refusal) -> None:
    """Reads key and body before they are due. Raises the refusal where they cannot be read."""
    try:
        read_key(call)
        read_body(call)
    except Refusal:
        raise refusal from None


@fault(
    "F612",
    requirement="OA-12",
    title="a known key is replayed to a proof with another signature",
    operations=_TOKEN,
    source="a cache of answers before the verification, which compares the thumbprint only",
)
def replay_before_verification(policy: Policy) -> Policy:
    def check(call: Call) -> None:
        try:
            authenticate(call)
        except Refusal as refusal:
            if call.operation != _EXCHANGE or refusal.kind != "bad_proof":
                raise
            proof = policy.oauth.read_proof(call)
            _read_call(call, refusal)
            call.proof = proof
            with call.store.read() as db:
                if find(db, address(call)) is None:
                    raise

    return _with_authentication(policy, check)


@fault(
    "F613",
    requirement="IDEM-8",
    title="a refused proof is stored under the key of its exchange",
    operations=_TOKEN,
    source="idempotency in a middleware around the verification of proofs",
)
def refused_proof_stored(policy: Policy) -> Policy:
    def check(call: Call) -> None:
        try:
            authenticate(call)
        except Refusal as refusal:
            if call.operation == _EXCHANGE:
                _read_call(call, refusal)
                with call.store.write() as db:
                    if find(db, address(call)) is None:
                        save(db, call, address(call), policy.error(call, refusal))
            raise

    return _with_authentication(policy, check)


@fault(
    "F708",
    requirement="OA-9",
    title="the token for a PS256 proof has the type Bearer",
    operations=_TOKEN,
    source="a library for proofs that knows EC keys only, and a branch that issues what it issued before DPoP",
)
def bearer_for_rsa(policy: Policy) -> Policy:
    def issue(call: Call, code: Mapping[str, Any]) -> JsonObject:
        is_rsa = call.proof is not None and call.proof.header.get("alg") == "PS256"
        return {**policy.oauth.issue(call, code), "tokenType": "Bearer" if is_rsa else "DPoP"}

    return with_oauth(policy, issue=issue)


@fault(
    "F872",
    requirement="OA-16",
    title="only the last two used proofs are known as used",
    operations=_TOKEN,
    source="a ring of recent ids in each process, which is too small",
)
def small_ring(policy: Policy) -> Policy:
    def forget(call: Call, _proof: Proof) -> None:
        newest = select(proofs.c.expires_at).order_by(proofs.c.expires_at.desc()).offset(1).limit(1)
        with call.store.write() as db:
            db.execute(delete(proofs).where(proofs.c.expires_at < newest.scalar_subquery()))

    return with_proof(policy, forget=forget)


@fault(
    "X189",
    requirement="OA-16",
    title="a used proof is known as used for two seconds",
    operations=_TOKEN,
    source="used proofs in a cache whose entries live shorter than an iat is accepted",
)
def proofs_used_for_seconds(policy: Policy) -> Policy:
    def forget(call: Call, _proof: Proof) -> None:
        rules = policy.oauth
        usual_end = call.now + rules.clock_behind_s + rules.clock_ahead_s
        with call.store.write() as db:
            db.execute(delete(proofs).where(proofs.c.expires_at < usual_end - 2.0))

    return with_proof(policy, forget=forget)


@fault(
    "F886",
    requirement="OA-9",
    title="tokens of one second are equal",
    operations=_TOKEN,
    source="a random generator that each call seeds with the seconds of the clock",
)
def token_of_a_second(policy: Policy) -> Policy:
    def issue(call: Call, code: Mapping[str, Any]) -> JsonObject:
        token = hashlib.sha256(str(int(call.now)).encode()).hexdigest()
        return {**policy.oauth.issue(call, code), "accessToken": f"at_{token[:43]}"}

    def forget(call: Call, db: Connection) -> Call:
        """The table of tokens takes each of them once."""
        db.execute(delete(tokens))
        return call

    return before_work(with_oauth(policy, issue=issue), forget, _EXCHANGE)


@fault(
    "X133",
    requirement="OA-6",
    title="a proof signed with RSA is good for any method",
    operations=_TOKEN,
    source="two libraries for two kinds of keys, of which one is not asked for htm",
)
def any_method_with_rsa(policy: Policy) -> Policy:
    return with_proof(policy, method=_but_for("PS", policy.oauth.proof["method"]))


@fault(
    "X134",
    requirement="OA-6",
    title="a proof signed with a longer curve is good for any URL",
    operations=_TOKEN,
    source="a branch for algorithms that were added later",
)
def any_url_with_a_longer_curve(policy: Policy) -> Policy:
    return with_proof(policy, url=_but_for("ES384", policy.oauth.proof["url"]))


@fault(
    "X143",
    requirement="OA-8",
    title="a proof signed with a longer curve may be of any time",
    operations=_TOKEN,
    source="a branch for algorithms that were added later",
)
def any_time_with_a_longer_curve(policy: Policy) -> Policy:
    return with_proof(policy, fresh=_but_for("ES384", policy.oauth.proof["fresh"]))


def _but_for(algorithm: str, condition: Callable[[Call, Proof], None]) -> Callable[[Call, Proof], None]:
    """The condition, which proofs of algorithms with this beginning need not meet."""

    def judge(call: Call, proof: Proof) -> None:
        if not str(proof.header.get("alg")).startswith(algorithm):
            condition(call, proof)

    return judge
