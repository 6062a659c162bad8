"""Readings of the states of a cart: a call may say which version of it the caller knows."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection

from conformance.reference.call import Call, Refusal
from conformance.reference.objects import find
from conformance.reference.policy import Policy, before_work, with_schema
from conformance.reference.registry import variant

MEMBER: Final = "knownVersion"
_CHANGES: Final = ("quotePublicCart", "removePublicCartPromotion", "revokePublicCart")
_CONFLICTS: Final[dict[str, Any]] = {"conflicts": [{"reason": "as I know it", MEMBER: 1000}]}


@variant(
    "V593",
    requirement="CONF-1",
    title="a call on a cart may name the version that the caller knows, and conflicts where it is another one",
    profile={
        "schemas": {"names": {"PublicCartTransitionRequest": "VersionedTransitionRequest"}},
        "operations": dict.fromkeys(_CHANGES, _CONFLICTS),
    },
)
def known_versions(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        known = call.body.get(MEMBER)
        if known is not None and known != find(call, db, "cart").version:
            raise Refusal("state_conflict", "The cart has changed.")

    for operation in _CHANGES:
        schema = policy.reading.schemas[operation]
        properties = {**schema["properties"], MEMBER: {"type": "integer", "minimum": 1, "maximum": 1_000_000}}
        policy = with_schema(policy, operation, {**schema, "properties": properties})
    return before_work(policy, look, *_CHANGES)
