"""Legitimate forms of reading: an effect may become visible after the write was answered."""

from __future__ import annotations

import time
from itertools import count
from typing import Final

from sqlalchemy import Connection, func, select, update

from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.policy import Handler, Policy, evolve, with_handler, with_idempotency, with_shape
from conformance.reference.registry import variant
from conformance.reference.tables import effects, objects

LAG_S: Final = 0.3
_KEPT_S: Final = 2.0
_READS: Final = ("quotePublicCartCheckout", "getStorefrontOrderAfterSalesEligibility")
"""The operations that show effects in the reference's profile."""
_WRITES: Final = (
    "createInstallationWebhook",
    "updateInstallationWebhook",
    "requestStorefrontOrderAfterSales",
    "removePublicCartPromotion",
    "checkoutPublicCart",
    "quotePublicCart",
    "revokePublicCart",
    "exchangeOAuthToken",
    "consumeHostedCheckoutBrowserTicket",
    "cancelHostedCheckoutBrowser",
)

_CARTS: Final = ("checkoutPublicCart", "quotePublicCart", "revokePublicCart", "removePublicCartPromotion")
_STEPS: Final = (
    ("quotePublicCartCheckout", "cart.open", "cart.quoted"),
    ("quotePublicCart", "cart.open", "cart.quoted"),
    ("checkoutPublicCart", "cart.quoted", "cart.checked_out"),
    ("revokePublicCart", "cart.open", "cart.revoked"),
    ("revokePublicCart", "cart.quoted", "cart.revoked"),
    ("removePublicCartPromotion", "cart.promoted", "cart.open"),
)
"""Operation, state and the state that it leads to, where a read quotes a cart."""


