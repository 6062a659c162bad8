"""What a law says of calls, and what a law is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from conformance.core.law_facts import LawFacts, OperationRule
from conformance.core.outcomes import Level
from conformance.judge.laws.traffic import Call, Traffic


class Judgement(msgspec.Struct, frozen=True):
    """A law on some calls, of which the last is the decisive one. `message` is empty where they keep it."""

    calls: tuple[Call, ...]
    message: str = ""
    expected: str = ""
    observed: str = ""

    @property
    def operation(self) -> str:
        return self.calls[-1].operation


Judgements = Iterator[Judgement]


class Law(msgspec.Struct, frozen=True):
    """One requirement, as far as traffic decides it."""

    requirement: str
    judge: Callable[[Traffic], Judgements]
    applies: Callable[[OperationRule], bool]
    """Whether it concerns an operation."""
    send: str
    """What traffic would decide it."""
    level: Level = Level.REQUIRED
    needs: Callable[[LawFacts], str] = lambda _: ""
    """The key of the profile that is missing; empty where all facts are stated."""
    violation_level: Level | None = None
    """The level of a violation, where it is another one: a recommendation that is not kept is a warning."""


def confirmation(*calls: Call) -> Judgement:
    return Judgement(calls)


def violation(message: str, *calls: Call, expected: str, observed: str = "") -> Judgement:
    return Judgement(calls, message, expected, observed or f"{calls[-1].status}")


def is_after(second: Call, first: Call) -> bool:
    """Whether a call began when another one had been answered."""
    return second.at >= first.end
