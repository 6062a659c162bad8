"""Faults of state machines: CONF, hosted sessions and webhook endpoints (HO, WH)."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import Connection, insert

from conformance.reference import objects
from conformance.reference.call import Answer, Call, JsonObject, Refusal
from conformance.reference.faults.flight import WORK_S
from conformance.reference.idempotency import address, find
from conformance.reference.policy import (
    Handler,
    Policy,
    before_work,
    evolve,
    with_handler,
    with_idempotency,
    with_shape,
    with_states,
    with_status,
)
from conformance.reference.registry import fault
from conformance.reference.tables import effects
from conformance.reference.variants.reads import lagging

_CONSUME = "consumeHostedCheckoutBrowserTicket"
_KNOWN_FOR_S = 1.5


@fault(
    "F101", requirement="CONF-1", title="second checkout succeeds with fresh key", operations=("checkoutPublicCart",)
)
def second_checkout(policy: Policy) -> Policy:
    return with_states(policy, "checkoutPublicCart", "checked_out")


@fault("F102", requirement="CONF-1", title="state conflict answers 400")
def conflict_is_400(policy: Policy) -> Policy:
    return with_status(policy, "state_conflict", 400)


@fault("F103", requirement="CONF-1", title="checkout after revoke succeeds", operations=("checkoutPublicCart",))
def checkout_after_revoke(policy: Policy) -> Policy:
    return with_states(policy, "checkoutPublicCart", "revoked")


@fault(
    "F891",
    requirement="CONF-2",
    title="a quote at the time of a revocation revives the cart",
    operations=("quotePublicCart",),
    source="the lost update: a quote computes prices, and writes back the state that it has read before",
)
def quote_at_revocation(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        if call.operation != "quotePublicCart":
            return policy.idempotency.run(call, handler)
        with call.store.read() as db:
            if find(db, address(call)) is None:
                objects.find_in_state(call, db, "cart")
        time.sleep(WORK_S)
        call.policy = evolve(policy, guard=lambda _call, _kind, _state: None)
        return policy.idempotency.run(call, handler)

    return evolve(with_idempotency(policy, run=run), overlap=True)


@fault("F104", requirement="CONF-2", title="parallel checkouts both win", operations=("checkoutPublicCart",))
def checked_too_early(policy: Policy) -> Policy:
    """The state is checked before the payment, but not again after it."""

    def run(call: Call, handler: Handler) -> Answer:
        if call.operation != "checkoutPublicCart":
            return policy.idempotency.run(call, handler)
        with call.store.read() as db:
            record = find(db, address(call))
            if record is None:
                objects.find_in_state(call, db, "cart")
        if record is None:
            time.sleep(WORK_S)
        call.policy = evolve(policy, guard=lambda _call, _kind, _state: None)
        return policy.idempotency.run(call, handler)

    return evolve(with_idempotency(policy, run=run), overlap=True)


@fault(
    "F163",
    requirement="HO-2",
    title="ticket reusable with fresh key",
    operations=("consumeHostedCheckoutBrowserTicket",),
)
def reusable_ticket(policy: Policy) -> Policy:
    return with_states(policy, "consumeHostedCheckoutBrowserTicket", "consumed")


@fault(
    "F165", requirement="HO-4", title="cancel after consume ignored rule", operations=("cancelHostedCheckoutBrowser",)
)
def cancel_after_consume(policy: Policy) -> Policy:
    return with_states(policy, "cancelHostedCheckoutBrowser", "consumed")


@fault("F167", requirement="HO-5", title="cancel returns other shape", operations=("cancelHostedCheckoutBrowser",))
def other_projection(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={"data": {"cancelled": True, "session": answer.value["data"]["sessionId"]}})

    return with_shape(policy, shaper, "cancelHostedCheckoutBrowser")


@fault("F168", requirement="WH-1", title="created id unknown to PATCH", operations=("createInstallationWebhook",))
def wrong_id(policy: Policy) -> Policy:
    """The answer shows the id of an internal record instead of the endpoint's own."""

    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        data = answer.value["data"]
        return evolve(answer, value={**answer.value, "data": {**data, "id": "wh_" + data["id"][:2:-1]}})

    return with_shape(policy, shaper, "createInstallationWebhook")


@fault("F169", requirement="WH-2", title="PATCH resets unnamed fields", operations=("updateInstallationWebhook",))
def patch_resets(policy: Policy) -> Policy:
    """PATCH works as PUT, with defaults for missing members except the URL."""

    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        old_members = {"url": old["url"], "secret": old["secret"]}
        return {"events": [], "description": "", "active": True, "metadata": {}, **old_members, **changes}

    return evolve(policy, merge=merge)


