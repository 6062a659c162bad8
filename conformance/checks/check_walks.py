"""Random walks over carts, orders, endpoints and sessions (CONF-1, HO-4, IDEM-1): unforeseen sequences."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from conformance.checks.support.case import Case
from conformance.checks.support.properties import (
    BATCH,
    Exploration,
    batches,
    draw,
    hypothesis_settings,
    run_in_thread,
    send_batch,
)
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.state_walk import (
    REPLAY,
    STATE,
    STEPS,
    Action,
    WalkModel,
    Walks,
    WalkViolation,
    machine,
    model_of,
)
from conformance.checks.support.stored_values import SEEDS
from conformance.checks.support.transitions import States
from conformance.checks.support.value_pools import Pool
from conformance.core.gc_tuning import collect_cycles

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine


_POOLS: Final = 4
_FEWEST: Final = 2
"""Walks: a single one does not call every operation."""


@dataclass(frozen=True)
class WalkResult:
    """The results of the walks over one kind of resource, for all operations and both questions."""

    exploration: Exploration
    walks: Walks


async def _walk(case: Case, model: WalkModel) -> WalkResult:
    """Generates each batch of walks before its first walk runs, so that several can run concurrently."""
    exploration = Exploration(asyncio.get_running_loop(), max(_FEWEST, case.examples // 2))
    walks = Walks(case, model, States(case.profile.transitions))
    seed = case.runtime.settings.seed
    start_seed = zlib.crc32(f"{seed}:{model.kind}".encode())
    for offset, number in batches(exploration.max_examples):
        generated: Sequence[tuple[Action, ...]]
        if exploration.max_examples <= BATCH:
            pool = _pool(model, seed, number)
            generated, search = await _load(pool, seed), (model, pool.start_seed(seed), number)
        else:
            search = model, start_seed + offset, number
            generated = await draw(partial(_draw_walks, *search))
        await send_batch(exploration, list(generated), walks, repr)
        if exploration.smallest is not None:
            await _repeat(exploration, walks, generated)
            await run_in_thread(exploration, partial(_search, *search, partial(_rewalk, exploration, walks)))
            break
        exploration.outcomes.clear()
    return WalkResult(exploration, walks)


async def _repeat(exploration: Exploration, walks: Walks, generated: Sequence[tuple[Action, ...]]) -> None:
    """Repeats the walks with a violation until one has a violation again, however long that takes.

    Only the search for shorter walks has a time limit.
    """
    exploration.violations = 1  # also after several concurrent ones: from here only reproduced violations count
    for actions in generated:
        if exploration.outcomes.get(hash(repr(actions))) is None:
            continue
        exploration.sent_count += 1
        try:
            await walks(actions)
        except WalkViolation as violation:
            exploration.keep(repr(actions), violation)
            break
    exploration.shrink_from_now()


def _draw_walks(model: WalkModel, start_seed: int, max_walks: int) -> tuple[tuple[Action, ...], ...]:
    walks: list[tuple[Action, ...]] = []
    _search(model, start_seed, max_walks, walks.append)
    if max_walks == BATCH:
        collect_cycles()
    return tuple(walks[:max_walks])


def _pool(model: WalkModel, seed: int, number: int) -> Pool:
    """So that runs differ more than pools of values do, there are some for each of their seeds."""
    return Pool(tuple[tuple[str, tuple[Any, ...]], ...], machine, (model, seed // SEEDS % _POOLS), number)


async def _load(pool: Pool, seed: int) -> tuple[tuple[Action, ...], ...]:
    """The walks of a pool: stored ones, or generated in a thread."""
    model = pool.arguments[0]

    def draw_walks(_: object, start_seed: int, number: int) -> list[tuple[Action, ...]]:
        return list(_draw_walks(model, start_seed, number))

    values = pool.load(seed)
    return await draw(partial(pool.load_or_draw, seed, draw_walks)) if values is None else values


def _search(model: WalkModel, start_seed: int, max_walks: int, on_walk: Callable[[tuple[Action, ...]], None]) -> None:
    from hypothesis import seed
    from hypothesis.stateful import run_state_machine_as_test

    make = cast(
        "type[RuleBasedStateMachine]", seed(start_seed)(lambda: machine()(model, on_walk))
    )  # hypothesis accepts a function as well
    run_state_machine_as_test(make, settings=hypothesis_settings(max_walks, stateful_step_count=STEPS))


def _rewalk(exploration: Exploration, walks: Walks, actions: tuple[Action, ...]) -> None:
    """Walks with a violation, and shorter ones, as hypothesis asks for them. Raises WalkViolation."""
    text = repr(actions)
    had_passed = exploration.outcomes.get(hash(text), actions) is None
    if not had_passed and exploration.start_example():
        exploration.step(lambda: walks(actions), lambda: text)


async def _judge(case: Case, question: str) -> None:
    """Raises the violation that the walks found for the case's operation; one set of walks serves all checks."""
    model = model_of(case)
    await case.runtime.controls.prove(case.operation)
    memory, name = case.runtime.memory, f"walks:{model.kind}"
    if name not in memory:
        memory[name] = asyncio.ensure_future(_walk(case, model))
    result = await asyncio.shield(cast("asyncio.Task[WalkResult]", memory[name]))
    case.note(f"{result.exploration.sent_count} walks, from seed {case.runtime.settings.seed}")
    case.answers = result.walks.answers[case.operation.id]
    if not case.answers:
        raise Inconclusive("every walk ended before it reached this operation")
    if (question, case.operation.id) not in result.walks.violations:
        return
    text, violation = result.walks.violations[question, case.operation.id]
    if result.exploration.violations == 1:
        message = f"a walk violated a law once, and not when it was repeated: {violation.message}; the walk: {text}"
        raise Inconclusive(message, *violation.answers)
    message = f"{violation.message}; the shortest walk: {text}"
    failure = case.violation(message, *violation.answers, expected=violation.expected, observed=violation.observed)
    failure.identity, failure.kind = violation.identity, violation.kind
    failure.explanation = violation.explanation
    raise failure


@check("CONF-1", on="api-key idempotent path", chain=True)
async def what_left_no_trace_changes_no_state(case: Case) -> None:
    """The profile's transitions hold after any sequence of calls; refused calls change no state."""
    await _judge(case, STATE)


@check("HO-4", chain=True)
async def what_left_no_trace_changes_no_session(case: Case) -> None:
    """The same law as for carts and orders, on hosted sessions."""
    await _judge(case, STATE)


@check("IDEM-1", on="idempotent path", chain=True, rests_on=PLAIN_REPLAY)
async def a_replay_outlives_what_came_after(case: Case) -> None:
    """A call is replayed unchanged after any later calls on the resource."""
    await _judge(case, REPLAY)
