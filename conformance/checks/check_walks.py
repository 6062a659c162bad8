"""Random walks over carts, orders, endpoints and sessions (CONF-1, HO-4, IDEM-1): sequences that nobody thought of."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, cast

from conformance.checks.support.case import Case
from conformance.checks.support.properties import BATCH, Exploration, batches, bounded, draw, in_thread, spread
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.state_walk import REPLAY, STATE, STEPS, Ground, Slip, Turn, Walks, ground_of, machine
from conformance.checks.support.transitions import States
from conformance.core.gc_tuning import forget_circles

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine


@dataclass(frozen=True)
class Walked:
    """What the walks over one kind of resource came upon, for all operations and both questions."""

    found: Exploration
    walks: Walks


async def _walk(case: Case, ground: Ground) -> Walked:
    """A batch of walks is drawn before the first is walked, so that a few can be under way at once."""
    found = Exploration(asyncio.get_running_loop(), case.examples - case.examples // 4)
    walks = Walks(case, ground, States(case.profile.transitions))
    seeded = zlib.crc32(f"{case.runtime.settings.seed}:{ground.kind}".encode())
    for begun, number in batches(found.most):
        search = ground, seeded + begun, number
        drawn = await draw(partial(_kept if number < BATCH else _drawn, *search))
        await spread(found, list(drawn), walks, repr)
        if found.smallest is not None:
            await _repeat(found, walks, drawn)
            await in_thread(found, partial(_search, *search, partial(_again, found, walks)))
            break
        found.known.clear()
    return Walked(found, walks)


async def _repeat(found: Exploration, walks: Walks, drawn: Sequence[tuple[Turn, ...]]) -> None:
    """Walks again what went wrong, until one walk does so a second time, however long that takes.

    Only shorter walks are looked for against a clock.
    """
    found.violations = 1  # of several at once, too: from here on only what goes wrong again counts
    for turns in drawn:
        if found.known.get(hash(repr(turns))) is None:
            continue
        found.sent += 1
        try:
            await walks(turns)
        except Slip as slip:
            found.keep(repr(turns), slip)
            break
    found.shrink_from_now()


def _drawn(ground: Ground, seeded: int, most: int) -> tuple[tuple[Turn, ...], ...]:
    told: list[tuple[Turn, ...]] = []
    _search(ground, seeded, most, told.append)
    if most == BATCH:
        forget_circles()
    return tuple(told[:most])


@lru_cache(maxsize=256)
def _kept(ground: Ground, seeded: int, most: int) -> tuple[tuple[Turn, ...], ...]:
    """Where many targets are judged with one seed, they have few grounds between them."""
    return _drawn(ground, seeded, most)


def _search(ground: Ground, seeded: int, most: int, done: Callable[[tuple[Turn, ...]], None]) -> None:
    from hypothesis import seed
    from hypothesis.stateful import run_state_machine_as_test

    make = cast("type[RuleBasedStateMachine]", seed(seeded)(lambda: machine()(ground, done)))  # a function serves, too
    run_state_machine_as_test(make, settings=bounded(most, stateful_step_count=STEPS))


def _again(found: Exploration, walks: Walks, turns: tuple[Turn, ...]) -> None:
    """Walks what went wrong, and shorter ones, as hypothesis asks for them. Raises Slip."""
    shown = repr(turns)
    went_well = found.known.get(hash(shown), turns) is None
    if not went_well and found.begun():
        found.step(lambda: walks(turns), lambda: shown)


async def _judge(case: Case, question: str) -> None:
    """Raises what the walks on the case's ground say of its operation; they are made once, for all that ask."""
    ground = ground_of(case)
    await case.runtime.controls.proven(case.operation)
    memory, name = case.runtime.memory, f"walks:{ground.kind}"
    if name not in memory:
        memory[name] = asyncio.ensure_future(_walk(case, ground))
    walked = await asyncio.shield(cast("asyncio.Task[Walked]", memory[name]))
    case.note(f"{walked.found.sent} walks, from seed {case.runtime.settings.seed}")
    case.answers = walked.walks.answers[case.operation.id]
    if not case.answers:
        raise Inconclusive("every walk was cut short before it came to this operation")
    if (question, case.operation.id) not in walked.walks.slips:
        return
    shown, slip = walked.walks.slips[question, case.operation.id]
    if walked.found.violations == 1:
        raise Inconclusive("a walk went wrong once, and not again when it was repeated", *slip.answers)
    raise case.violated(f"{slip.message}; the shortest walk: {shown}", *slip.answers, expected=slip.expected)


@check("CONF-1", on="api-key idempotent path", chain=True)
async def what_left_no_trace_changes_no_state(case: Case) -> None:
    """However a resource came to where it is, what the profile tells of that state holds; refused calls left none."""
    await _judge(case, STATE)


@check("HO-4", chain=True)
async def what_left_no_trace_changes_no_session(case: Case) -> None:
    """As for carts and orders, on hosted sessions."""
    await _judge(case, STATE)


@check("IDEM-1", on="idempotent path", chain=True)
async def a_replay_outlives_what_came_after(case: Case) -> None:
    """Whatever else was done to a resource since, the same call is answered the same."""
    await _judge(case, REPLAY)
