"""The facts that `doctor` reports: each is proven, wrong, unsure or a note, with advice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from conformance.client.response import Answer
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
    message: str
    advice: str = ""
    is_open: bool = False
    """Whether something beside the profile kept the fact from being proven: a limit, a gateway, an early end."""

    @property
    def line(self) -> str:
        """One line, without control characters: it may quote the target."""
        suffix = f" → {one_line(self.advice, 400)}" if self.advice else ""
        return clean(f"{_SIGNS[self.state]} {self.name:44} {one_line(self.message, 500)}{suffix}")


def proven(name: str, message: str) -> Fact:
    return Fact(name, State.PROVEN, message)


def wrong(name: str, message: str, advice: str) -> Fact:
    return Fact(name, State.WRONG, message, advice)


def unsure(name: str, message: str, advice: str = "") -> Fact:
    return Fact(name, State.UNSURE, message, advice)


def open_question(name: str, message: str, advice: str) -> Fact:
    """An unsure fact that another try may prove."""
    return Fact(name, State.UNSURE, message, advice, is_open=True)


def obstacle(name: str, call: str, answer: Answer) -> Fact | None:
    """The fact for an answer of a limit or a gateway, which says nothing of the profile; None for other answers."""
    if answer.status == 429:
        return open_question(
            name, f"{call} is limited: {answer.summary}", "try again later, or state a lower limits.rate"
        )
    if answer.gateway_trouble:
        return open_question(name, f"{call} meets gateway trouble: {answer.summary}", "try again")
    return None


def note(name: str, message: str, advice: str = "") -> Fact:
    return Fact(name, State.NOTE, message, advice)


def sort_facts(facts: Iterable[Fact]) -> list[Fact]:
    """The wrong facts first; facts of one state in the order of their dependencies."""
    return sorted(facts, key=lambda fact: (_STATES.index(fact.state), _dependency_rank(fact.name)))


def _dependency_rank(name: str) -> int:
    """The place of a profile table in the order of dependencies: a write needs an idempotency key, any call a key."""
    table = name.partition(".")[0]
    return _ORDER.index(table) if table in _ORDER else len(_ORDER)


def summary_line(facts: Iterable[Fact]) -> str:
    counts = {state: sum(fact.state is state for fact in facts) for state in State}
    if counts[State.WRONG]:
        counted = f"{counts[State.WRONG]} wrong, {counts[State.PROVEN]} proven"
        return f"{counted}: begin with the first line, then run doctor again"
    unsure_part = f", {counts[State.UNSURE]} unsure" if counts[State.UNSURE] else ""
    return f"{counts[State.PROVEN]} facts proven{unsure_part}, nothing wrong"


def exit_code(facts: Iterable[Fact]) -> int:
    """2 where a fact is wrong, 3 where one is open, otherwise 0."""
    known = list(facts)
    if any(fact.state is State.WRONG for fact in known):
        return 2
    return 3 if any(fact.is_open for fact in known) else 0


def format_facts(facts: Iterable[Fact]) -> Iterator[str]:
    sorted_facts = sort_facts(facts)
    yield from (fact.line for fact in sorted_facts)
    yield ""
    yield summary_line(sorted_facts)
