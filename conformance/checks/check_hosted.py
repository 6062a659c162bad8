"""Hosted checkout: tickets and sessions (HO-1 to HO-7)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from conformance.checks.support.case import Case
from conformance.checks.support.edge_answers import with_other_switches
from conformance.checks.support.equal_calls import another_call
from conformance.checks.support.forged_secrets import FORGED, MADE_UP, changes_label_only, is_signed
from conformance.checks.support.invalid_bodies import is_against_schema
from conformance.checks.support.lifetimes import LONGEST_WAIT_S, ROUNDING_S, age_at_end, need_time
from conformance.checks.support.public_access import (
    accepts_without_credential,
    needs_no_credential,
    needs_no_credential_with,
)
from conformance.checks.support.refused_effects import Defect, examine_failed_control
from conformance.checks.support.registry import check
from conformance.checks.support.session_tickets import CANCEL, CONSUME, ticket_in, with_ticket_of_another_session
from conformance.checks.support.sign_reader import fixtures_of
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.checks.support.transitions import (
    ALLOWED,
    LATER_S,
    Place,
    States,
    declared_transitions,
    expect_conflict,
    is_allowed_in_each_state,
    stated_otherwise,
)
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.model import REFUSAL_STATUSES
from conformance.core.outcomes import Level
from conformance.profile.behavior import Transition
from conformance.profile.model import Profile
from conformance.profile.render import placeholders
from conformance.profile.subschema import Root

_HOSTED = (CONSUME, CANCEL)
_UNKNOWN_COOKIE: Final = "conformance-probe=of-another-service"
"""One with a usual name may be taken for a session of the target, which it may refuse."""


@check("HO-1", on=_HOSTED)
async def a_hosted_operation_needs_no_credential(case: Case) -> None:
    """A browser without an API key may consume a ticket and cancel."""
    await needs_no_credential(case)


@check("HO-1", on=_HOSTED)
async def a_hosted_operation_needs_no_credential_with_a_query_parameter(case: Case) -> None:
    """A query parameter, as a link may have one, does not make a hosted operation demand a key."""
    await needs_no_credential_with(case, {"locale": "en-US"})


@check("HO-1", on=_HOSTED)
async def a_cookie_of_another_service_closes_no_session(case: Case) -> None:
    """A cookie, which a browser may have of another service of the domain, does not make it demand a credential.

    Against forged requests a service may want an Origin beside any cookie: it has the last word.
    """
    request = (await case.arrange()).with_header("Cookie", _UNKNOWN_COOKIE)
    try:
        await accepts_without_credential(case, request, "a cookie")
    except Violation:
        url = urlsplit(case.profile.base_url)
        with_origin = request.with_header("Origin", f"{url.scheme}://{url.netloc}").with_fresh_key()
        await accepts_without_credential(case, with_origin, "a cookie and an Origin")


@check("HO-2", on=_HOSTED[:1])
async def a_ticket_is_consumed_once(case: Case) -> None:
    """Consuming a ticket again under a new key is refused, some time later too; binding where stated as single-use.

    So it is with every other valid body of the profile, and with true and false the other way round: a warning, since
    that may ask for another look at the session.
    """
    declared = case.profile.hosted.tickets_single_use
    case.require_applicable(declared is not False, "the profile says that tickets may be used again")
    first = await case.first_call()
    is_quick = case.profile.limits.depth == "quick"
    bodies = () if is_quick else case.facts.bodies
    others = [(0.0, await case.runtime.arranger.render_body(first.request, body)) for body in bodies]
    switched_body = with_other_switches(case, first.request.body)
    is_other = not is_quick and switched_body != first.request.body
    if is_other and not is_against_schema(case, first.request.with_body(switched_body)):
        others.append((0.0, switched_body))
    for pause_s, body in ((0.0, None), *others, *(() if is_quick else ((LATER_S, None),))):
        await asyncio.sleep(pause_s)
        call = await another_call(case, first.request)
        second = await case.send(call if body is None else call.with_body(body), "the same ticket again")
        if not (second.is_refused and second.has_declared_status):
            level = Level.DECLARED if declared and body is not switched_body else Level.RECOMMENDED
            raise case.violation("a used ticket was not refused", first, second, expected="a declared 4xx", level=level)


@check("HO-3", on=_HOSTED)
async def a_ticket_opens_its_own_session_only(case: Case) -> None:
    """The ticket of one session is refused on another; that session's own ticket still works."""
    await _expect_refusal(case, partial(with_ticket_of_another_session, case), "the ticket of another session")


