"""Stated lifetimes of codes and tickets: how old one is when it is tried, and how long one is waited for."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.case import Case

LONGEST_WAIT_S: Final = 60.0
"""Longer lifetimes are not waited for."""
DISTANCE_S: Final = 3.0
"""From the end of a lifetime: enough for whole seconds and for the way."""
ROUNDING_S: Final = 1.0


def age_at_end(lifetime_s: float, *, is_old: bool) -> float:
    """The age in seconds at which one is tried, just before or just after its end."""
    return lifetime_s + DISTANCE_S if is_old else max(lifetime_s - DISTANCE_S, lifetime_s / 2)


def need_time(case: Case, age_s: float, word: str) -> None:
    """A further case where the run ends before a code or ticket, the `word`, is that old."""
    remaining_s = case.runtime.settings.remaining_s
    case.require_case(remaining_s is None or remaining_s > 2 * age_s, f"the run ends before the {word} does")
