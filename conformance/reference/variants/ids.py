"""Legitimate readings of ids: what a service does not read."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.policy import Policy, evolve
from conformance.reference.registry import variant

_TITLE = "-summer-wardrobe"
_CARTS = {
    "quotePublicCartCheckout": "quoted",
    "removePublicCartPromotion": "promoted",
    "checkoutPublicCart": "quoted",
    "quotePublicCart": "open",
    "revokePublicCart": "open",
}


@variant(
    "V566",
    requirement="NF-1",
    title="the id of a cart has a title behind it, which is not read",
    profile={
        "operations": {
            operation: {"path": {"cartId": f"{{cart.{state}.id}}{_TITLE}"}, "unknown": None}
            for operation, state in _CARTS.items()
        }
    },
)
def titles_behind_ids(policy: Policy) -> Policy:
    """As in the URL of an article, whose title may change."""

    def read_code(call: Call) -> None:
        if call.operation in _CARTS:
            call.path = {"cartId": call.path["cartId"].partition("-")[0]}

    return evolve(policy, stages=(read_code, *policy.stages))
