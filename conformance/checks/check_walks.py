"""Random walks over carts, orders, endpoints and sessions (CONF-1, HO-4, IDEM-1): sequences that nobody thought of."""

from __future__ import annotations

import asyncio
import zlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from conformance.checks.case import Case
from conformance.checks.explore import Exploration, bounded, in_thread
from conformance.checks.registry import check
from conformance.checks.signals import Inconclusive
from conformance.checks.states import States
from conformance.checks.walk import REPLAY, STATE, STEPS, Ground, Search, Slip, Walker, ground_of, machine
from conformance.client.answer import Answer

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine


@dataclass(frozen=True)
class Walked:
    """What the walks over one kind of resource came upon, for all operations and both questions."""

    found: Exploration
    answers: dict[str, list[Answer]]
    slips: dict[tuple[str, str], tuple[str, Slip]]
    """By question and operation: the shortest walk, and what went wrong on it."""


async def _walk(case: Case, ground: Ground) -> Walked:
    found = Exploration(asyncio.get_running_loop(), case.examples - case.examples // 4)
    walked = Walked(found, defaultdict(list), {})
    states = States(case.profile.transitions)

    def walker() -> Walker:
        return Walker(case, ground, states, walked.answers)

    def search() -> None:
        from hypothesis import seed
        from hypothesis.stateful import run_state_machine_as_test

        shared = Search(found, walker, ground, walked.slips)
        own = seed(zlib.crc32(f"{case.runtime.settings.seed}:{ground.kind}".encode()))
        make = cast("type[RuleBasedStateMachine]", own(lambda: machine()(shared)))  # a function serves as well
        run_state_machine_as_test(make, settings=bounded(found.most, stateful_step_count=STEPS))

    await in_thread(found, search)
    return walked


async def _judge(case: Case, question: str) -> None:
    """Raises what the walks on the case's ground say of its operation; they are made once, for all that ask."""
    ground = ground_of(case)
    await case.runtime.controls.proven(case.operation)
    memory, name = case.runtime.memory, f"walks:{ground.kind}"
    if name not in memory:
        memory[name] = asyncio.ensure_future(_walk(case, ground))
    walked = await asyncio.shield(cast("asyncio.Task[Walked]", memory[name]))
    case.note(f"{walked.found.sent} walks, from seed {case.runtime.settings.seed}")
    case.answers = walked.answers[case.operation.id]
    if not case.answers:
        raise Inconclusive("every walk was cut short before it came to this operation")
    if (question, case.operation.id) not in walked.slips:
        return
    shown, slip = walked.slips[question, case.operation.id]
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
