"""Causes -> causes with their places in the profile: the lines that a reader of the failure wants to see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from conformance.core.model import Cause, ProfilePlace, Requirement
from conformance.core.outcomes import Level

MAX_PLACES: Final = 10
_GENERAL: Final = ("operations", "fixtures", "schemas")
"""Facts of nearly every requirement, which say little about one."""
_TARGET: Final = "base_url"


def with_places(
    causes: Iterable[Cause], requirements: Iterable[Requirement], lines: Mapping[str, int]
) -> tuple[Cause, ...]:
    """`lines`: the line of each key of the profile."""
    facts = {requirement.id: requirement.facts for requirement in requirements}
    return tuple(replace(cause, places=_places(cause, facts.get(cause.requirement, ()), lines)) for cause in causes)


def _places(cause: Cause, facts: Sequence[str], lines: Mapping[str, int]) -> tuple[ProfilePlace, ...]:
    """The facts first where the profile makes the requirement binding, or where no single operation is concerned."""
    operations = [f"operations.{name}" for name in cause.operations]
    fact_keys = [_key_or_table(key, lines) for key in facts if key not in _GENERAL]
    facts_first = cause.level is Level.DECLARED or len(operations) != 1
    keys = [*fact_keys, *operations] if facts_first else [*operations, *fact_keys]
    found = [key for key in dict.fromkeys(keys) if key in lines] or [key for key in (_TARGET,) if key in lines]
    return tuple(ProfilePlace(key, lines[key]) for key in found[:MAX_PLACES])


def _key_or_table(key: str, lines: Mapping[str, int]) -> str:
    """The key, or the table that would state it."""
    return key if key in lines else key.partition(".")[0]
