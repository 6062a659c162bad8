"""Faults of what a key is bound to: its case, its caller, a refused payload, the state (IDEM-1, IDEM-10 to 14)."""

from __future__ import annotations

import time

from sqlalchemy import Connection

from conformance.reference import idempotency, objects
from conformance.reference.call import Answer, Call, Refusal, canonical
from conformance.reference.idempotency import Record, address
from conformance.reference.policy import Handler, Policy, with_handler, with_idempotency
from conformance.reference.registry import fault

_REMOVE, _QUOTE = "removePublicCartPromotion", "quotePublicCart"
_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")
_OTHER_PAYLOAD = "This Idempotency-Key was used with another payload."
_WINDOW_S = 1.0


@fault(
    "F770",
    requirement="IDEM-13",
    title="the case of a key counts on the hosted operations",
    operations=_HOSTED,
    source="a second controller, which reads the header itself",
)
def hosted_keys_by_case(policy: Policy) -> Policy:
    def key(call: Call) -> str | None:
        value = idempotency.header_key(call)
        return call.request.first_header(b"idempotency-key") if call.operation in _HOSTED else value

    return with_idempotency(policy, key=key)


@fault(
    "F771",
    requirement="IDEM-14",
    title="keys of promotion removal belong to the credential",
    operations=(_REMOVE,),
    source="a handler that was written before keys were shared by an installation",
)
def removal_keys_of_credentials(policy: Policy) -> Policy:
    def namespace(call: Call) -> tuple[str, ...]:
        name = (call.caller.name,) if call.operation == _REMOVE and call.caller else ()
        return (*name, *idempotency.by_path(call))

    return with_idempotency(policy, namespace=namespace)


@fault(
    "F772",
    requirement="IDEM-12",
    title="a key is bound to the payload that a state conflict refused",
    source="the fingerprint is written before the transaction that is rolled back",
)
def bound_to_a_refused_payload(policy: Policy) -> Policy:
    bound: dict[str, str] = {}

    def run(call: Call, handler: Handler) -> Answer:
        fingerprint = policy.idempotency.fingerprint(call)
        if bound.get(address(call), fingerprint) != fingerprint:
            raise Refusal("mismatch", _OTHER_PAYLOAD)
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if refusal.kind == "state_conflict":
                bound[address(call)] = fingerprint
            raise

    return with_idempotency(policy, run=run)


@fault(
    "F773",
    requirement="IDEM-12",
    title="a repeated promotion removal is refused once the cart is revoked",
    operations=(_REMOVE,),
    source="a guard for revoked carts in front of all their calls",
)
def removal_guarded_before_its_record(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        cart = objects.get(db, call.resource) if call.operation == _REMOVE else None
        if cart is not None and cart.state == "revoked":
            raise Refusal("state_conflict", "The cart is revoked: this is no longer possible.")
        return policy.idempotency.replay(call, record, db, handler)

    return with_idempotency(policy, replay=replay)


@fault(
    "F774",
    requirement="IDEM-10",
    title="equal quotes within a second are one, whatever their keys",
    operations=(_QUOTE,),
    source="a cache against double clicks, by the content of a call",
)
def quotes_by_content(policy: Policy) -> Policy:
    last: dict[tuple[str, str], tuple[float, Answer]] = {}

    def wrap(inner: Handler) -> Handler:
        def quote(call: Call, db: Connection) -> Answer:
            name = (call.resource, canonical(call.body))
            at, answer = last.get(name, (0.0, None))
            cart = objects.get(db, call.resource[:100])
            is_known = answer is not None and cart is not None and cart.version == answer.value["data"]["version"]
            if answer is None or not is_known or time.time() - at > _WINDOW_S:
                at, answer = time.time(), inner(call, db)
                last[name] = at, answer
            return answer

        return quote

    return with_handler(policy, _QUOTE, wrap)


@fault(
    "F775",
    requirement="IDEM-1",
    title="a repeat with an Authorization header is another call",
    operations=_HOSTED,
    source="records by the header Authorization, as a cache has them that varies by it",
)
def hosted_keys_by_authorization(policy: Policy) -> Policy:
    def namespace(call: Call) -> tuple[str, ...]:
        header_value = call.request.first_header(b"authorization") if call.operation in _HOSTED else ""
        return (*policy.idempotency.namespace(call), header_value)

    return with_idempotency(policy, namespace=namespace)
