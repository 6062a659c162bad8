"""Faults that only some signs of an effect show: by the id of the answer, from an absent counter, without a step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, delete, insert, update

from conformance.reference import json_reader
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.faults.flight import WORK_S
from conformance.reference.idempotency import Record, address, find, perform, resolve, save
from conformance.reference.policy import Handler, Policy, evolve, with_handler, with_idempotency
from conformance.reference.registry import fault
from conformance.reference.tables import effects, objects, records
from conformance.reference.variants.reads import lagging

_CREATE = "createInstallationWebhook"
_CANCEL = "cancelHostedCheckoutBrowser"
_CONSUME = "consumeHostedCheckoutBrowserTicket"
_QUOTE = "quotePublicCart"
_LONG_TEXT: Final = 500


def _write_event(call: Call, db: Connection, resource: str = "") -> None:
    """The event of an effect, without the effect itself."""
    row = {"operation": call.operation, "resource": resource or call.resource, "detail": "", "at": time.time()}
    db.execute(insert(effects), row)


def event_on_refusal(
    policy: Policy, operation: str, *kinds: str, suits: Callable[[Call], bool] = lambda _: True
) -> Policy:
    """Calls of the operation that suit and are refused for one of these reasons write their event all the same."""

    def wrap(stage: object) -> object:
        def pass_on_refusal(call: Call) -> object:
            try:
                return stage(call)  # type: ignore[operator]
            except Refusal as refusal:
                if call.operation == operation and refusal.kind in kinds and suits(call):
                    with call.store.write() as db:
                        _write_event(call, db)
                raise

        return pass_on_refusal

    return evolve(policy, stages=tuple(wrap(stage) for stage in policy.stages))


def replayed_checkout_billed(policy: Policy) -> Policy:
    """Each replay of a checkout writes the event of another one."""

    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        if call.operation == "checkoutPublicCart":
            _write_event(call, db)
        return policy.idempotency.replay(call, record, db, handler)

    return with_idempotency(policy, replay=replay)


@fault(
    "F430",
    requirement="IDEM-2",
    title="a replayed create publishes its endpoint again, by the id of the stored answer",
    operations=(_CREATE,),
    source="the transactional outbox: microservices.io, Pattern: Transactional outbox, a message sent more than once",
)
def replay_publishes(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        answer = policy.idempotency.replay(call, record, db, handler)
        if call.operation == _CREATE and answer.status == 200:
            _write_event(call, db, answer.value["data"]["id"])
        return answer

    return with_idempotency(policy, replay=replay)


@fault(
    "F431",
    requirement="IDEM-4",
    title="a create refused for another payload still touches the endpoint of the key",
    operations=(_CREATE,),
    source="an upsert by idempotency key: the row is updated first, its payload compared afterwards",
)
def mismatch_touches(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if call.operation == _CREATE and refusal.kind == "mismatch":
                with call.store.write() as db:
                    record = find(db, address(call))
                    if record is not None:
                        _write_event(call, db, record.answer.value["data"]["id"])
            raise

    return with_idempotency(policy, run=run)


@fault(
    "F432",
    requirement="IDEM-7",
    title="parallel duplicates of a cancellation all take effect",
    operations=(_CANCEL,),
    source="a check of the key in one transaction and its insert in another: Brandur, Implementing Stripe-like "
    "Idempotency Keys in Postgres",
)
def parallel_cancellations(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        if call.operation != _CANCEL:
            return policy.idempotency.run(call, handler)
        key = address(call)
        with call.store.write() as db:
            record = find(db, key)
            if record is not None:
                return resolve(call, record, db, handler)
        time.sleep(WORK_S)
        unguarded = evolve(call.policy, guard=lambda _call, _kind, _state: None)
        with call.store.write() as db:
            call.policy, ordinary = unguarded, call.policy
            answer = perform(call, db, handler)
            call.policy = ordinary
            earlier = find(db, key)
            db.execute(delete(records).where(records.c.address == key))
            save(db, call, key, earlier.answer if earlier else answer)
            return earlier.answer if earlier else answer

    return evolve(with_idempotency(policy, run=run), overlap=True)


@fault(
    "F433",
    requirement="BODY-8",
    title="a cancellation without a body cancels and is answered 400",
    operations=(_CANCEL,),
    source="a handler that acts on the path first and reads the body for the reason of the cancellation afterwards",
)
def cancelled_without_a_body(policy: Policy) -> Policy:
    return event_on_refusal(policy, _CANCEL, "malformed", "missing_body", "invalid")


@fault(
    "F434",
    requirement="BODY-8",
    title="a ticket counts as consumed by a request that is answered 400",
    operations=(_CONSUME,),
    source="a counter of attempts that is kept as the counter of consumptions",
)
def consumed_by_a_bad_request(policy: Policy) -> Policy:
    return event_on_refusal(policy, _CONSUME, "malformed", "missing_body", "invalid")


@fault(
    "X174",
    requirement="BODY-8",
    title="a quote with a text that is too long is billed and answered 400",
    operations=(_QUOTE,),
    source="a length that only the last column of the last statement enforces",
)
def billed_with_a_long_text(policy: Policy) -> Policy:
    def has_long_text(call: Call) -> bool:
        body = json_reader.read(call, call.request.body)
        members = body.values() if isinstance(body, dict) else ()
        return any(isinstance(value, str) and len(value) > _LONG_TEXT for value in members)

    return event_on_refusal(policy, _QUOTE, "invalid", suits=has_long_text)


@fault(
    "F435",
    requirement="SCO-4",
    title="the removal of a promotion is queued before the scope of the key is examined",
    operations=("removePublicCartPromotion",),
    source="OWASP API Security Top 10, API5:2023 Broken Function Level Authorization",
)
def queued_without_the_scope(policy: Policy) -> Policy:
    return event_on_refusal(policy, "removePublicCartPromotion", "forbidden")


@fault(
    "F436",
    requirement="IDEM-2",
    title="a replayed quote is billed again, and the cart stays as it is",
    operations=(_QUOTE,),
    source="metering in a filter before the idempotency layer",
)
def replayed_quote_is_billed(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        if call.operation == _QUOTE:
            _write_event(call, db)
        return policy.idempotency.replay(call, record, db, handler)

    return with_idempotency(policy, replay=replay)


@fault(
    "F437",
    requirement="CONF-1",
    title="a quote of a cart that is checked out is refused, and billed",
    operations=(_QUOTE,),
    source="metering in a filter before the state of the object is known",
)
def refused_quote_is_billed(policy: Policy) -> Policy:
    return event_on_refusal(policy, _QUOTE, "state_conflict")


@fault(
    "F438",
    requirement="IDEM-2",
    title="a replayed checkout is billed again, which reads show 300 ms later",
    operations=("checkoutPublicCart",),
    source="a ledger behind a queue: the consumer forgets the idempotency key of the producer",
)
def replayed_checkout_is_billed_late(policy: Policy) -> Policy:
    return lagging(replayed_checkout_billed(policy))


@fault(
    "F439",
    requirement="IDEM-4",
    title="a refused second payload removes the promotion's record, which a counter shows 300 ms later",
    operations=("removePublicCartPromotion",),
    source="a write-behind cache: the entry is queued before the transaction is decided",
)
def mismatch_queues_a_removal(policy: Policy) -> Policy:
    return lagging(event_on_refusal(policy, "removePublicCartPromotion", "mismatch"))


@fault(
    "X188",
    requirement="IDEM-2",
    title="a quote is recorded, and the cart keeps the version that it had",
    operations=(_QUOTE,),
    source="one of two writes that is lost, and an answer that is made before it",
)
def version_of_before(policy: Policy) -> Policy:
    def wrap(handler: Handler) -> Handler:
        def quote(call: Call, db: Connection) -> Answer:
            answer = handler(call, db)
            row = objects.c
            db.execute(update(objects).where(row.id == call.resource).values(version=row.version - 1))
            return answer

        return quote

    return with_handler(policy, _QUOTE, wrap)


@fault(
    "X213",
    requirement="IDEM-2",
    title="a checkout is billed twice",
    operations=("checkoutPublicCart",),
    source="a handler of a queue that is registered twice",
)
def billed_twice(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def checkout(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            _write_event(call, db)
            return answer

        return checkout

    return with_handler(policy, "checkoutPublicCart", wrap)