@check("HO-3", on=_HOSTED)
async def a_used_ticket_opens_no_other_session(case: Case) -> None:
    """The ticket of a session that was consumed or cancelled is refused on another; that one's own still works."""
    is_first, is_deep = case.operation.id == CONSUME, case.profile.limits.depth == "deep"
    for name in (
        case.operation.id,
        *(other for other in _HOSTED if other != case.operation.id and (is_first or is_deep)),
    ):
        used = await case.good_answer(case.contract.operations[name])

        async def exchange_ticket(request: Request, used: Request = used.request) -> Request:
            is_other = used.operation.id != case.operation.id
            ended = await case.arrange(preset=fixtures_of(used)) if is_other else used
            return await with_ticket_of_another_session(case, request, ended)

        await _expect_refusal(case, exchange_ticket, f"the ticket of another session, used in {name}")


async def _expect_refusal(
    case: Case,
    defect: Defect,
    purpose: str,
    *,
    any_refusal: bool = False,
    level_of: Callable[[Request], Level | None] = lambda _: None,
) -> None:
    """The request with the defect is refused, and the good ticket of the session, or of another one, still works."""

    async def refuse(request: Request) -> Answer:
        level = level_of(request)
        bad, control = await defect(request), request.with_fresh_key()
        return await case.refusal(bad, REFUSAL_STATUSES, purpose, any_refusal=any_refusal, control=control, level=level)

    async with _allow_ended_session(case, defect):
        await case.share_control(refuse, purpose)


def _examine_failed_control(case: Case, defect: Defect) -> AbstractAsyncContextManager[None]:
    """A warning where the right ticket is refused after a wrong one as it is after itself.

    The session may have ended with the wrong ticket, which can look the same. Without a statement that a session allows
    the operation nothing is asked.
    """
    states, name = States(case.profile.transitions), case.operation.id
    fixtures = {t.fixture for t in case.profile.transitions if t.operation == name}
    is_stated = any(states.expected_outcome(Place(fixture), name) == ALLOWED for fixture in fixtures)
    level = Level.RECOMMENDED
    return examine_failed_control(case, defect, "a wrong ticket", level=level) if is_stated else nullcontext()


@asynccontextmanager
async def _allow_ended_session(case: Case, defect: Defect) -> AsyncIterator[None]:
    """Where a session ends with a wrong ticket, the good ticket of another session is the control."""
    try:
        async with _examine_failed_control(case, defect):
            yield
    except Inconclusive as doubt:
        if doubt.cause != f"control:{case.operation.id}":
            raise
        bad, control = await defect(await case.arrange()), await case.arrange()
        await case.refusal(bad, REFUSAL_STATUSES, "a wrong ticket", control=control)
        await case.control(control, "the good ticket of another session")
        case.note("a session ends with a wrong ticket")


_OF_OTHER_BODIES: Final = list(FORGED.values())[::2]
"""These are sent in the other valid bodies of the profile in turn, where there is one."""


@check("HO-3", on=_HOSTED, cases=FORGED)
async def a_ticket_that_nobody_issued_opens_nothing(case: Case, change: Callable[[str], str]) -> None:
    """A forged ticket is refused, however similar to a valid one, which still works afterwards.

    A warning where only the label before it differs: a service may read what comes behind that.
    """

    async def forge(request: Request) -> Request:
        if case.facts.bodies and change in _OF_OTHER_BODIES:
            _, ticket = ticket_in(case, request)
            number = _OF_OTHER_BODIES.index(change) % len(case.facts.bodies)
            other = await case.runtime.arranger.render_body(request, case.facts.bodies[number])
            places = pointer.places_of(other, ticket)
            if places and change(ticket) != ticket:
                return request.with_body(pointer.replace(other, places[0], change(ticket)))
        return _with_forged_ticket(case, change, request)

    def level_of(request: Request) -> Level | None:
        _, ticket = ticket_in(case, request)
        return Level.RECOMMENDED if changes_label_only(ticket, change(ticket)) else None

    await _expect_refusal(case, forge, "a forged ticket", level_of=level_of)


