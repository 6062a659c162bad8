"""Faults that show in a later step, or with another body: CONF-4, STA-1, NF-1."""

from __future__ import annotations

from sqlalchemy import Connection

from conformance.reference import objects
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.policy import (
    Handler,
    Policy,
    evolve,
    with_handler,
)
from conformance.reference.registry import fault


def _note_removals(policy: Policy, carts: set[str]) -> Policy:
    """Adds each cart to `carts` whose promotion is removed."""

    def wrap(inner: Handler) -> Handler:
        def remove(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            carts.add(call.resource)
            return answer

        return remove

    return with_handler(policy, "removePublicCartPromotion", wrap)


@fault(
    "F670",
    requirement="CONF-4",
    title="a cart whose promotion was removed can be quoted, and not checked out",
    operations=("checkoutPublicCart",),
    source="a quote keeps the promotion's version, which checkout compares with the one of now",
)
def no_checkout_after_removal(policy: Policy) -> Policy:
    removed: set[str] = set()

    def guard(call: Call, kind: str, state: str) -> None:
        policy.guard(call, kind, state)
        if call.operation == "checkoutPublicCart" and call.resource in removed:
            raise Refusal("state_conflict", "The cart has changed since its quote.")

    return evolve(_note_removals(policy, removed), guard=guard)


@fault(
    "X203",
    requirement="CONF-4",
    title="a cart whose promotion was removed can be quoted once it is revoked",
    operations=("revokePublicCart",),
    source="a flag for totals that are out of date, at which a quote looks before it looks at the state",
)
def quote_of_a_revoked_cart(policy: Policy) -> Policy:
    outdated: set[str] = set()

    def guard(call: Call, kind: str, state: str) -> None:
        is_quoted_anyway = (call.operation, state) == ("quotePublicCart", "revoked") and call.resource in outdated
        if not is_quoted_anyway:
            policy.guard(call, kind, state)

    return evolve(_note_removals(policy, outdated), guard=guard)


@fault(
    "F671",
    requirement="STA-1",
    title="two items of one line in an after-sales request end in 500",
    operations=("requestStorefrontOrderAfterSales",),
    source="a unique index over request and line",
)
def one_item_for_each_line(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def request(call: Call, db: Connection) -> Answer:
            lines = [item["lineId"] for item in call.body["items"]]
            answer = inner(call, db)
            if len(set(lines)) < len(lines):
                raise ValueError("duplicate key value violates unique constraint")
            return answer

        return request

    return with_handler(policy, "requestStorefrontOrderAfterSales", wrap)


@fault(
    "F672",
    requirement="NF-1",
    title="the checkout quote of one unknown cart asked for twice ends in 500",
    operations=("quotePublicCartCheckout",),
    source="a cache that keeps null for what was not found, and a reader that expects an object",
)
def null_from_the_cache(policy: Policy) -> Policy:
    missing: set[str] = set()

    def wrap(inner: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            if objects.get(db, call.resource) is None:
                if call.resource in missing:
                    raise TypeError("'NoneType' object is not subscriptable")
                missing.add(call.resource)
            return inner(call, db)

        return read

    return with_handler(policy, "quotePublicCartCheckout", wrap)


@fault(
    "F673",
    requirement="CONF-4",
    title="a cancellation without feedback is answered, and the session stays open",
    operations=("cancelHostedCheckoutBrowser",),
    source="the session is saved in the branch that stores the feedback",
)
def cancelled_with_feedback_only(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def cancel(call: Call, db: Connection) -> Answer:
            before = objects.get(db, call.resource)
            answer = inner(call, db)
            if before is not None and "feedback" not in call.body:
                objects.change(db, before, before.state, before.data)
            return answer

        return cancel

    return with_handler(policy, "cancelHostedCheckoutBrowser", wrap)