def lagging(policy: Policy) -> Policy:
    """Versions and counters lag `LAG_S` behind writes; a conflict is answered later than that."""

    def lag_behind(handler: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            answer = handler(call, db)
            recent = select(func.count()).where(effects.c.resource == call.resource, effects.c.at > time.time() - LAG_S)
            data = answer.value["data"]
            unseen = int(db.execute(recent).scalar_one())
            return evolve(answer, value={**answer.value, "data": {**data, "version": data["version"] - unseen}})

        return read

    lagging_policy = policy
    for operation in _READS:
        lagging_policy = with_handler(lagging_policy, operation, lag_behind)

    def refuse_late(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if refusal.kind == "state_conflict":
                time.sleep(LAG_S + 0.1)
            raise

    return evolve(with_idempotency(lagging_policy, run=refuse_late), reads_lag_s=LAG_S, overlap=True)


@variant(
    "V250",
    requirement="CONF-1",
    title="reads of effects lag 300 ms behind writes, as the profile states",
    profile={"effects": {operation: {"within_s": 2 * LAG_S} for operation in _WRITES}},
)
def lag_is_stated(policy: Policy) -> Policy:
    return lagging(policy)


@variant(
    "V251", requirement="CONF-1", title="reads of effects lag 300 ms behind writes, which the profile does not state"
)
def lag_is_not_stated(policy: Policy) -> Policy:
    return lagging(policy)


_DELAY_S: Final = 1.8
_STATED_S: Final = 2.2
_OTHER_WRITES: Final = [name for name in _WRITES if name not in _CARTS]
_REVOKED: Final = [
    *({"operation": name, "fixture": f, "leads_to": to} for name, f, to in _STEPS if name != _READS[0]),
    {"operation": _READS[0], "fixture": "cart.open", "leads_to": "cart.open"},
    {"operation": _READS[0], "fixture": "cart.revoked"},
    {"operation": _READS[0], "fixture": "cart.open", "after": ["revokePublicCart"]},
    *({"operation": name, "none": "its states are not stated"} for name in _OTHER_WRITES),
]


@variant(
    "V553",
    requirement="CONF-1",
    title="the read of the checkout quote quotes an open cart, as the profile states",
    profile={
        "transitions": [
            *({"operation": name, "fixture": f, "leads_to": to} for name, f, to in _STEPS),
            {"operation": "checkoutPublicCart", "fixture": "cart.open"},
            *({"operation": name, "none": "its states are not stated"} for name in _WRITES if name not in _CARTS),
        ]
    },
)
def reads_that_quote(policy: Policy) -> Policy:
    def shaper(call: Call, answer: Answer) -> Answer:
        data = answer.value["data"] if answer.status == 200 else {}
        if data.get("state") != "open" or data["totals"]["discount"]:
            return answer
        with call.store.write() as db:
            is_open = (objects.c.id == call.resource, objects.c.state == "open")
            db.execute(update(objects).where(*is_open).values(state="quoted"))
        return evolve(answer, value={**answer.value, "data": {**data, "state": "quoted"}})

    return with_shape(policy, shaper, _READS[0])


@variant(
    "V557",
    requirement="CONF-1",
    title="the read of the checkout quote refuses a revoked cart 300 ms after it was revoked, as the profile states",
    profile={"transitions": _REVOKED},
)
def reads_that_refuse(policy: Policy) -> Policy:
    def refuse_revoked(handler: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            recent = select(func.count()).where(effects.c.resource == call.resource, effects.c.at > time.time() - LAG_S)
            answer = handler(call, db)
            if answer.value["data"]["state"] == "revoked" and not db.execute(recent).scalar_one():
                raise Refusal("state_conflict", "The cart is revoked.")
            return answer

        return read

    return with_handler(policy, _READS[0], refuse_revoked)


@variant(
    "V599",
    requirement="IDEM-11",
    title="a gateway keeps the answer to each read of a checkout quote for two seconds, by all its headers, as stated",
    profile={
        "effects": {
            "quotePublicCart": [
                {"operation": _READS[0], "pointer": "/data/version", "step": 1, "within_s": _KEPT_S + 0.5}
            ]
        }
    },
)
def reads_from_a_cache(policy: Policy) -> Policy:
    cache: dict[tuple[bytes, tuple[object, ...]], tuple[float, Answer]] = {}

    def read_through(handler: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            name, now = (call.request.path, tuple(call.request.headers)), time.monotonic()
            until, answer = cache.get(name) or (0.0, None)
            if answer is None or until < now:
                answer = handler(call, db)
                cache[name] = now + _KEPT_S, answer
            return answer

        return read

    return with_handler(policy, _READS[0], read_through)


@variant(
    "V600",
    requirement="CONF-1",
    title="of two copies that are read in turn, one refuses a revoked cart two seconds later, as stated",
    profile={
        "transitions": _REVOKED,
        "effects": {"revokePublicCart": {"within_s": _STATED_S}},
    },
)
def copies_that_refuse(policy: Policy) -> Policy:
    numbers = count()

    def refuse_revoked(handler: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            answer, is_behind = handler(call, db), next(numbers) % 2
            recent = (effects.c.resource == call.resource, effects.c.at > time.time() - _KEPT_S)
            is_unseen = is_behind and db.execute(select(func.count()).where(*recent)).scalar_one()
            if answer.value["data"]["state"] == "revoked" and not is_unseen:
                raise Refusal("state_conflict", "The cart is revoked.")
            return answer

        return read

    return with_handler(policy, _READS[0], refuse_revoked)


_REFUSED: Final = (
    ("checkoutPublicCart", "cart.open", ()),
    ("quotePublicCart", "cart.checked_out", ()),
    ("quotePublicCart", "cart.open", ("revokePublicCart",)),
    ("checkoutPublicCart", "cart.quoted", ("revokePublicCart",)),
    ("checkoutPublicCart", "cart.quoted", ("checkoutPublicCart",)),
    ("revokePublicCart", "cart.open", ("revokePublicCart",)),
    ("revokePublicCart", "cart.quoted", ("checkoutPublicCart",)),
)
"""Operation, state, and the calls since, after which it conflicts."""
