"""Faults that show on a second call, or on what a call made: CONF-1, IDEM-1, IDEM-3, IDEM-4, STA-1."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from conformance.reference import objects
from conformance.reference.call import Call, Refusal
from conformance.reference.faults.request_edges import with_texts
from conformance.reference.policy import Policy, before_work, evolve, with_idempotency
from conformance.reference.registry import fault

_CANCELLATION = "getStorefrontOrderCancellationEligibility"
_QUOTE = "quotePublicCart"
_REQUEST = "requestStorefrontOrderAfterSales"


@fault(
    "X124",
    requirement="IDEM-4",
    title="payloads are compared without the slash at the end of a URL",
    source="a library that normalizes URLs before they are compared",
)
def final_slash_is_ignored(policy: Policy) -> Policy:
    return with_texts(policy, lambda text: text.rstrip("/") if text.startswith("http") else text)


@fault(
    "X125",
    requirement="IDEM-3",
    title="the quote of a cart that has one needs no key",
    operations=(_QUOTE,),
    source="a branch that renews a quote, and asks for the key behind it",
)
def new_quote_needs_no_key(policy: Policy) -> Policy:
    def key(call: Call) -> str | None:
        try:
            return policy.idempotency.key(call)
        except Refusal as refusal:
            if refusal.kind == "missing_key" and call.operation == _QUOTE:
                with call.store.read() as db:
                    cart = objects.get(db, call.resource[:100])
                if cart is not None and cart.state == "quoted":
                    return None
            raise

    return with_idempotency(policy, key=key)


@fault(
    "X126",
    requirement="IDEM-1",
    title="a repeat with another Accept or Accept-Language is another call",
    source="a cache in front whose key has the headers that Vary names",
)
def language_is_part_of_the_key(policy: Policy) -> Policy:
    def namespace(call: Call) -> tuple[str, ...]:
        headers = (call.request.first_header(name) for name in (b"accept", b"accept-language"))
        return (*policy.idempotency.namespace(call), *headers)

    return with_idempotency(policy, namespace=namespace)


@fault(
    "X127",
    requirement="STA-1",
    title="the cancellation eligibility of an order that a checkout made ends in 500",
    operations=(_CANCELLATION,),
    source="a member that imported orders have, and new ones do not",
)
def new_order_has_no_date(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        order = objects.get(db, call.resource[:100])
        if order is not None and order.kind == "order" and order.data["lines"][0]["lineId"] == "line_1":
            raise KeyError("shippedAt")

    return before_work(policy, look, _CANCELLATION)


@fault(
    "X128",
    requirement="CONF-1",
    title="a request for an order that is not eligible goes through under the same key again",
    operations=(_REQUEST,),
    source="a key that is taken for one whose checks have passed",
)
def refused_request_goes_through_again(policy: Policy) -> Policy:
    refused: set[tuple[str, str | None]] = set()

    def look(call: Call, db: Connection) -> Call:
        order = objects.get(db, call.resource)
        if order is None or order.state != "ineligible":
            return call
        if (call.resource, call.key) in refused:
            return replace(call, policy=evolve(call.policy, guard=_allow))
        refused.add((call.resource, call.key))
        return call

    return before_work(policy, look, _REQUEST)


def _allow(_call: Call, _kind: str, _state: str) -> None:
    """The state of each resource allows each operation."""
