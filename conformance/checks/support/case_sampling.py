"""Cases that are tried on half of the operations: one implementation of JSON or of paths usually serves all of them.

Of two operations that are next to each other in the contract, each has the cases that the other lacks. A run in deep
depth has all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from conformance.contract import Operation, load_contract
from conformance.profile.model import Profile

T = TypeVar("T")


def alternate_cases(cases: Mapping[str, Any]) -> Callable[[Profile, Operation], Mapping[str, Any]]:
    """The `cases` of a check, of which each operation has every second."""

    def cases_of(profile: Profile, operation: Operation) -> Mapping[str, Any]:
        return {name: cases[name] for name in every_second(list(cases), profile, operation)}

    return cases_of


def part_by_schema(values: Sequence[T], profile: Profile, operation: Operation) -> Sequence[T]:
    """The operation's part of what the interface's schema of its body gives: operations with one schema share it."""
    if profile.limits.depth == "deep":
        return values
    sharing = [other for other in load_contract().all if other.request_schema == operation.request_schema]
    return values[sharing.index(operation) :: len(sharing)] or values


def every_second(values: Sequence[T], profile: Profile, operation: Operation) -> Sequence[T]:
    """Every second value, from the first or from the second one, by the operation's place in the contract."""
    if profile.limits.depth == "deep":
        return values
    return values[load_contract().all.index(operation) % 2 :: 2]
