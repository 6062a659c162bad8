"""Faults of the token exchange that show in a further call: with another key, an old proof, a second mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, select

from conformance.reference.call import Answer, Call, Refusal, dumps
from conformance.reference.dpop import Proof
from conformance.reference.idempotency import address, find
from conformance.reference.oauth import bad_grant, digest, further_token, is_unexpired
from conformance.reference.pipeline import execute
from conformance.reference.policy import (
    Condition,
    Handler,
    Policy,
    with_handler,
    with_idempotency,
    with_oauth,
    with_proof,
    with_stage,
)
from conformance.reference.registry import fault
from conformance.reference.tables import codes

_EXCHANGE = "exchangeOAuthToken"
_TOKEN = (_EXCHANGE,)
_MISTAKES = 2


@fault(
    "F837",
    requirement="OA-9",
    title="two proof keys of one client get one token",
    operations=_TOKEN,
    source="a cache of tokens by client and audience, which knows nothing of the key that each is bound to",
)
def one_token_for_two_keys(policy: Policy) -> Policy:
    tokens: dict[tuple[str, str], str] = {}

    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            data = answer.value["data"]
            place = (call.body["clientId"], str(call.body.get("audience")))
            token = tokens.setdefault(place, data["accessToken"])
            return replace(answer, value={"data": {**data, "accessToken": token}})

        return act

    return with_handler(policy, _EXCHANGE, wrap)


@fault(
    "F838",
    requirement="OA-12",
    title="a replay is answered whatever the age, the method and the URL of its proof are",
    operations=_TOKEN,
    source="replays answered by a cache in front of the handler, which verifies signatures alone",
)
def old_proof_for_a_replay(policy: Policy) -> Policy:
    """Three conditions of a proof count only where its key has no record, which is known later."""
    refusals: dict[str, Refusal] = {}

    def postpone(condition: Condition) -> Condition:
        def check(call: Call, proof: Proof) -> None:
            try:
                condition(call, proof)
            except Refusal as refusal:
                refusals.setdefault(call.request_id, refusal)

        return check

    def refuse_first_call(call: Call) -> None:
        refusal = refusals.pop(call.request_id, None)
        if refusal is None:
            return
        with call.store.read() as db:
            if call.key is None or find(db, address(call)) is None:
                raise refusal

    conditions = {name: postpone(policy.oauth.proof[name]) for name in ("method", "url", "fresh")}
    return with_stage(with_proof(policy, **conditions), refuse_first_call, before=execute)


@fault(
    "F844",
    requirement="OA-15",
    title="a second wrong verifier uses the code up",
    operations=_TOKEN,
    source="a limit of attempts for each code, against guessing",
)
def second_mistake_burns_code(policy: Policy) -> Policy:
    mistakes = Counter[str]()

    def verifier(call: Call, code: Mapping[str, Any]) -> None:
        if mistakes[code["digest"]] >= _MISTAKES:
            raise bad_grant("The authorization code is not valid.")
        try:
            policy.oauth.grant["verifier"](call, code)
        except Refusal:
            mistakes[code["digest"]] += 1
            raise

    return with_oauth(policy, grant={**policy.oauth.grant, "verifier": verifier})


@fault(
    "F971",
    requirement="IDEM-1",
    title="an exchange is not replayed once its code has expired",
    operations=_TOKEN,
    source="the code is validated before the key is looked up",
)
def replay_after_expiry(policy: Policy) -> Policy:
    def replay(call: Call, record: Any, db: Connection, handler: Handler) -> Answer:
        if call.operation == _EXCHANGE:
            row = db.execute(select(codes).where(codes.c.digest == digest(call.body["code"]))).mappings().first()
            if row is not None:
                is_unexpired(call, dict(row))
        return policy.idempotency.replay(call, record, db, handler)

    return with_idempotency(policy, replay=replay)


@fault(
    "X68",
    requirement="OA-12",
    title="a call that is repeated without a proof gets a new token",
    operations=_TOKEN,
    source="a retry is recognised by its key and body, before its proof is verified",
)
def new_token_without_a_proof(policy: Policy) -> Policy:
    read_proof, run = policy.oauth.read_proof, policy.idempotency.run
    proofs: dict[tuple[str | None, bytes], Proof] = {}

    def read_if_there(call: Call) -> Proof | None:
        try:
            return read_proof(call)
        except Refusal as refusal:
            if refusal.kind != "missing_proof":
                raise
            return None

    def run_or_issue(call: Call, handler: Handler) -> Answer:
        if call.operation != _EXCHANGE:
            return run(call, handler)
        if call.proof is not None:
            answer = run(call, handler)
            proofs[_mark(call)] = call.proof
            return answer
        if _mark(call) not in proofs:
            raise Refusal("missing_proof", "A DPoP header is required.")
        call.proof = proofs[_mark(call)]
        return further_token(call)

    return with_idempotency(with_oauth(policy, read_proof=read_if_there), run=run_or_issue)


@fault(
    "X69",
    requirement="OA-12",
    title="a call that is repeated with the proof of another key gets a new token, for that key",
    operations=_TOKEN,
    source="a retry may redeem the code again, and the token is bound to the proof of the retry",
)
def new_token_for_another_key(policy: Policy) -> Policy:
    run = policy.idempotency.run
    known: set[tuple[str | None, bytes]] = set()

    def run_or_issue(call: Call, handler: Handler) -> Answer:
        if call.operation != _EXCHANGE:
            return run(call, handler)
        try:
            answer = run(call, handler)
        except Refusal as refusal:
            if refusal.kind != "mismatch" or _mark(call) not in known:
                raise
            return further_token(call)
        known.add(_mark(call))
        return answer

    return with_idempotency(policy, run=run_or_issue)


def _mark(call: Call) -> tuple[str | None, bytes]:
    return call.key, dumps(call.body)