@check("HO-3", on=_HOSTED)
async def a_condition_is_no_ticket(case: Case) -> None:
    """An object that a store may read as a condition, such as `{"$ne": ""}`, is not taken for a ticket."""

    async def forge(request: Request) -> Request:
        where, _ = ticket_in(case, request)
        return request.with_body(pointer.replace(request.body, where, {"$ne": ""}))

    await _expect_refusal(case, forge, "a condition for a ticket", any_refusal=True)


@check("HO-3", on=_HOSTED)
async def a_ticket_in_the_query_does_not_count(case: Case) -> None:
    """The ticket of another session in the body is refused, with the right one as a query parameter of its name too."""

    async def defect(request: Request) -> Request:
        where, ticket = ticket_in(case, request)
        name = pointer.tokens(where)[-1]
        return (await with_ticket_of_another_session(case, request)).with_query(**{name: ticket})

    await _expect_refusal(case, defect, "the right ticket in the query alone")


def _with_forged_ticket(case: Case, change: Callable[[str], str], request: Request) -> Request:
    """The good request with another ticket."""
    where, ticket = ticket_in(case, request)
    case.require_case(change(ticket) != ticket, "tickets are of a form whose last character may mean nothing")
    return request.with_body(pointer.replace(request.body, where, change(ticket)))


@check("HO-6", on=_HOSTED, cases={"of-another-session": None, **MADE_UP})
async def an_unknown_ticket_has_the_stated_status(case: Case, change: Callable[[str], str] | None) -> None:
    """A forged ticket, and that of another session, are answered with the status that the profile states."""
    status = case.profile.hosted.unknown_ticket_status
    case.need(status, "hosted.unknown_ticket_status", "the status for such a ticket is needed")

    async def refuse(request: Request) -> Answer:
        if change is None:
            bad = await with_ticket_of_another_session(case, request)
        else:
            case.require_case(not is_signed(ticket_in(case, request)[1]), "a forged ticket is a malformed one")
            bad = _with_forged_ticket(case, change, request)
        # A pattern of the schema may name the start of a ticket: another start is a body that does not match.
        case.require_case(not is_against_schema(case, bad), "the schema of the body refuses such a ticket")
        answer = await case.send_with_retry(bad, "an unknown ticket", request)
        if answer.ok:
            raise Inconclusive("an unknown ticket was accepted", answer, cause="HO-3")
        if answer.status != status:
            message = "an unknown ticket was not answered as hosted.unknown_ticket_status states"
            raise case.violation(message, answer, expected=str(status))
        return answer

    await case.share_control(refuse, "an unknown ticket")


def _orders(profile: Profile, operation: Operation) -> Mapping[str, Transition | None]:
    """The profile's transitions of both operations on one session; HO-2 covers a ticket used twice."""
    found = declared_transitions(profile, operation).items()
    return {name: transition for name, transition in found if transition and not _is_second_use(transition)} or {
        "": None
    }


def _is_second_use(transition: Transition) -> bool:
    return transition.operation == _HOSTED[0] and transition.after == (transition.operation,)


@check("HO-4", on=_HOSTED, cases=_orders)
async def consume_and_cancel_keep_their_order(case: Case, transition: Transition | None) -> None:
    """On one session, an operation that conflicts after the other one is answered 409, or 404 as gone."""
    if transition is None:
        other_statuses = stated_otherwise(case.profile, case.operation).values()
        is_judged = any(not _is_second_use(other) for other in other_statuses)
        case.require_case(not is_judged, "the profile states another status of each refusal, which CONF-3 judges")
        is_free = is_allowed_in_each_state(case.profile, case.operation)
        case.require_applicable(not is_free, "the profile's transitions allow the operation in each state")
    is_stated = any(declared_transitions(case.profile, case.operation).values())
    description = "a state that the other operation leads to, and in which this one conflicts, is needed"
    case.need(transition or not is_stated, f"transitions.{case.operation.id}", description)
    await expect_conflict(case, transition)


