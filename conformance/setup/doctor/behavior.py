"""Facts about how the target behaves: transitions, other bodies, the order of a search, the switch of the limit."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.context import Runtime
from conformance.checks.support.signals import Signal
from conformance.checks.support.transitions import into_conflict
from conformance.client.fixtures import NotSent
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.contract import Operation
from conformance.core.errors import FixtureError
from conformance.profile.behavior import Transition
from conformance.profile.resources import HttpCall
from conformance.setup.doctor.facts import Fact, proven, unsure, wrong

_CONFLICT_STATUSES: Final = (404, 409)
_SEARCH: Final = "searchPublicProducts"


async def transition_facts(runtime: Runtime, names: Collection[str], *, spend: bool) -> list[Fact]:
    """Whether each stated transition is answered as stated; only the wrong ones are listed one by one.

    `names`: the operations with a proven control. `spend`: listed fixtures may be used up.
    """
    stated = [t for t in runtime.settings.profile.transitions if {t.operation, *t.after} <= {*names}]
    stated = [t for t in stated if spend or not _is_used_up(runtime, t)]
    facts = await asyncio.gather(*(_attempt(_transition_key(t), _transition_fact(runtime, t)) for t in stated))
    return _summary("transitions", [fact for fact in facts if fact is not None], len(stated), "answered as stated")


def _is_used_up(runtime: Runtime, transition: Transition) -> bool:
    kind, _, state = transition.fixture.partition(".")
    fixture = runtime.fixtures.find(kind, state)
    return fixture is not None and bool(fixture.values) and not fixture.reusable


def _transition_key(transition: Transition) -> str:
    return f"transitions.{transition.operation}"


async def _transition_fact(runtime: Runtime, transition: Transition) -> Fact | None:
    case = Case(runtime, runtime.settings.contract.operations[transition.operation])
    request = await into_conflict(case, transition)
    answer = await case.send(request, f"in the state {transition.fixture}")
    as_stated = answer.ok if transition.leads_to else answer.status in _CONFLICT_STATUSES
    if as_stated:
        return None
    place = f"on {transition.fixture}" + "".join(f", after {name}," for name in transition.after)
    expected = f"200, since it leads to {transition.leads_to}" if transition.leads_to else "409"
    message = f"{transition.operation} {place} is answered {answer.summary} instead of {expected}"
    return wrong(_transition_key(transition), message, "correct or remove the transition")


async def body_facts(runtime: Runtime, names: Collection[str]) -> list[Fact]:
    """Whether each further body of these operations is answered 200."""
    operations = [runtime.settings.contract.operations[name] for name in names]
    further_bodies = [
        (operation, index, body)
        for operation in operations
        for index, body in enumerate(runtime.arranger.facts(operation).bodies)
    ]
    keys = [f"operations.{operation.id}.bodies[{index}]" for operation, index, _ in further_bodies]
    trials = [
        _attempt(key, _body_fact(runtime, operation, key, body))
        for key, (operation, _, body) in zip(keys, further_bodies, strict=True)
    ]
    facts = [fact for fact in await asyncio.gather(*trials) if fact is not None]
    return _summary("operations.bodies", facts, len(further_bodies), "answered 200")


async def _body_fact(runtime: Runtime, operation: Operation, key: str, body: Any) -> Fact | None:
    case = Case(runtime, operation)
    answer = await case.send(await case.arrange(body=body), "another body")
    if answer.ok:
        return None
    return wrong(key, f"is answered {answer.summary} instead of 200", "correct or remove the body")


async def order_facts(runtime: Runtime, names: Collection[str]) -> list[Fact]:
    """Whether two equal searches have their items in one order, where the profile states that they do."""
    if not runtime.settings.profile.search.stable_sort or _SEARCH not in names:
        return []
    fact = await _attempt("search.stable_sort", _order_fact(runtime))
    return [fact] if fact is not None else []


async def _order_fact(runtime: Runtime) -> Fact:
    case = Case(runtime, runtime.settings.contract.operations[_SEARCH])
    request: Request = await case.arrange()
    answers = [await case.control(request, "a search, twice") for _ in range(2)]
    if answers[0].data != answers[1].data:
        return wrong("search.stable_sort", "the same query found other items, or in another order", "remove it")
    return proven("search.stable_sort", "the same query found the same items in the same order")


async def limit_switch_facts(runtime: Runtime) -> list[Fact]:
    """Whether the calls that set and reset the limit are answered. Nothing else is sent meanwhile."""
    limit = runtime.settings.profile.rate_limit
    if not limit.provoke or runtime.settings.profile.limits.read_only:
        return []
    facts = []
    for name, call in (("prepare", limit.prepare), ("restore", limit.restore)):
        if call is not None:
            facts.append(await _switch_fact(runtime, f"rate_limit.{name}", call))
    return facts


async def _switch_fact(runtime: Runtime, key: str, call: HttpCall) -> Fact:
    try:
        await runtime.fixtures.http(call, {}, key)
    except FixtureError as error:
        return wrong(key, error.message, "correct the call")
    return proven(key, "the call is answered")


async def _attempt(key: str, trial: Coroutine[Any, Any, Fact | None]) -> Fact | None:
    """The result of a trial; where it cannot be made, that is a fact as well."""
    try:
        return await trial
    except (Signal, MissingFact, NotSent, FixtureError) as error:
        return unsure(key, str(error))


def _summary(key: str, facts: list[Fact], number: int, result: str) -> list[Fact]:
    """The facts that are not proven, or one that all are."""
    return facts or ([proven(key, f"{number} of {number} {result}")] if number else [])
