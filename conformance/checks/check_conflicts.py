"""States and their conflicts: Errors, 409 (CONF-1)."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.transitions import declared_transitions, expect_conflict
from conformance.profile.behavior import Transition


@check("CONF-1", cases=declared_transitions)
async def a_state_conflict_is_answered_409(case: Case, transition: Transition | None) -> None:
    """An operation that the resource's state no longer allows is answered 409. Hosted sessions are HO-4's."""
    await expect_conflict(case, transition)
