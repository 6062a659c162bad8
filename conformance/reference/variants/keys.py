"""Legitimate treatments of idempotency keys, each stated in the profile."""

from __future__ import annotations

from conformance.reference.policy import Policy, with_idempotency
from conformance.reference.registry import variant


@variant(
    "V310",
    requirement="IDEM-12",
    title="answers of 200, 404 and 409 stored",
    profile={"idempotency": {"kept": [200, 404, 409]}},
)
def conflicts_stored(policy: Policy) -> Policy:
    return with_idempotency(policy, remembers=lambda status: status in (200, 404, 409))
