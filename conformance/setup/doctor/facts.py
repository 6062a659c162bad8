"""The facts that `doctor` reports: each is proven, wrong, unsure or a note, with advice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from conformance.reports.shaping.text import clean, one_line


class State(StrEnum):
    WRONG = "wrong"
    UNSURE = "unsure"
    PROVEN = "proven"
    NOTE = "note"


_SIGNS = {State.WRONG: "✕", State.UNSURE: "?", State.PROVEN: "✓", State.NOTE: "·"}


_STATES = (State.WRONG, State.UNSURE, State.PROVEN, State.NOTE)
_ORDER = ("profile", "base_url", "hosts", "tls", "clock", "authorization", "credentials", "idempotency", "fixtures")


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact; its name is a profile key where there is one."""

    name: str
    state: State
    told: str
    do: str = ""

    @property
    def line(self) -> str:
        """One line, without control characters: it may quote the target."""
        advice = f" → {one_line(self.do, 400)}" if self.do else ""
        return clean(f"{_SIGNS[self.state]} {self.name:44} {one_line(self.told, 500)}{advice}")


def proven(name: str, told: str) -> Fact:
    return Fact(name, State.PROVEN, told)


def wrong(name: str, told: str, do: str) -> Fact:
    return Fact(name, State.WRONG, told, do)


def unsure(name: str, told: str, do: str = "") -> Fact:
    return Fact(name, State.UNSURE, told, do)


def note(name: str, told: str, do: str = "") -> Fact:
    return Fact(name, State.NOTE, told, do)


def ordered(facts: Iterable[Fact]) -> list[Fact]:
    """The wrong facts first; facts of one state in the order of their dependencies."""
    return sorted(facts, key=lambda fact: (_STATES.index(fact.state), _rank(fact.name)))


def _rank(name: str) -> int:
    """The place of a profile table in the order of dependencies: a write needs an idempotency key, any call a key."""
    table = name.partition(".")[0]
    return _ORDER.index(table) if table in _ORDER else len(_ORDER)


def last_line(facts: Iterable[Fact]) -> str:
    counts = {state: sum(fact.state is state for fact in facts) for state in State}
    if counts[State.WRONG]:
        return (
            f"{counts[State.WRONG]} wrong, {counts[State.PROVEN]} proven: correct the first line, then run doctor again"
        )
    rest = f", {counts[State.UNSURE]} unsure" if counts[State.UNSURE] else ""
    return f"{counts[State.PROVEN]} facts proven{rest}, nothing wrong"


def lines(facts: Iterable[Fact]) -> Iterator[str]:
    some = ordered(facts)
    yield from (fact.line for fact in some)
    yield ""
    yield last_line(some)
