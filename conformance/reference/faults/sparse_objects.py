"""Faults of bodies whose objects have few members: STA-1."""

from __future__ import annotations

from sqlalchemy import Connection

from conformance.reference.call import Call
from conformance.reference.policy import Policy, before_work
from conformance.reference.registry import fault

_CHECKOUT = "checkoutPublicCart"


@fault(
    "X123",
    requirement="STA-1",
    title="a checkout whose address has no country is answered 500",
    operations=(_CHECKOUT,),
    source="a member that is read without a look whether it is there",
)
def address_without_country_fails(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if "shipping" in call.body and "country" not in call.body["shipping"]:
            raise KeyError("country")

    return before_work(policy, look, _CHECKOUT)
