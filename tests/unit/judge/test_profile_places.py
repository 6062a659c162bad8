"""A cause names the lines of the profile that it is about."""

from __future__ import annotations

from conformance.core.model import Cause, ProfilePlace
from conformance.core.outcomes import Level, Outcome
from conformance.judge.profile_places import MAX_PLACES, with_places
from tests.support.runs import REQUIREMENTS
from tests.support.values import replace

LINES = {"base_url": 3, "idempotency": 20, "idempotency.kept": 22, "operations.a": 41, "operations.b": 45}
KEPT = next(r for r in REQUIREMENTS if "idempotency.kept" in r.facts)


def cause(*operations: str, level: Level = Level.REQUIRED, requirement: str = KEPT.id) -> Cause:
    return Cause("c", "s", requirement, "t", Outcome.FAILED, level, operations, ("x",), 1, 0)


def keys(one: Cause, lines: dict[str, int] = LINES) -> list[str]:
    (placed,) = with_places([one], REQUIREMENTS, lines)
    assert all(lines[place.key] == place.line for place in placed.places)
    return [place.key for place in placed.places]


def test_one_operation_comes_first() -> None:
    """Its table, before the facts of the requirement."""
    assert keys(cause("b")) == ["operations.b", "idempotency.kept"]


def test_a_fact_that_binds_comes_first() -> None:
    """Where the profile itself declares what was violated, its line is the place; so it is over many operations."""
    assert keys(cause("b", level=Level.DECLARED)) == ["idempotency.kept", "operations.b"]
    assert keys(cause("a", "b")) == ["idempotency.kept", "operations.a", "operations.b"]


def test_the_table_stands_in_for_a_fact_that_is_not_stated() -> None:
    """It is where the fact would be written."""
    assert keys(cause(), {"base_url": 3, "idempotency": 20}) == ["idempotency"]


def test_where_the_profile_says_nothing_the_target_is_named() -> None:
    """A cause of a general requirement points at the target's own line; without any line, at nothing."""
    assert keys(cause("z", requirement="VER-1")) == ["base_url"]
    assert keys(cause("z", requirement="VER-1"), {}) == []


def test_places_are_bounded() -> None:
    """A cause of all operations does not list all of them."""
    lines = {f"operations.o{n}": n + 1 for n in range(50)}
    (placed,) = with_places([cause(*(f"o{n}" for n in range(50)))], REQUIREMENTS, lines)
    assert len(placed.places) == MAX_PLACES
    assert placed.places[0] == ProfilePlace("operations.o0", 1)
    assert replace(placed, places=()) == cause(*(f"o{n}" for n in range(50)))
