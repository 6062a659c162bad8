"""Faults of refused calls that are carried out all the same: IDEM-3, IDEM-4, BODY-8, SCO-4, CONF-1, HO-3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

from sqlalchemy import Connection

from conformance.reference import json_reader, objects, pipeline
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.idempotency import Record, refuse_mismatch
from conformance.reference.policy import (
    Handler,
    Policy,
    Schema,
    Stage,
    evolve,
    with_handler,
    with_idempotency,
    with_reading,
)
from conformance.reference.registry import fault
from conformance.reference.schema import problem
from conformance.reference.webhooks import _members_to_store, _state

_UPDATE, _CHECKOUT, _REMOVE = "updateInstallationWebhook", "checkoutPublicCart", "removePublicCartPromotion"
_REVOKE = "revokePublicCart"
_CONSUME, _CANCEL = "consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser"
Effect = Callable[[Call, Connection], None]


def _on_refusal(
    policy: Policy, stage: Stage, operation: str, kinds: tuple[str, ...], effect: Effect, about: str = ""
) -> Policy:
    """What a stage refuses has an effect; only refusals whose message contains `about`."""

    def refuse_late(call: Call) -> None:
        try:
            stage(call)
        except Refusal as refusal:
            if call.operation == operation and refusal.kind in kinds and about in refusal.message:
                with call.store.write() as db:
                    effect(call, db)
            raise

    return evolve(policy, stages=tuple(refuse_late if other is stage else other for other in policy.stages))


def _lead_to(kind: str, state: str, *before: str) -> Effect:
    def effect(call: Call, db: Connection) -> None:
        found = objects.get(db, call.resource[:100])
        if found is None or found.kind != kind or found.state not in before:
            return
        if kind == "session" or found.installation == call.installation:
            objects.change(db, found, state, found.data)

    return effect


@fault(
    "F776",
    requirement="IDEM-4",
    title="an update refused for its key with 409 is carried out all the same",
    operations=(_UPDATE,),
    source="an entity that an ORM writes at the end of the request, since it was changed before the conflict",
)
def updated_in_spite_of_its_key(policy: Policy) -> Policy:
    def mismatch(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        endpoint = objects.get(db, call.resource) if call.operation == _UPDATE else None
        if endpoint is None:
            return refuse_mismatch(call, record, db, handler)
        data = {**endpoint.data, **_members_to_store(call)}
        objects.change(db, endpoint, _state(data), data)
        return policy.error(call, Refusal("mismatch", "This Idempotency-Key was used with another payload."))

    return with_idempotency(policy, on_mismatch=mismatch)


@fault(
    "F777",
    requirement="BODY-8",
    title="an update refused with 400 keeps its valid members",
    operations=(_UPDATE,),
    source="mass assignment before validation: the valid attributes are saved",
)
def valid_members_kept(policy: Policy) -> Policy:
    def effect(call: Call, db: Connection) -> None:
        body = json_reader.read(call, call.request.body)
        parts = policy.reading.schemas[_UPDATE]["properties"]
        members = body.items() if isinstance(body, dict) else ()
        good = {name: value for name, value in members if name in parts and not problem(parts[name], value)}
        endpoint = objects.get(db, call.resource[:100])
        if good and endpoint and endpoint.kind == "wh" and call.installation == endpoint.installation:
            data = {**endpoint.data, **good}
            objects.change(db, endpoint, _state(data), data)

    return _on_refusal(policy, pipeline.read_body, _UPDATE, ("invalid",), effect)


@fault(
    "F778",
    requirement="BODY-8",
    title="a consumption refused with 400 uses up the ticket",
    operations=(_CONSUME,),
    source="the ticket is marked as used before the rest of the body is read",
)
def ticket_used_up_by_a_bad_body(policy: Policy) -> Policy:
    effect = _lead_to("session", "consumed", "open")
    return _on_refusal(policy, pipeline.read_body, _CONSUME, ("invalid",), effect)


@fault(
    "F779",
    requirement="CONF-1",
    title="a checkout refused on an open cart goes through the second time",
    operations=(_CHECKOUT,),
    source="the refused checkout asks for a quote in the background",
)
def quoted_by_a_refused_checkout(policy: Policy) -> Policy:
    refused_ids: set[str] = set()

    def wrap(inner: Handler) -> Handler:
        def checkout(call: Call, db: Connection) -> Answer:
            cart = objects.get(db, call.resource[:100])
            if cart is not None and cart.state == "open" and cart.installation == call.installation:
                if cart.id in refused_ids:
                    objects.change(db, cart, "quoted", cart.data)
                refused_ids.add(cart.id)
            return inner(call, db)

        return checkout

    return with_handler(policy, _CHECKOUT, wrap)


@fault(
    "F780",
    requirement="SCO-4",
    title="a promotion removal refused with 403 is carried out",
    operations=(_REMOVE,),
    source="a scope check that runs after the handler, on its answer",
)
def removed_without_the_scope(policy: Policy) -> Policy:
    def effect(call: Call, db: Connection) -> None:
        cart = objects.get(db, call.resource[:100])
        if cart and cart.kind == "cart" and cart.installation == call.installation:
            objects.change(db, cart, cart.state, {**cart.data, "promotion": None})

    return _on_refusal(policy, pipeline.authorize, _REMOVE, ("forbidden",), effect)


@fault(
    "F781",
    requirement="HO-3",
    title="a cancellation with a wrong ticket is refused and carried out",
    operations=(_CANCEL,),
    source="the session is closed first, and the ticket is compared for the answer",
)
def cancelled_with_a_wrong_ticket(policy: Policy) -> Policy:
    effect = _lead_to("session", "cancelled", "open")
    return _on_refusal(policy, pipeline.execute, _CANCEL, ("bad_ticket",), effect)


@fault(
    "F782",
    requirement="IDEM-3",
    title="a revocation without a key is refused and carried out",
    operations=(_REVOKE,),
    source="a filter for the key that runs when the answer is written",
)
def revoked_without_a_key(policy: Policy) -> Policy:
    effect = _lead_to("cart", "revoked", "open", "quoted")
    return _on_refusal(policy, pipeline.read_key, _REVOKE, ("missing_key",), effect)


@fault(
    "F871",
    requirement="BODY-8",
    title="an update refused for its last member has stored those before it",
    operations=(_UPDATE,),
    source="attributes that are assigned and saved one by one, until the validation of one of them fails",
)
def stored_up_to_the_bad_member(policy: Policy) -> Policy:
    def validate(call: Call, schema: Schema, value: Any) -> Any:
        try:
            return policy.reading.validate(call, schema, value)
        except Refusal:
            if call.operation == _UPDATE and isinstance(value, dict):
                store(call, schema["properties"], value)
            raise

    def store(call: Call, parts: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        good = takewhile(lambda name: name in parts and not problem(parts[name], value[name]), value)
        changes = {name: value[name] for name in good}
        with call.store.write() as db:
            endpoint = objects.get(db, call.resource[:100])
            if changes and endpoint and endpoint.kind == "wh" and endpoint.installation == call.installation:
                data = {**endpoint.data, **changes}
                objects.change(db, endpoint, _state(data), data)

    return with_reading(policy, validate=validate)


@fault(
    "X60",
    requirement="BODY-4",
    title="a checkout that is refused for the buyer's address is carried out all the same",
    operations=(_CHECKOUT,),
    source="an address that is validated when the confirmation is sent, after the checkout",
)
def checked_out_for_a_bad_address(policy: Policy) -> Policy:
    lead = _lead_to("cart", "checked_out", "quoted")
    return _on_refusal(policy, pipeline.read_body, _CHECKOUT, ("invalid",), lead, about="buyer.email")