@check("HO-5", on=_HOSTED[:1])
async def both_hosted_operations_answer_one_projection(case: Case) -> None:
    """Consuming a ticket and cancelling answer one projection: the same members, but for optional ones."""
    case.require_applicable(
        case.profile.hosted.projection_shared is not False, "the profile says that the projections differ"
    )
    consume_answer = await case.good_answer()
    cancel_answer = await case.good_answer(case.contract.operations[_HOSTED[1]])
    shapes = [
        set(answer.data) if isinstance(answer.data, dict) else set() for answer in (consume_answer, cancel_answer)
    ]
    if others := (shapes[0] ^ shapes[1]) - _find_optional_members(case):
        # only a schema says which members are optional, such as the cart of a session that was cancelled
        has_schema = case.operation.response_schema in case.profile.schemas.by_name
        observed = ", ".join(sorted(others))
        raise case.violation(
            "the two projections have other members",
            consume_answer,
            cancel_answer,
            expected="the same members",
            observed=observed,
            level=Level.DECLARED if case.profile.hosted.projection_shared and has_schema else Level.RECOMMENDED,
        )


def _find_optional_members(case: Case) -> set[str]:
    """The members of a projection that the profile's schema names, and does not require.

    What one branch of a schema requires, as the reason of a cancelled session, others may lack.
    """
    schema = case.profile.schemas.by_name.get(case.operation.response_schema)
    parts = [] if schema is None else list(Root(schema).subschemas(schema, ["data"]))
    names = {name for part in parts for name in part.get("properties", ())}
    branches = [set(part.get("required", ())) for part in parts if not part.keys() & {"oneOf", "anyOf"}]
    around = {name for part in parts if part.keys() & {"oneOf", "anyOf"} for name in part.get("required", ())}
    return names - around - (set.intersection(*branches) if branches else set())


@check("HO-7", on=_HOSTED[:1], cases={"just-before-its-end": False, "just-after-its-end": True}, chain=True)
async def a_ticket_ends_when_stated(case: Case, is_old: bool) -> None:
    """A ticket just younger than its stated lifetime is consumed, one just older is refused."""
    lifetime_s = case.profile.hosted.ticket_lifetime_s
    case.need(lifetime_s, "hosted.ticket_lifetime_s", "how long a ticket is good for is needed")
    assert lifetime_s is not None
    case.require_applicable(lifetime_s <= LONGEST_WAIT_S, f"tickets live longer than {LONGEST_WAIT_S:g} s")
    case.require_applicable(_makes_sessions(case), "sessions are a list of the profile: their age is not known")
    age_s = age_at_end(lifetime_s, is_old=is_old)
    need_time(case, age_s, "ticket")
    await case.runtime.controls.prove(case.operation)
    request = await case.arrange()
    began, arrived = request.arranged_at or time.monotonic(), time.monotonic()
    # its source may have been slow: at the latest it was made when it arrived, at the earliest when it was asked for
    await asyncio.sleep((arrived if is_old else began) + age_s - time.monotonic())
    answer = await case.send(request, f"a ticket {age_s:g} s old")
    oldest_s = time.monotonic() - began
    if answer.ok != is_old:
        return
    await case.control(await case.arrange())
    if not is_old and oldest_s > lifetime_s - ROUNDING_S:
        raise Inconclusive(f"the ticket may have been {oldest_s:.1f} s old", answer, cause="hosted.ticket_lifetime_s")
    message = f"a ticket {age_s:g} s old was answered {answer.summary}, and hosted.ticket_lifetime_s is {lifetime_s:g}"
    raise case.violation(message, answer, expected="a declared 4xx" if is_old else "200")


def _makes_sessions(case: Case) -> bool:
    """Whether the fixtures in the operation's path and body are made by the run."""
    names = placeholders(dict(case.facts.path)) | placeholders(case.facts.body)
    kinds = {name.partition(".")[0] for name in names} & case.profile.fixtures.keys()
    sources = [source for kind in kinds for source in case.profile.fixtures[kind].values()]
    return bool(sources) and not any(source.values for source in sources)
