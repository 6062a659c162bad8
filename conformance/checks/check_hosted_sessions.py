"""Hosted checkout: which session an answer is about, and a wrong ticket once the right one was consumed (HO-3)."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.session_tickets import CANCEL, CONSUME, with_ticket_of_another_session
from conformance.checks.support.sign_reader import fixtures_of
from conformance.checks.support.transitions import CONFLICT, Place, States
from conformance.checks.support.unknown_ids import is_distinctive
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Level

_HOSTED: Final = (CONSUME, CANCEL)


@check("HO-3", on=_HOSTED)
async def an_answer_is_about_its_own_session(case: Case) -> None:
    """Where an answer shows the id of its session, another one shows its own there.

    A warning where only the other operation shows where that is.
    """
    first = await case.good_answer()
    id_places, level = _places_of_session(first), None
    if not id_places and case.profile.hosted.projection_shared is not False:
        other = next(name for name in _HOSTED if name != case.operation.id)
        id_places = _places_of_session(await case.good_answer(case.contract.operations[other]))
        level = Level.RECOMMENDED
    case.require_case(id_places, "no answer shows the id of its session, or it is a short one")
    second = first if level else await case.control(await case.arrange(), "another session")
    own_id = next(iter(second.request.path.values()))
    for where in id_places:
        value = pointer.get(second.value, where) if pointer.has(second.value, where) else own_id
        if isinstance(value, str) and value != own_id:
            message = f"{where} shows another session than that of the path"
            raise case.violation(message, first, second, expected=own_id, observed=value, level=level)


def _places_of_session(answer: Answer) -> list[str]:
    """The places of the session's id, but for those in a list, whose order may change."""
    own_id = next(iter(answer.request.path.values()))
    found = pointer.places_of(answer.value, own_id) if is_distinctive(own_id) else []
    return [where for where in found if not any(map(str.isdigit, pointer.tokens(where)))]


@check("HO-3", on=(CANCEL,))
async def a_wrong_ticket_cancels_no_consumed_session(case: Case) -> None:
    """A session whose own ticket was consumed is not cancelled with the ticket of another one.

    Where the profile states that it is not cancelled at all then, HO-4 judges that.
    """
    states = States(case.profile.transitions)
    places = {Place(transition.fixture, (CONSUME,)) for transition in case.profile.transitions}
    is_ended = any(states.expected_outcome(place, CANCEL) == CONFLICT for place in places)
    case.require_case(not is_ended, "the profile states that a session is not cancelled once its ticket was consumed")
    request = await case.arrange()
    bad = await with_ticket_of_another_session(case, request)
    consume = await case.arrange(case.contract.operations[CONSUME], preset=fixtures_of(request))
    first = await case.control(consume, "its own ticket is consumed")
    answer = await case.send_with_retry(bad, "the ticket of another session")
    if answer.ok:
        message = "a session whose ticket was consumed was cancelled with the ticket of another session"
        raise case.violation(message, first, answer, expected="a declared 4xx")
