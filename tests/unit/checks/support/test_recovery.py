"""Limited operations are polled together where that finds recovered ones, and one by one where it does not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from conformance.checks.support import recovery
from conformance.checks.support.recovery import Wait, settle


@dataclass
class Limits:
    """Operations with a limit each, on a clock that only sleeping moves."""

    ends: dict[str, float]
    refusals_extend: bool = False
    """A refused poll postpones the end of every limit by 0.3 s."""
    clock_s: float = 0.0
    answered: set[str] = field(default_factory=set)
    polls: list[tuple[float, str]] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.clock_s += seconds

    async def poll(self, name: str) -> None:
        self.polls.append((self.clock_s, name))
        if self.ends[name] <= self.clock_s:
            self.answered.add(name)
        elif self.refusals_extend:
            self.ends = {other: max(end, self.clock_s + 0.3) for other, end in self.ends.items()}

    def settle(self, monkeypatch: pytest.MonkeyPatch, wait: Wait) -> None:
        """Only this module's pauses: a server on another thread of this process sleeps as long as it says."""
        monkeypatch.setattr(recovery, "asyncio", SimpleNamespace(gather=asyncio.gather, sleep=self.sleep))
        asyncio.run(settle(list(self.ends), self.poll, lambda name: name not in self.answered, wait))


def test_limits_that_end_together_are_seen_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is polled alone and has recovered speaks for the others: none waits for its turn."""
    limits = Limits({f"operation{number}": 0.35 for number in range(20)})
    limits.settle(monkeypatch, Wait(2.0, 2.0))
    assert limits.answered == set(limits.ends)
    assert limits.clock_s < 0.5


def test_polling_does_not_keep_limits_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where refused polls count as well, each operation recovers within its wait."""
    limits = Limits(dict.fromkeys("abc", 0.3), refusals_extend=True)
    limits.settle(monkeypatch, Wait(1.0, 2.0))
    assert limits.answered == set(limits.ends)


def test_without_a_bound_silences_grow_up_to_the_longest_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window of 30 s that nobody stated is waited out within the patience, and one that never ends only once."""
    limits = Limits(dict.fromkeys("abc", 30.0))
    limits.settle(monkeypatch, recovery.wait_for(None, 60.2))
    assert limits.answered == set(limits.ends)
    endless = Limits(dict.fromkeys("abc", 1e9))
    endless.settle(monkeypatch, recovery.wait_for(None, 60.2))
    assert endless.clock_s < 66


def test_of_limits_that_never_end_one_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others have waited as long by then, and are polled three times more."""
    limits = Limits(dict.fromkeys("abcd", 1e9))
    limits.settle(monkeypatch, Wait(1.0, 10.0))
    assert limits.answered == set()
    assert 10.0 < limits.clock_s < 13.0
    assert sum(name == "d" and at > 10.0 for at, name in limits.polls) == 3
