"""Hosted checkout: tickets and sessions (HO-1 to HO-5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.checks.support.case import Case
from conformance.checks.support.forged_secrets import LEAST_MADE_UP, MADE_UP
from conformance.checks.support.public_access import needs_no_credential, needs_no_credential_with
from conformance.checks.support.registry import check
from conformance.checks.support.transitions import declared_transitions, expect_conflict
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.model import Level
from conformance.profile.model import Profile, Transition

_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")


@check("HO-1", on=_HOSTED)
async def a_hosted_operation_needs_no_credential(case: Case) -> None:
    """A browser without an API key may consume a ticket and cancel."""
    await needs_no_credential(case)


@check("HO-1", on=_HOSTED)
async def a_hosted_operation_needs_no_credential_with_a_query_parameter(case: Case) -> None:
    """A query parameter, as a browser's link may carry one, does not make a hosted operation ask for a key."""
    await needs_no_credential_with(case, {"locale": "en-US"})


@check("HO-2", on=_HOSTED[:1])
async def a_ticket_is_consumed_once(case: Case) -> None:
    """A second consumption, with a key of its own, is refused; binding where the profile says single-use."""
    declared = case.profile.hosted.tickets_single_use
    case.exists(declared is not False, "the profile says that tickets may be used again")
    request = await case.arrange()
    first = await case.control(request)
    second = await case.send(request.with_fresh_key(), "the same ticket again")
    if not (second.refused and second.declared):
        level = Level.DECLARED if declared else Level.RECOMMENDED
        raise case.violated("a used ticket was not refused", first, second, expected="a declared 4xx", level=level)


@check("HO-3", on=_HOSTED)
async def a_ticket_opens_its_own_session_only(case: Case) -> None:
    """The ticket of one session is refused on another, which its own ticket then still opens."""
    request, other = await case.arrange(), await case.arrange()
    key = f"operations.{case.operation.id}"
    case.need(request.path != other.path, f"{key}.path (from a fixture)", "two different sessions are needed")
    named = case.named_in_body and request.body != other.body  # what is new in every body is no ticket
    case.need(named, f"{key}.body (from a fixture)", "a body that names the ticket of its session is needed")
    swapped = request.with_body(other.body)
    await case.negative(request, swapped, {400, 401, 403, 404, 409}, "the ticket of another session")


@check("HO-3", on=_HOSTED, cases=MADE_UP)
async def a_ticket_that_nobody_issued_opens_nothing(case: Case, change: Callable[[str], str]) -> None:
    """A ticket that is made up is refused, however much it is like a good one, which then still opens its session."""
    request = await case.arrange()
    of_it = [value for kind in case.named_in_body for value in case.fixture_of(request, kind).values()]
    found = [
        (at, leaf) for at, leaf in pointer.leaves(request.body) if leaf in of_it and leaf not in request.path.values()
    ]
    told = [(at, leaf) for at, leaf in found if isinstance(leaf, str) and len(leaf) >= LEAST_MADE_UP]
    case.further(told, "the body names no ticket that could be made up")
    bad = request.with_body(pointer.replace(request.body, told[0][0], change(told[0][1])))
    await case.negative(request, bad, {400, 401, 403, 404, 409}, "a ticket of nobody's")


def _orders(profile: Profile, operation: Operation) -> Mapping[str, Transition | None]:
    """What the profile says of both operations on one session; a ticket used twice is HO-2's."""
    found = {
        name: transition
        for name, transition in declared_transitions(profile, operation).items()
        if transition and not (operation.id == _HOSTED[0] and transition.after == (operation.id,))
    }
    return found or {"": None}


@check("HO-4", on=_HOSTED, cases=_orders)
async def consume_and_cancel_keep_their_order(case: Case, transition: Transition | None) -> None:
    """On one session, what the profile says conflicts after the other operation is answered 409, or as gone."""
    await expect_conflict(case, transition)


@check("HO-5", on=_HOSTED[:1])
async def both_hosted_operations_answer_one_projection(case: Case) -> None:
    """Ticket consume and cancel answer the same schema: what they have in common is more than nothing."""
    case.exists(case.profile.hosted.projection_shared is not False, "the profile says that the projections differ")
    consumed = await case.control(await case.arrange(), "consume")
    cancelled = await case.control(await case.arrange(case.contract.operations[_HOSTED[1]]), "cancel")
    shapes = [set(answer.data) if isinstance(answer.data, dict) else set() for answer in (consumed, cancelled)]
    if shapes[0] != shapes[1]:
        observed = ", ".join(sorted(shapes[0] ^ shapes[1]))
        raise case.violated(
            "the two projections have other members",
            consumed,
            cancelled,
            expected="the same members",
            observed=observed,
        )