@fault(
    "F250",
    requirement="CONF-1",
    title="a refused checkout takes effect, visible to reads 300 ms later",
    operations=("checkoutPublicCart",),
    source="an order queue with a read replica: the 409 came from the replica, the order from the queue",
)
def refused_and_carried_out(policy: Policy) -> Policy:
    """The answer is 409 by the state, but the effect is written."""

    def run(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if call.operation == "checkoutPublicCart" and refusal.kind == "state_conflict":
                with call.store.write() as db:
                    row = {"operation": call.operation, "resource": call.resource, "detail": "", "at": time.time()}
                    db.execute(insert(effects), row)
            raise

    return lagging(with_idempotency(policy, run=run))


def _forgotten(policy: Policy, cause: str, operation: str, state: str) -> Policy:
    """Some time after `cause` has led to the state it does not keep from `operation`."""
    since: dict[str, float] = {}

    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            since[call.resource] = time.monotonic()
            return answer

        return act

    def guard(call: Call, kind: str, name: str) -> None:
        now = time.monotonic()
        is_known = now < since.get(call.resource, now) + _KNOWN_FOR_S
        if is_known or (call.operation, name) != (operation, state):
            policy.guard(call, kind, name)

    return evolve(with_handler(policy, cause, wrap), guard=guard)


@fault(
    "F889",
    requirement="HO-2",
    title="a ticket is known as used for a second and a half",
    operations=(_CONSUME,),
    source="used tickets in a cache whose entries expire",
)
def ticket_forgotten(policy: Policy) -> Policy:
    return _forgotten(policy, _CONSUME, _CONSUME, "consumed")


@fault(
    "F890",
    requirement="CONF-1",
    title="a cart is known as revoked for a second and a half",
    operations=("quotePublicCart",),
    source="a list of revoked carts in a cache whose entries expire, beside a table that is not asked",
)
def revocation_forgotten(policy: Policy) -> Policy:
    return _forgotten(policy, "revokePublicCart", "quotePublicCart", "revoked")


@fault(
    "F998",
    requirement="ERR-3",
    title="an order that cannot be cancelled is answered 403",
    operations=("getStorefrontOrderCancellationEligibility",),
    source="a policy of resources that says `forbidden` for what a state rules out",
)
def ineligible_is_forbidden(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        found = objects.get(db, call.resource[:100])
        if found is not None and found.installation == call.installation and found.state == "ineligible":
            raise Refusal("forbidden", "The order's state forbids this.")

    return before_work(policy, look, "getStorefrontOrderCancellationEligibility")


def _with_conflict(policy: Policy, operation: str, refuse: Callable[[Refusal], Exception]) -> Policy:
    def wrap(handler: Handler) -> Handler:
        def run(call: Call, db: Connection) -> Answer:
            try:
                return handler(call, db)
            except Refusal as refusal:
                raise (refuse(refusal) if refusal.kind == "state_conflict" else refusal) from refusal

        return run

    return with_handler(policy, operation, wrap)


@fault(
    "X186",
    requirement="CONF-1",
    title="a revocation that the state refuses ends in 500",
    operations=("revokePublicCart",),
    source="an exception of the domain that the handler of one route does not catch",
)
def conflict_crashes(policy: Policy) -> Policy:
    return _with_conflict(policy, "revokePublicCart", lambda refusal: ValueError(str(refusal)))


@fault(
    "X187",
    requirement="HO-4",
    title="a cancellation that the state refuses is answered 422",
    operations=("cancelHostedCheckoutBrowser",),
    source="422 for what is understood and cannot be done, in a framework of another API",
)
def conflict_is_422(policy: Policy) -> Policy:
    changed = _with_conflict(policy, "cancelHostedCheckoutBrowser", lambda _: Refusal("ended", "It has ended."))
    return evolve(changed, statuses={**policy.statuses, "ended": 422})


@fault(
    "X204",
    requirement="CONF-1",
    title="a checkout that the state refuses is answered 400 when it is repeated under its key",
    operations=("checkoutPublicCart",),
    source="a store of failed calls that keeps the body of each answer, and one status for all of them",
)
def repeated_conflict_is_400(policy: Policy) -> Policy:
    failed: set[str] = set()

    def guard(call: Call, kind: str, state: str) -> None:
        try:
            policy.guard(call, kind, state)
        except Refusal as refusal:
            if call.operation != "checkoutPublicCart" or refusal.kind != "state_conflict":
                raise
            key = address(call)
            if key in failed:
                raise Refusal("bad_request", str(refusal)) from refusal
            failed.add(key)
            raise

    return evolve(policy, guard=guard)
