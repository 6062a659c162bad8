"""What `doctor` finds out: facts, each proven, wrong, or not to be told, with what to do about it."""

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
    """`name` is a profile key where there is one; `do` says what to do about it."""

    name: str
    state: State
    told: str
    do: str = ""

    @property
    def line(self) -> str:
        """One line, safe to print: what the target wrote is in it."""
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
    """What is wrong first, and each kind in the order in which things rest on each other."""
    return sorted(facts, key=lambda fact: (_STATES.index(fact.state), _rank(fact.name)))


def _rank(name: str) -> int:
    """No call is answered without a key that is accepted, no write without an idempotency key, and so on."""
    table = name.partition(".")[0]
    return _ORDER.index(table) if table in _ORDER else len(_ORDER)


def last_line(facts: Iterable[Fact]) -> str:
    counts = {state: sum(fact.state is state for fact in facts) for state in State}
    if counts[State.WRONG]:
        return f"{counts[State.WRONG]} wrong, {counts[State.PROVEN]} proven: mend the first line, and ask again"
    rest = f", {counts[State.UNSURE]} not to be told" if counts[State.UNSURE] else ""
    return f"{counts[State.PROVEN]} facts proven{rest}, nothing wrong"


def lines(facts: Iterable[Fact]) -> Iterator[str]:
    some = ordered(facts)
    yield from (fact.line for fact in some)
    yield ""
    yield last_line(some)
