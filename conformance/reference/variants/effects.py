"""Legitimate ways to show effects: counters that begin late, logs, signs by the answer, signs of other calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.objects import find
from conformance.reference.policy import Handler, Policy, evolve, with_handler
from conformance.reference.registry import variant

_BY_ID: Final = {
    "updateInstallationWebhook": "webhook.id",
    "removePublicCartPromotion": "cart.promoted.id",
    "checkoutPublicCart": "cart.quoted.id",
    "revokePublicCart": "cart.open.id",
    "consumeHostedCheckoutBrowserTicket": "session.id",
    "cancelHostedCheckoutBrowser": "session.id",
}
"""The operations that the reference's profile counts by the id of one object, and the placeholder of that id."""
_CREATE: Final = "createInstallationWebhook"


def _sign(operation: str, query: str, **facts: Any) -> Mapping[str, Any]:
    return {"http": {"url": f"{{var.control}}/effects/{operation}?{query}"}, "pointer": "/count", **facts}


def _counters(policy: Policy, form: str, *operations: str) -> Policy:
    return evolve(policy, counters={**policy.counters, **dict.fromkeys(operations, form)})


def _profile(**facts: Any) -> Mapping[str, Any]:
    """The signs of all operations of `_BY_ID`, each as an array of one."""
    return {"effects": {name: [_sign(name, f"id={{{place}}}", **facts)] for name, place in _BY_ID.items()}}


@variant(
    "V350",
    requirement="SCO-4",
    title="counters of effects are absent before the first effect",
    profile=_profile(step=1, absent=0),
)
def absent_counters(policy: Policy) -> Policy:
    return _counters(policy, "absent", *_BY_ID)


@variant(
    "V351",
    requirement="SCO-4",
    title="counters of effects are answered 404 before the first effect",
    profile=_profile(step=1, absent=0),
)
def missing_counters(policy: Policy) -> Policy:
    return _counters(policy, "not_found", *_BY_ID)


@variant(
    "V352",
    requirement="IDEM-7",
    title="effects show as a log, whose step the profile does not state",
    profile=_profile(pointer="/events"),
)
def logs(policy: Policy) -> Policy:
    return _counters(policy, "log", *_BY_ID)


@variant(
    "V353",
    requirement="IDEM-2",
    title="the effect of a create is counted by the id in its answer alone",
    profile={"effects": {_CREATE: [_sign(_CREATE, "id={answer:/data/id}", step=1, absent=0)]}},
)
def counted_by_answer(policy: Policy) -> Policy:
    return _counters(policy, "not_found", _CREATE)


@variant(
    "V354",
    requirement="IDEM-2",
    title="one of two signs is shared with all other calls",
    profile={
        "effects": {
            name: [_sign("all", "", step=1), _sign(name, f"id={{{place}}}", step=1, absent=0)]
            for name, place in {**_BY_ID, "cancelHostedCheckoutBrowser": "session.id"}.items()
        }
    },
)
def one_shared_sign(policy: Policy) -> Policy:
    policy = _counters(policy, "count", *_BY_ID)
    return _counters(policy, "shared", "all")


@variant(
    "V355",
    requirement="IDEM-2",
    title="the read that shows quotes is refused before the first one",
    profile={
        "effects": {
            "quotePublicCart": [
                {"operation": "quotePublicCartCheckout", "pointer": "/data/version", "step": 1, "absent": 1}
            ]
        },
        "operations": {"quotePublicCartCheckout": {"path": {"cartId": "{cart.quoted.id}"}}},
    },
)
def no_quote_yet(policy: Policy) -> Policy:
    return _refused_in(policy, "open")


@variant(
    "V356",
    requirement="CONF-1",
    title="the read that shows quotes is refused once a cart is revoked or checked out",
    profile={
        "effects": {
            "quotePublicCart": [
                {"operation": "quotePublicCartCheckout", "pointer": "/data/version", "step": 1},
            ]
        }
    },
)
def no_quote_any_more(policy: Policy) -> Policy:
    return _refused_in(policy, "revoked", "checked_out")


def _refused_in(policy: Policy, *states: str) -> Policy:
    def wrap(handler: Handler) -> Handler:
        def read(call: Call, db: Any) -> Answer:
            if find(call, db, "cart").state in states:
                raise Refusal("state_conflict", "The cart has no quote in this state.")
            return handler(call, db)

        return read

    return with_handler(policy, "quotePublicCartCheckout", wrap)
