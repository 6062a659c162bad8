"""Cases that are tried on some of the operations: one implementation of JSON or of paths usually serves all of them.

Operations that are next to each other in the contract share the cases. A run in deep depth has all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from conformance.contract import Operation, load_contract
from conformance.profile.model import Profile

T = TypeVar("T")


def alternate_cases(cases: Mapping[str, Any], step: int = 2) -> Callable[[Profile, Operation], Mapping[str, Any]]:
    """The `cases` of a check, of which each operation has every second, or every `step`-th."""

    def cases_of(profile: Profile, operation: Operation) -> Mapping[str, Any]:
        return {name: cases[name] for name in every_nth(list(cases), profile, operation, step)}

    return cases_of


def part_by_schema(values: Sequence[T], profile: Profile, operation: Operation) -> Sequence[T]:
    """The operation's part of what the interface's schema of its body gives: operations with one schema share it."""
    if profile.limits.depth == "deep":
        return values
    sharing = [other for other in load_contract().all if other.request_schema == operation.request_schema]
    return values[sharing.index(operation) :: len(sharing)] or values


def every_nth(values: Sequence[T], profile: Profile, operation: Operation, step: int = 2) -> Sequence[T]:
    """Every second value, or every `step`-th, from a place on that follows the operation's place in the contract."""
    if profile.limits.depth == "deep":
        return values
    return values[load_contract().all.index(operation) % step :: step]
