"""Faults of the status for objects of another installation: TEN-3."""

from __future__ import annotations

from conformance.reference.policy import Policy, evolve, with_status
from conformance.reference.registry import fault


@fault(
    "F418",
    requirement="TEN-3",
    title="an object of another installation answered 403",
    source="a permission check that runs after the look-up, over all tenants",
)
def foreign_forbidden(policy: Policy) -> Policy:
    return evolve(policy, unseen="foreign")


@fault(
    "F419",
    requirement="TEN-3",
    title="an object of another installation answered 400",
    source="a foreign key that the database refuses, and the handler takes for bad input",
)
def foreign_is_bad_input(policy: Policy) -> Policy:
    return with_status(evolve(policy, unseen="foreign"), "foreign", 400)
