"""The events that calls cause, as the list of deliveries shows them (IDEM-2)."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.event_repeats import expect_no_new_events
from conformance.checks.support.foreign_deliveries import FINAL_CALLS, foreign_deliveries
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY
from conformance.checks.support.signals import OBSTACLES, Inconclusive


@check("IDEM-2", on=FINAL_CALLS, deep_on=("orders idempotent", "carts idempotent"), rests_on=PLAIN_REPLAY)
async def a_replay_delivers_no_event_again(case: Case) -> None:
    """Where a call of another installation is repeated, its endpoint is not sent a further event each time.

    Nothing else is done for that installation. A warning where the list does not tell events apart: an event may be
    sent again under its id, which no text rules out.
    """
    case.require_case(case.profile.limits.depth != "quick", "calls are repeated for it in longer runs only")
    try:
        found = await foreign_deliveries(case)
    except (Inconclusive, *OBSTACLES) as obstacle:  # TEN-2 reports it
        case.require_case(False, f"deliveries to another installation cannot be seen: {obstacle}")
        raise
    calls = [answer for answer in found.rounds[-1].events if answer.request.operation.id == case.operation.id]
    is_seen = found.is_listed and bool(calls) and calls[0].ok
    case.require_case(is_seen, "no delivery to another installation shows, or its call was not answered 200")
    if found.has_grown:
        async with found.turn:
            await expect_no_new_events(case, found, calls[0])
