"""Facts about how the target behaves: transitions, other bodies, the order of a search, the switch of the limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, Final

from conformance.checks.support.bursts import LIMITED_STATUSES, exceeds, refused_otherwise, send_burst
from conformance.checks.support.case import Case
from conformance.checks.support.context import Runtime
from conformance.checks.support.equal_calls import may_be_replay
from conformance.checks.support.search_pages import cursor_of, item_ids, send_cursor
from conformance.checks.support.sign_watch import pauses
from conformance.checks.support.signals import OBSTACLES, Signal
from conformance.checks.support.transitions import distinguishing_operation, into_conflict
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.client.send_errors import LimitPersists
from conformance.contract import Operation
from conformance.core.errors import FixtureError
from conformance.profile.behavior import Transition
from conformance.profile.resources import HttpCall
from conformance.setup.doctor.facts import Fact, proven, unsure, wrong

_SEARCH: Final = "searchPublicProducts"
_IDENTITY: Final = "getApiKeyIdentity"
LIMIT_PURPOSES: Final = ("burst", "after the limit")
"""Of the requests that are sent while a limit was set to be met."""
_EQUAL: Final = "an equal call was answered 200 before, and without keys this one may be its repetition"
_OTHER_BODY: Final = "with {unique} in its body, or another one in bodies, it is another call"
_LONGEST_RECOVERY_S: Final = 3.0


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
    if answer.ok if transition.leads_to else answer.status == transition.status:
        members = case.fixture_of(request, transition.fixture.partition(".")[0])
        return await _state_fact(runtime, transition, members) if transition.leads_to else None
    place = f"on {transition.fixture}" + "".join(f" after {name}" for name in transition.after)
    expected = f"200, since it leads to {transition.leads_to}" if transition.leads_to else str(transition.status)
    if may_be_replay(case, answer):
        return _equal_call(case, transition, f"{transition.operation} {place}")
    message = f"{transition.operation} {place} is answered {answer.summary} instead of {expected}"
    is_other_refusal = answer.is_refused and not transition.leads_to
    advice = f"status = {answer.status}" if is_other_refusal else "correct or remove the transition"
    return wrong(_transition_key(transition), message, advice)


def _equal_call(case: Case, transition: Transition, description: str) -> Fact:
    """Unsure, since the call may have been taken for an earlier one. It advises another body where none is stated."""
    return unsure(_transition_key(transition), f"{description}: {_EQUAL}", "" if case.facts.bodies else _OTHER_BODY)


async def _state_fact(runtime: Runtime, transition: Transition, members: Members) -> Fact | None:
    """What is wrong with the state that a transition leads to, by an operation that tells the two states apart."""
    name = distinguishing_operation(runtime.settings.profile, transition)
    fixture = runtime.fixtures.find(*transition.leads_to.split(".", 1))
    if not name or fixture is None:
        return None
    case, kind = Case(runtime, runtime.settings.contract.operations[name]), fixture.kind

    async def call(kind_members: Members) -> Answer:
        request = await case.arrange(preset={kind: kind_members}, prove_control=False)
        return await case.send(request, f"{name} afterwards")

    later_answer, known_answer = await call(members), await call(await runtime.fixtures.get_fresh(fixture, {}))
    if later_answer.ok == known_answer.ok:
        return None
    if may_be_replay(case, later_answer):
        return _equal_call(case, transition, f"{name} after {transition.operation}")
    message = (
        f"after {transition.operation} on {transition.fixture}, {name} is answered {later_answer.summary}, "
        f"and {known_answer.summary} on {transition.leads_to}"
    )
    return wrong(_transition_key(transition), message, "correct leads_to")


async def body_facts(runtime: Runtime, names: Collection[str]) -> list[Fact]:
    """Whether each further body of these operations is answered 200, and each that conflicts 409."""
    operations = [runtime.settings.contract.operations[name] for name in names]
    found: list[Fact] = []
    for kind, status in (("bodies", 200), ("conflicts", 409)):
        trials = [
            _attempt(key, _body_fact(runtime, operation, key, body, status))
            for operation in operations
            for index, body in enumerate(getattr(runtime.arranger.facts(operation), kind))
            for key in (f"operations.{operation.id}.{kind}[{index}]",)
        ]
        facts = [fact for fact in await asyncio.gather(*trials) if fact is not None]
        found += _summary(f"operations.{kind}", facts, len(trials), f"answered {status}")
    return found


async def _body_fact(runtime: Runtime, operation: Operation, key: str, body: Any, status: int) -> Fact | None:
    case = Case(runtime, operation)
    answer = await case.send(await case.arrange(body=body), "another body")
    if answer.status == status:
        return None
    return wrong(key, f"is answered {answer.summary} instead of {status}", "correct or remove the body")


async def order_facts(runtime: Runtime, names: Collection[str]) -> list[Fact]:
    """Whether equal searches have one order, and a cursor leads to a page, where the profile states so."""
    search, facts = runtime.settings.profile.search, []
    if search.stable_sort and _SEARCH in names:
        facts.append(await _attempt("search.stable_sort", _order_fact(runtime)))
    if search.cursor and _SEARCH in names:
        facts.append(await _attempt("search.cursor", _cursor_fact(runtime)))
    return [fact for fact in facts if fact is not None]


async def _order_fact(runtime: Runtime) -> Fact:
    case = Case(runtime, runtime.settings.contract.operations[_SEARCH])
    request: Request = await case.arrange()
    answers = [await case.control(request, "a search, twice") for _ in range(2)]
    if not _have_equal_items(case, *answers):
        return wrong("search.stable_sort", "the same query found other items, or in another order", "remove it")
    return proven("search.stable_sort", "the same query found the same items in the same order")


def _have_equal_items(case: Case, first: Answer, second: Answer) -> bool:
    """By their ids where the profile states where they stand: other members of an item may change with each answer."""
    if case.profile.search.item_id is None:
        return bool(first.data == second.data)
    return item_ids(case, first) == item_ids(case, second)


async def _cursor_fact(runtime: Runtime) -> Fact:
    """Whether the stated query has a cursor that is answered 200."""
    case = Case(runtime, runtime.settings.contract.operations[_SEARCH])
    search, request = case.profile.search, await case.arrange()
    answer = await case.control(request, "a search with a next page")
    cursor = cursor_of(case, answer)
    if not cursor:
        hint = "correct the pointer, or state a query with several pages"
        return wrong("search.cursor", f"the answer to search.query has no cursor at {search.cursor}", hint)
    page = await send_cursor(case, request, cursor, "its cursor")
    if not page.ok:
        message = f"{search.cursor_parameter} with the cursor of an answer is answered {page.summary}"
        return wrong("search.cursor_parameter", message, "correct the name: it stands in place of page, or beside it")
    return proven("search.cursor", f"{search.cursor_parameter} with the cursor of an answer is answered 200")


async def limit_switch_facts(runtime: Runtime) -> list[Fact]:
    """Whether the calls that set and reset the limit are answered, and do so. Nothing else is sent meanwhile."""
    limit = runtime.settings.profile.rate_limit
    if not limit.provoke or runtime.settings.profile.limits.read_only:
        return []
    case = Case(runtime, runtime.settings.contract.operations[_IDENTITY])
    facts = []
    try:
        if limit.prepare is not None:
            facts.append(await _switch_fact(case, "rate_limit.prepare", limit.prepare, _burst_fact))
    finally:
        if limit.restore is not None:
            facts.append(await _switch_fact(case, "rate_limit.restore", limit.restore, _recovery_fact))
    return facts


async def _switch_fact(case: Case, key: str, call: HttpCall, observe: Callable[[Case, str], Awaitable[Fact]]) -> Fact:
    try:
        await case.runtime.fixtures.http(call, {}, key)
    except FixtureError as error:
        return wrong(key, error.message, "correct the call")
    try:
        return await observe(case, key)
    except (Signal, *OBSTACLES, LimitPersists) as error:
        return unsure(key, f"the call is answered; {error}")


async def _limited_request(case: Case) -> Request:
    """A request with the credential that is limited."""
    name = case.profile.rate_limit.credential
    request = await case.arrange(prove_control=False)
    return case.as_credential(request, name) if name else request


async def _burst_fact(case: Case, key: str) -> Fact:
    """What a burst shows of the limit that was set."""
    facts = case.profile.rate_limit
    burst = await send_burst(case, await _limited_request(case))
    if burst.limited_answer is not None:
        return proven(key, f"the call is answered, and {burst.measure} until a 429")
    if exceeds(facts, burst):
        message = f"the call is answered, and a limit of {facts.limit} in {facts.window_s:g} s is not in force"
        return wrong(key, f"{message}: {burst.measure}", "does the call set the stated limit for that credential?")
    if (other := refused_otherwise(burst)) is not None:
        return unsure(key, f"the call is answered; {other}", "a limited request is answered 429")
    return unsure(key, f"the call is answered; no 429 was met: {burst.measure}", "raise rate_limit.max_requests")


async def _recovery_fact(case: Case, key: str) -> Fact:
    """Whether requests are accepted after the limit was reset, and after the stated recovery at the latest."""
    facts = case.profile.rate_limit
    request, began = await _limited_request(case), time.monotonic()
    longest_s = min(_LONGEST_RECOVERY_S, facts.recovery_s if facts.recovery_s is not None else _LONGEST_RECOVERY_S)
    for pause_s in (0.0, *pauses(longest_s)):
        await asyncio.sleep(pause_s)
        if (await case.send(request, LIMIT_PURPOSES[1], accept_statuses=LIMITED_STATUSES)).ok:
            return proven(key, "the call is answered, and requests are accepted")
    elapsed_s = time.monotonic() - began
    return wrong(
        key, f"the call is answered, and requests are limited {elapsed_s:.1f} s later", "does it reset the limit?"
    )


async def _attempt(key: str, trial: Coroutine[Any, Any, Fact | None]) -> Fact | None:
    """The result of a trial; where it cannot be made, that is a fact as well."""
    try:
        return await trial
    except (Signal, *OBSTACLES) as error:
        return unsure(key, str(error))


def _summary(key: str, facts: list[Fact], number: int, result: str) -> list[Fact]:
    """The facts that are not proven, or one that all are."""
    return facts or ([proven(key, f"{number} of {number} {result}")] if number else [])
