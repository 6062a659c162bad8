"""What a hostile mode is, and the table of all of them: adding one is one decorated function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tests.hostile.wire import Answered, Arrived, Talk

Play = Callable[[Talk], Awaitable[None]]
"""What happens on one connection."""
Act = Callable[[Talk, Arrived, Answered], Awaitable[None]]
"""How one request is answered, given what a well-behaved service would say. Returning goes on with the connection."""

CONFORMANT, NONCONFORMANT, INCOMPLETE, UNREACHABLE = 0, 1, 3, 4
OPEN: Final = frozenset({NONCONFORMANT, INCOMPLETE})
"""Nothing that can be held against the target for sure, and nothing that could be certified."""
BROKEN: Final = frozenset({NONCONFORMANT})
SOME: Final = "check_authentication or check_bodies or check_answers or check_idempotency"
_PROVEN: Final = 2
_EVERY: Final = 3


@dataclass(frozen=True)
class Mode:
    """One way to be hostile. `ends` are the exit codes that are right for it."""

    name: str
    play: Play
    ends: frozenset[int]
    harmless: bool = False
    """The interface allows it: nothing may fail because of it."""
    only: str = ""
    """A selection of checks (-k); empty: all of them."""


MODES: Final[dict[str, Mode]] = {}


def _add(mode: Mode) -> None:
    assert mode.name not in MODES, mode.name
    MODES[mode.name] = mode


def connection(name: str, ends: Iterable[int]) -> Callable[[Play], Play]:
    """A mode that decides about whole connections."""

    def register(play: Play) -> Play:
        _add(Mode(name, play, frozenset(ends)))
        return play

    return register


def answer(
    name: str,
    *,
    always: Iterable[int] = (),
    sometimes: Iterable[int] = (),
    harmless: bool = False,
    whole: bool = False,
) -> Callable[[Act], Act]:
    """A way to answer. `always`: each request, with no service behind it. `sometimes`: the reference answers, and
    of each operation every third answer is this one, so that the controls are proven. `harmless`: each answer of the
    reference goes out in this way, and nothing may fail. `whole`: with all checks, not just some hundreds."""
    only = "" if whole else SOME

    def register(act: Act) -> Act:
        if always:
            _add(Mode(f"{name}, always", _always(act), frozenset(always), only=only))
        if sometimes:
            _add(Mode(f"{name}, now and then", _sometimes(act), frozenset(sometimes), only=only))
        if harmless:
            _add(Mode(name, _behind(act), frozenset({INCOMPLETE}), harmless=True, only=only))
        return act

    return register


def _always(act: Act) -> Play:
    async def play(talk: Talk) -> None:
        while (arrived := await talk.request()) is not None:
            await act(talk, arrived, Answered())
            talk.answers += 1

    return play


def _behind(act: Act) -> Play:
    async def play(talk: Talk) -> None:
        while (arrived := await talk.request()) is not None:
            await act(talk, arrived, await talk.reference(arrived))
            talk.answers += 1

    return play


def _sometimes(act: Act) -> Play:
    async def play(talk: Talk) -> None:
        counts = talk.shared.counts
        while (arrived := await talk.request()) is not None:
            answered = await talk.reference(arrived)
            counts[arrived.shape] += 1
            if counts[arrived.shape] > _PROVEN and counts[arrived.shape] % _EVERY == 0:
                counts["hostile"] += 1
                await act(talk, arrived, answered)
            else:
                await talk.write(answered.raw)
            talk.answers += 1

    return play
