"""Faults of the version of a cart that a call names: CONF-1."""

from __future__ import annotations

from sqlalchemy import Connection

from conformance.reference.call import Call
from conformance.reference.policy import Policy, before_work, evolve
from conformance.reference.registry import fault
from conformance.reference.variants.versions import MEMBER


@fault(
    "X224",
    requirement="CONF-1",
    title="a call that revokes a cart ignores the version that it names",
    operations=("revokePublicCart",),
    source="a handler that was written before versions were compared",
    seeded_in="V593",
)
def version_ignored(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        return evolve(call, body={name: value for name, value in call.body.items() if name != MEMBER})

    return before_work(policy, look, "revokePublicCart")
