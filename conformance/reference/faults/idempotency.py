"""Faults of replay, key scope and payload comparison, and of calls that need no key: IDEM-1 to IDEM-6, IDEM-11."""

from __future__ import annotations

import json
import os
import secrets

from sqlalchemy import Connection, update

from conformance.reference.call import Answer, Call, JsonValue, Refusal, canonical, new_id
from conformance.reference.idempotency import Record, address, digest, owner, perform
from conformance.reference.policy import (
    Handler,
    Policy,
    evolve,
    with_handler,
    with_idempotency,
    with_oauth,
    with_status,
)
from conformance.reference.registry import fault
from conformance.reference.tables import objects, records


def _without_replay(call: Call, handler: Handler) -> Answer:
    with call.store.write() as db:
        return perform(call, db, handler)


@fault("F065", requirement="IDEM-1", title="no replay at all")
def no_replay(policy: Policy) -> Policy:
    return with_idempotency(policy, run=_without_replay)


@fault(
    "F066",
    requirement="IDEM-1",
    title="only POST covered, PATCH/DELETE re-execute",
    operations=("updateInstallationWebhook", "removePublicCartPromotion"),
)
def only_post(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        is_covered = call.request.method == "POST"
        return policy.idempotency.run(call, handler) if is_covered else _without_replay(call, handler)

    return with_idempotency(policy, run=run)


@fault("F067", requirement="IDEM-2", title="right replay body, effect twice")
def effect_twice(policy: Policy) -> Policy:
    """The work is repeated in any state, and then the stored answer is returned."""

    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        if record.status == 200:
            without_guard = evolve(policy, guard=lambda _call, _kind, _state: None)
            call.policy = with_oauth(without_guard, grant={}, proof_reuse="accepted")
            perform(call, db, handler)
            call.policy = policy
        return policy.idempotency.replay(call, record, db, handler)

    return with_idempotency(policy, replay=replay)


@fault("F068", requirement="IDEM-5", title="store ignores operation")
def operation_ignored(policy: Policy) -> Policy:
    return with_idempotency(policy, namespace=lambda call: (owner(call), *call.path.values()))


@fault("F069", requirement="IDEM-5", title="store ignores path id")
def path_ignored(policy: Policy) -> Policy:
    def namespace(call: Call) -> tuple[str, ...]:
        return ("hosted" if "sessionId" in call.path else owner(call), call.operation)

    return with_idempotency(policy, namespace=namespace)


@fault("F070", requirement="IDEM-6", title="store ignores credential")
def credential_ignored(policy: Policy) -> Policy:
    return with_idempotency(policy, namespace=lambda call: (call.operation, *call.path.values()))


@fault("F072", requirement="IDEM-4", title="mismatch silently replays")
def mismatch_replays(policy: Policy) -> Policy:
    return with_idempotency(policy, on_mismatch=policy.idempotency.replay)


@fault("F073", requirement="IDEM-4", title="mismatch executes again")
def mismatch_executes(policy: Policy) -> Policy:
    def perform_again(call: Call, _record: Record, db: Connection, handler: Handler) -> Answer:
        return perform(call, db, handler)

    return with_idempotency(policy, on_mismatch=perform_again)


@fault("F074", requirement="IDEM-4", title="mismatch answers 422")
def mismatch_is_422(policy: Policy) -> Policy:
    return with_status(policy, "mismatch", 422)


@fault(
    "X198",
    requirement="IDEM-4",
    title="consume answers another payload under a used key 400",
    operations=("consumeHostedCheckoutBrowserTicket",),
    source="a handler that maps each exception of its key store to a bad request",
)
def mismatch_is_400(policy: Policy) -> Policy:
    def refuse(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        if call.operation == "consumeHostedCheckoutBrowserTicket":
            raise Refusal("bad_request", "The Idempotency-Key does not fit the request.")
        return policy.idempotency.on_mismatch(call, record, db, handler)

    return with_idempotency(policy, on_mismatch=refuse)


@fault("F075", requirement="IDEM-4", title="fingerprint is body length")
def fingerprint_is_length(policy: Policy) -> Policy:
    return with_idempotency(policy, fingerprint=lambda call: _fingerprint(call, str(len(call.request.body))))


def _fingerprint(call: Call, content: str) -> str:
    return digest(content, call.proof.jkt if call.proof else "")


@fault(
    "F997",
    requirement="IDEM-4",
    title="integers of a payload are compared as floating-point numbers",
    operations=("createInstallationWebhook",),
    source="a decoder that reads each number into a double, as those of Go and JavaScript do",
    seeded_in="V546",
)
def fingerprint_of_doubles(policy: Policy) -> Policy:
    def fingerprint(call: Call) -> str:
        return _fingerprint(call, canonical(json.loads(canonical(call.body), parse_int=float)))

    return with_idempotency(policy, fingerprint=fingerprint)


@fault("F078", requirement="IDEM-4", title="fingerprint of top-level keys only")
def fingerprint_is_shallow(policy: Policy) -> Policy:
    """JSON.stringify(body, Object.keys(body).sort()): the second argument drops every other member, at any depth."""

    def keep_members(value: JsonValue, names: frozenset[str]) -> JsonValue:
        if isinstance(value, dict):
            return {name: keep_members(item, names) for name, item in value.items() if name in names}
        return [keep_members(item, names) for item in value] if isinstance(value, list) else value

    def fingerprint(call: Call) -> str:
        return _fingerprint(call, canonical(keep_members(call.body, frozenset(call.body))))

    return with_idempotency(policy, fingerprint=fingerprint)


@fault(
    "F079",
    requirement="IDEM-4",
    title="DELETE body left out of fingerprint",
    operations=("removePublicCartPromotion",),
)
def delete_body_ignored(policy: Policy) -> Policy:
    def fingerprint(call: Call) -> str:
        return "no body" if call.request.method == "DELETE" else policy.idempotency.fingerprint(call)

    return with_idempotency(policy, fingerprint=fingerprint)


@fault("F081", requirement="IDEM-3", title="missing key accepted")
def key_is_optional(policy: Policy) -> Policy:
    def key(call: Call) -> str | None:
        return policy.idempotency.key(call) if call.request.header_values(b"idempotency-key") else None

    return with_idempotency(policy, key=key)


@fault("F082", requirement="IDEM-3", title="empty key is one shared key")
def empty_key(policy: Policy) -> Policy:
    def key(call: Call) -> str | None:
        values = call.request.header_values(b"idempotency-key")
        return "" if len(values) == 1 and not values[0].strip() else policy.idempotency.key(call)

    return with_idempotency(policy, key=key)


@fault("F084", requirement="IDEM-1", title="replay changes status")
def replay_is_409(policy: Policy) -> Policy:
    def replay(call: Call, _record: Record, _db: Connection, _handler: Handler) -> Answer:
        return policy.error(call, Refusal("state_conflict", "This request was carried out before."))

    return with_idempotency(policy, replay=replay)


@fault(
    "F086",
    requirement="IDEM-1",
    title="replay rotates returned secret/id",
    operations=("createInstallationWebhook", "requestStorefrontOrderAfterSales", "exchangeOAuthToken"),
)
def replay_rotates(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        answer = policy.idempotency.replay(call, record, db, handler)
        if call.operation not in (
            "createInstallationWebhook",
            "requestStorefrontOrderAfterSales",
            "exchangeOAuthToken",
        ):
            return answer
        data = dict(answer.value["data"])
        if "secret" in data:
            data["secret"] = "whsec_" + secrets.token_hex(16)
            data_to_store = {name: value for name, value in data.items() if name not in ("id", "version")}
            db.execute(update(objects).where(objects.c.id == data["id"]).values(data=json.dumps(data_to_store)))
        elif "accessToken" in data:
            data["accessToken"] = "at_" + secrets.token_urlsafe(32)
        else:
            data["id"] = new_id("asr")
        return evolve(answer, value={**answer.value, "data": data})

    return with_idempotency(policy, replay=replay)


@fault("F095", requirement="IDEM-1", title="record evicted after few keys or seconds")
def few_records(policy: Policy) -> Policy:
    return with_idempotency(policy, keep=4)


@fault("F096", requirement="IDEM-1", title="per-worker store")
def per_worker(policy: Policy) -> Policy:
    """Two workers with separate stores; a connection stays with the worker that accepted it.

    Linux hands out ports of one parity, so the second bit tells the workers apart.
    """

    def namespace(call: Call) -> tuple[str, ...]:
        return (str(os.getpid()), str(call.request.peer // 2 % 2), *policy.idempotency.namespace(call))

    return with_idempotency(policy, namespace=namespace)


@fault(
    "F159",
    requirement="OA-12",
    title="replay gives token to other DPoP key",
    operations=("exchangeOAuthToken",),
)
def other_key_gets_token(policy: Policy) -> Policy:
    return with_idempotency(policy, fingerprint=lambda call: digest(canonical(call.body)))


@fault(
    "F160",
    requirement="OA-11",
    title="new proof on retry counted as mismatch",
    operations=("exchangeOAuthToken",),
)
def proof_in_fingerprint(policy: Policy) -> Policy:
    def fingerprint(call: Call) -> str:
        return digest(policy.idempotency.fingerprint(call), call.proof.text if call.proof else "")

    return with_idempotency(policy, fingerprint=fingerprint)


@fault(
    "F234",
    requirement="IDEM-11",
    title="readiness demands an idempotency key",
    operations=("getInstallationCredentialReadiness",),
    source="a middleware that is mounted on a whole router, reads included, instead of on its writes",
)
def read_needs_a_key(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def readiness(call: Call, db: Connection) -> Answer:
            if not call.request.header_values(b"idempotency-key"):
                raise Refusal("missing_key", "The header Idempotency-Key is required.")
            return original(call, db)

        return readiness

    return with_handler(policy, "getInstallationCredentialReadiness", wrap)


@fault(
    "F617",
    requirement="IDEM-1",
    title="a refused second payload takes the place of the first one",
    source="an upsert by idempotency key, whose conflict is found by comparing with the row before it",
)
def mismatch_replaces(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if refusal.kind == "mismatch":
                with call.store.write() as db:
                    fingerprint = policy.idempotency.fingerprint(call)
                    place = records.c.address == address(call)
                    db.execute(update(records).where(place).values(fingerprint=fingerprint))
            raise

    return with_idempotency(policy, run=run)
