"""Faults of stated transitions: the status of refusals (CONF-3), and states that do not follow (CONF-4)."""

from __future__ import annotations

from sqlalchemy import Connection, update

from conformance.reference import carts, objects, tables
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.policy import Handler, Policy, before_work, evolve, with_handler
from conformance.reference.registry import fault

_PROMOTION = ("removePublicCartPromotion",)


@fault(
    "F412",
    requirement="CONF-3",
    title="a promotion that is not there answered 409",
    operations=_PROMOTION,
    source="a state machine that refuses everything alike, where the guide says 404",
)
def absent_promotion_conflicts(policy: Policy) -> Policy:
    return evolve(policy, state_refusals={})


@fault(
    "F413",
    requirement="CONF-3",
    title="a promotion that is not there answered 400",
    operations=_PROMOTION,
    source="a validator that looks the promotion up before the handler does",
)
def absent_promotion_is_invalid(policy: Policy) -> Policy:
    return evolve(policy, state_refusals={"cart.unpromoted": "bad_request"})


def _without_state(policy: Policy, operation: str, state: str) -> Policy:
    return evolve(policy, states={**policy.states, operation: policy.states[operation] - {state}})


@fault(
    "F414",
    requirement="CONF-4",
    title="a quoted cart cannot be quoted again",
    operations=("quotePublicCart",),
    source="a transition table without loops",
)
def no_second_quote(policy: Policy) -> Policy:
    return _without_state(policy, "quotePublicCart", "quoted")


@fault(
    "F415",
    requirement="CONF-4",
    title="a quoted cart cannot be revoked",
    operations=("revokePublicCart",),
    source="a transition that was allowed from the first state only",
)
def no_revoke_after_quote(policy: Policy) -> Policy:
    return _without_state(policy, "revokePublicCart", "quoted")


@fault(
    "X92",
    requirement="CONF-4",
    title="a quoted cart cannot be checked out",
    operations=("checkoutPublicCart",),
    source="a state that was renamed, and one comparison with its old name",
)
def no_checkout_of_a_quoted_cart(policy: Policy) -> Policy:
    return _without_state(policy, "checkoutPublicCart", "quoted")


@fault(
    "X36",
    requirement="CONF-1",
    title="a checkout of a cart that is not quoted is answered 404",
    operations=("checkoutPublicCart",),
    source="a query by id and state, whose empty result is an unknown cart",
)
def checkout_finds_quoted_carts_only(policy: Policy) -> Policy:
    def find(call: Call, db: Connection) -> Call | None:
        cart = objects.get(db, call.resource)
        if cart is not None and cart.state != "quoted":
            raise Refusal("not_found", "There is no such cart.")
        return None

    return before_work(policy, find, "checkoutPublicCart")


@fault(
    "F416",
    requirement="CONF-4",
    title="a quote is answered, and the cart stays open",
    operations=("quotePublicCart",),
    source="a pricing service that never passes its result on to the cart service",
)
def quote_without_state(policy: Policy) -> Policy:
    def quote(call: Call, db: Connection) -> Answer:
        cart = objects.find_in_state(call, db, "cart")
        objects.change(db, cart, cart.state, cart.data)
        answer = carts.checkout_quote(call, db)
        return evolve(answer, value={"data": {**answer.value["data"], "state": "quoted"}})

    return with_handler(policy, "quotePublicCart", lambda _original: quote)


@fault(
    "F417",
    requirement="CONF-4",
    title="a removed promotion is still there",
    operations=_PROMOTION,
    source="an ORM that does not see a change within a JSON column",
)
def promotion_stays(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def remove(call: Call, db: Connection) -> Answer:
            data = objects.find(call, db, "cart").data
            answer = original(call, db)
            cart = objects.find(call, db, "cart")
            objects.change(db, cart, cart.state, data)
            return answer

        return remove

    return with_handler(policy, "removePublicCartPromotion", wrap)


@fault(
    "F878",
    requirement="CONF-4",
    title="the removal of a promotion makes the cart a quoted one",
    operations=_PROMOTION,
    source="totals that are calculated again by what quotes a cart",
)
def removal_quotes(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            db.execute(update(tables.objects).where(tables.objects.c.id == call.resource).values(state="quoted"))
            return answer

        return act

    return with_handler(policy, *_PROMOTION, wrap)


@fault(
    "X61",
    requirement="CONF-1",
    title="reading the quote of an open cart makes it a quoted one",
    operations=("checkoutPublicCart",),
    source="a quote that is made where there is none, and stored with the cart",
)
def quote_by_reading(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        cart = objects.find(call, db, "cart")
        if cart.state == "open":
            objects.change(db, cart, "quoted", cart.data)

    return before_work(policy, look, "quotePublicCartCheckout")


@fault(
    "X191",
    requirement="CONF-4",
    title="reading whether after-sales is possible makes the order a requested one",
    operations=("requestStorefrontOrderAfterSales",),
    source="a check and a reservation in one function, which the read calls too",
)
def request_by_reading(policy: Policy) -> Policy:
    return _changed_by_reading(policy, "getStorefrontOrderAfterSalesEligibility", "order", "eligible", "requested")


@fault(
    "X225",
    requirement="CONF-4",
    title="reading what checking out would cost quotes an open cart",
    operations=("quotePublicCartCheckout",),
    source="the function that computes a quote stores it, too",
)
def quoted_by_reading(policy: Policy) -> Policy:
    return _changed_by_reading(policy, "quotePublicCartCheckout", "cart", "open", "quoted")


def _changed_by_reading(policy: Policy, operation: str, kind: str, old: str, new: str) -> Policy:
    """A read of a resource in one state puts it into another one."""

    def wrap(handler: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            answer = handler(call, db)
            resource = objects.find(call, db, kind)
            if resource.state == old:
                objects.change(db, resource, new, resource.data)
            return answer

        return read

    return with_handler(policy, operation, wrap)
