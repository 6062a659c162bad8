"""Random walks over carts, orders, endpoints and sessions (CONF-1, HO-4, IDEM-1): sequences that nobody thought of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from conformance.checks.case import Case
from conformance.checks.explore import Exploration, bounded, conclude, in_thread, seed_of
from conformance.checks.registry import check
from conformance.checks.signals import Inconclusive
from conformance.checks.states import States
from conformance.checks.walk import STEPS, Ground, Walker, ground_of, home_of, machine

Turn = Callable[[Walker], Awaitable[None]]


async def _walk(case: Case, examples: int, ground: Ground, finish: Turn, start: Turn | None = None) -> None:
    states = States(case.profile.transitions)
    await case.runtime.controls.proven(case.operation)
    found = Exploration(asyncio.get_running_loop(), examples)

    def search() -> None:
        from hypothesis import seed
        from hypothesis.stateful import run_state_machine_as_test

        walk = machine(found, lambda: Walker(case, ground, states), ground, finish, start)
        run_state_machine_as_test(seed(seed_of(case))(walk), settings=bounded(examples, stateful_step_count=STEPS))

    await in_thread(found, search)
    if found.violations == 1:
        raise Inconclusive("a walk went wrong once, and not again when it was repeated", *case.answers[-2:])
    await conclude(case, found)


async def _once_more(walker: Walker) -> None:
    await walker.write(walker.case.operation.id)


async def _all_again(walker: Walker) -> None:
    for index, (name, _) in enumerate(walker.calls):
        if name == walker.case.operation.id:
            await walker.replay(index)


@check("CONF-1", on="api-key idempotent path")
async def what_left_no_trace_changes_no_state(case: Case) -> None:
    """However a resource came to where it is, what the profile tells of that state holds; refused calls left none."""
    await _walk(case, case.examples // 2, ground_of(case), _once_more)


@check("HO-4")
async def what_left_no_trace_changes_no_session(case: Case) -> None:
    """As for carts and orders, on hosted sessions."""
    await _walk(case, case.examples // 2, ground_of(case), _once_more)


@check("IDEM-1", on="idempotent path")
async def a_replay_outlives_what_came_after(case: Case) -> None:
    """Whatever else was done to a resource since, the same call is answered the same."""
    ground = ground_of(case)
    home = replace(ground, states=(home_of(case, ground),))
    await _walk(case, case.examples // 4, home, _all_again, start=_once_more)
