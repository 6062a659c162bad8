"""What a profile's transitions say of a resource's states: pure functions over what happened to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.profile.model import Transition

ALLOWED: Final = "allowed"
CONFLICT: Final = "conflict"
UNKNOWN: Final = ""


@dataclass(frozen=True)
class Place:
    """Where a resource is: the state of the fixture that it was, and what succeeded on it since."""

    fixture: str
    """`kind.state`"""
    after: tuple[str, ...] = ()

    def then(self, operation: str) -> Place:
        return Place(self.fixture, (*self.after, operation))


class States:
    """The automaton that the transitions describe, as far as they do."""

    def __init__(self, transitions: Iterable[Transition]) -> None:
        told = list(transitions)
        self._edges = {(t.operation, Place(t.fixture, t.after)): Place(t.leads_to) for t in told if t.leads_to}
        self._conflicts = {(t.operation, self.settled(Place(t.fixture, t.after))) for t in told if not t.leads_to}
        self._passable = {
            (t.after[index], self.settled(Place(t.fixture, t.after[:index])))
            for t in told
            for index in range(len(t.after))
        }

    def settled(self, place: Place) -> Place:
        """The same place by its shortest name: what is known to lead to a state is that state."""
        found = Place(place.fixture)
        for operation in place.after:
            found = self._edges.get((operation, found), found.then(operation))
        return found

    def expected(self, place: Place, operation: str) -> str:
        """ALLOWED, CONFLICT, or UNKNOWN where the profile does not tell."""
        here = self.settled(place)
        if (operation, here) in self._conflicts:
            return CONFLICT
        return ALLOWED if (operation, here) in self._edges or (operation, here) in self._passable else UNKNOWN

    def explains(self, fixture: str, calls: Sequence[tuple[str, bool]]) -> bool:
        """Whether calls that were made at once, (operation, answered 200), could have come one after the other.

        They could if there is an order in which none was answered 200 where the profile tells of a conflict.
        """
        return self._possible(Place(fixture), Counter(operation for operation, ok in calls if ok))

    def _possible(self, place: Place, left: Counter[str]) -> bool:
        return not left or any(
            self.expected(place, operation) != CONFLICT
            and self._possible(place.then(operation), left - Counter([operation]))
            for operation in left
        )
