"""What an installation is shown is its own: deliveries, readiness, identity (TEN-2)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from conformance.checks.support.authorization_forms import equal_forms, with_form
from conformance.checks.support.case import Case
from conformance.checks.support.concurrent_keys import expect_own_answers
from conformance.checks.support.context import control_failed
from conformance.checks.support.equal_items import common_items
from conformance.checks.support.foreign_deliveries import (
    LONGEST_WAIT_S,
    Endpoint,
    ForeignDeliveries,
    cause_events,
    deliveries_in,
    foreign_deliveries,
    places_of,
    shows,
    values_in,
)
from conformance.checks.support.installation_names import (
    INSTALLATION_MEMBERS,
    name_of_installation,
    with_installation_headers,
)
from conformance.checks.support.other_installations import events_of, other_key
from conformance.checks.support.registry import cause_of, check
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.unknown_ids import is_distinctive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

_LATER_EVENTS = 3
"""Of a list that shows the last deliveries alone, those of other checks may be the last ones."""
_EVENTS = 3
_QUIET_S = (0.0, 1.0, 3.0)
"""Pauses in seconds before each reading of a list that grew by itself: the run is quieter towards its end."""


def _expect_no_common_endpoint(case: Case, texts: list[str], foreign: Answer, answer: Answer) -> None:
    """Violated where the lists of two installations name one endpoint in the place that names the other one's.

    The texts name new endpoints of the other installation.
    """
    places = places_of(foreign, texts)
    foreign_values = {value for place, value in values_in(foreign) if place in places and is_distinctive(value)}
    common_values = foreign_values & {value for place, value in values_in(answer) if place in places}
    if common_values:
        message = "deliveries to one endpoint are listed for two installations"
        raise case.violation(message, answer, foreign, expected="an endpoint of one", observed=min(common_values))


async def _expect_no_delivery_there(case: Case, found: ForeignDeliveries) -> None:
    """Violated where each event of this installation is delivered to the other one's new endpoint.

    A first delivery may be a test of the endpoint, or an event of the other installation: they do not grow with what is
    done here.
    """
    foreign_list, texts = found.foreign_list, found.endpoint.texts
    if not deliveries_in(found.after_own_events, texts):
        return
    for pause_s in _QUIET_S:  # other checks cause events of both installations, too
        await asyncio.sleep(pause_s)
        answer = await case.control(foreign_list, "the other installation's list")
        for _ in range(2):
            before, began_s = answer, time.monotonic()
            await cause_events(case, _EVENTS)
            took_s = time.monotonic() - began_s
            answer = await case.control(foreign_list, "the other installation's list")
            if deliveries_in(answer, texts) < deliveries_in(before, texts) + _EVENTS:
                return
        await asyncio.sleep(took_s)
        idle = await case.control(foreign_list, "the same list after as long a time without events")
        if deliveries_in(idle, texts) < deliveries_in(answer, texts) + _EVENTS:
            message = "events of this installation are delivered to an endpoint of another one"
            raise case.violation(message, before, answer, expected="no delivery there")
    raise Inconclusive("the other installation's list grows without events of this one", answer, idle)


async def _expect_no_common_item(case: Case, endpoint: Endpoint, foreign: Answer, answer: Answer) -> None:
    """Violated by a new item of both lists that names the other installation's endpoint by a short number.

    Where the own installation has an endpoint of that number too, another check may know more.
    """
    for name, item in common_items(endpoint.doubtful_ids, foreign, answer, endpoint.before):
        if await _names_own_endpoint(case, [name]):
            raise Inconclusive("an own endpoint has the id of the other installation's", answer, cause="TEN-1")
        message = "one delivery, to an endpoint of another installation, is listed for both installations"
        raise case.violation(message, foreign, answer, expected="nothing of it", observed=str(item)[:200])


async def _names_own_endpoint(case: Case, texts: list[str]) -> bool:
    """Whether this installation's key can update an endpoint of that id: each installation may count its own."""
    update = await case.arrange(case.contract.operations["updateInstallationWebhook"])
    name = update.operation.path_parameters[0]
    return (await case.send(update.with_path(**{name: texts[0]}), "an own endpoint of that id")).ok


async def _expect_nothing(case: Case, texts: list[str], message: str, *answers: Answer) -> None:
    """Violated where the last answer, to a key of this installation, shows the other one's endpoint as the first does.

    The first one is the other installation's own list.
    """
    if not shows(answers[-1], texts, places_of(answers[0], texts)):
        return
    if await _names_own_endpoint(case, texts):
        raise Inconclusive("an own endpoint has the id of the other installation's", answers[-1], cause="TEN-1")
    raise case.violation(message, *answers, expected="nothing of it")


@check("TEN-2", on="listInstallationWebhookDeliveries")
async def deliveries_of_another_installation_are_not_listed(case: Case) -> None:
    """What is delivered to an endpoint of another installation is in its own list, and not in this one's.

    What this installation does causes no delivery there, and what is delivered here is not in that list.
    """
    found = await foreign_deliveries(case)
    texts, doubtful_ids = found.endpoint.texts, found.endpoint.doubtful_ids
    await _expect_no_delivery_there(case, found)
    message = "a delivery to an endpoint of another installation is listed"
    for seen in found.rounds:
        await _expect_nothing(case, texts, message, seen.foreign, seen.home)
        _expect_no_common_endpoint(case, texts, seen.foreign, seen.home)
        await _expect_no_common_item(case, found.endpoint, seen.foreign, seen.home)
    if found.is_listed:
        foreign_answer = found.rounds[-1].foreign
        async with found.turn:
            await _expect_nothing_of_later_events(case, found.key, found.own_list, foreign_answer, texts)
        narrow = case.as_credential(found.own_list, _narrowest_key(case))
        narrow_answer = await case.send_with_retry(narrow, "the own list with few scopes", found.own_list)
        await _expect_nothing(case, texts, message, foreign_answer, narrow_answer)
        await _expect_no_choice(case, found.key, found.own_list, foreign_answer, texts)
        return
    message = f"no delivery to the new endpoint shows in its installation's own list, within {LONGEST_WAIT_S:g} s"
    ids = f"; the list may name it by its id, as {doubtful_ids[0]!r}, which may occur by chance" if doubtful_ids else ""
    raise Inconclusive(message + ids)


async def _expect_nothing_of_later_events(
    case: Case, key: str, own_list: Request, foreign: Answer, texts: list[str]
) -> None:
    """Violated where a list that may show the last deliveries alone shows one of the other installation's."""
    for _ in range(_LATER_EVENTS if case.profile.limits.depth != "quick" else 0):
        for event in (await events_of(case, key))[:1]:  # none where fixtures have come to an end
            await case.send(event, "an event of another installation")
            answer = await case.control(own_list, "the own list")
            await _expect_nothing(case, texts, "the last delivery of another installation is listed", foreign, answer)


def _narrowest_key(case: Case) -> str:
    """The own key with the fewest scopes that the operation takes, the spare one of the limits last."""
    spare = case.profile.rate_limit.credential
    keys = case.runtime.arranger.credentials(scope=case.operation.scope or "")
    return min(keys, key=lambda key: (key.name == spare, len(key.scopes))).name


async def _expect_no_choice(case: Case, key: str, own_list: Request, foreign: Answer, texts: list[str]) -> None:
    """Violated where a request that names the other installation shows its deliveries."""
    name = await name_of_installation(case, key)
    for request in _with_choices(own_list, name):
        answer = await case.send_with_retry(request, "a request that names another installation", own_list)
        message = "a delivery to an endpoint of the installation that the request names is listed"
        await _expect_nothing(case, texts, message, foreign, answer)
        if answer.ok:  # where parameters are refused, the headers are sent alone
            return


def _with_choices(request: Request, name: str) -> Iterator[Request]:
    """The request with headers and parameters that name an installation, and with the headers alone."""
    if not name:
        return
    request = with_installation_headers(request, name)
    yield request.with_query(**dict.fromkeys(INSTALLATION_MEMBERS, name))
    yield request


_SHOWN_BY = {
    "getInstallationCredentialReadiness": "installation_in_readiness",
    "getApiKeyIdentity": "installation_in_identity",
}


@check("TEN-2", on=tuple(_SHOWN_BY))
async def the_installation_that_is_named_is_the_callers(case: Case) -> None:
    """Keys of two installations get two names, and a second key of this one gets the name that the first one gets."""
    fact = _SHOWN_BY[case.operation.id]
    where = getattr(case.profile.tenancy, fact)
    case.need(where, f"tenancy.{fact}", "the place that names the installation is needed")
    foreign = other_key(case, case.operation.id)
    home = case.runtime.arranger.credentials(scope=case.operation.scope or "")
    await case.runtime.controls.prove(case.operation)
    answers, names = [], []
    for key in (home[0].name, foreign, *(credential.name for credential in home[1:2])):
        answers.append(await case.answer_to(key))
        if not answers[-1].ok:
            raise control_failed(answers[-1])
        if not isinstance(answers[-1].data, dict):
            raise Inconclusive("the answer has no data object", answers[-1], cause=cause_of("ENV-2"))
        if not pointer.has(answers[-1].value, where):
            raise case.violation(f"the answer has no {where}", answers[-1], expected="the name of the installation")
        names.append(pointer.get(answers[-1].value, where))
    if strictjson.is_equal(names[0], names[1]):
        raise case.violation("keys of two installations get one name", *answers[:2], observed=str(names[0]))
    if len(names) > 2 and not strictjson.is_equal(names[0], names[2]):
        message = "two keys of one installation get two names"
        raise case.violation(message, answers[0], answers[2], expected=str(names[0]), observed=str(names[2]))


@check("TEN-2", on=tuple(_SHOWN_BY))
async def a_request_chooses_no_other_installation(case: Case) -> None:
    """Parameters and headers that name another installation do not change the one that the answer names."""
    fact = _SHOWN_BY[case.operation.id]
    where = getattr(case.profile.tenancy, fact)
    case.need(where, f"tenancy.{fact}", "the place that names the installation is needed")
    place_fact = "tenancy.installation_in_identity"
    case.need(case.profile.tenancy.installation_in_identity, place_fact, "what names the other installation is needed")
    name = await name_of_installation(case, other_key(case, case.operation.id))
    case.require_case(name, "identity does not name the other installation")
    request = await case.arrange()
    usual = await case.answer_to(request.credential)
    case.require_case(usual.ok and pointer.has(usual.value, where), f"the own answer has no {where}")
    for detour in _with_choices(request, name):
        answer = await case.send_with_retry(detour, "a request that names another installation", request)
        if answer.ok and pointer.has(answer.value, where):
            observed = pointer.get(answer.value, where)
            if not strictjson.is_equal(observed, pointer.get(usual.value, where)):
                message = "the answer names the installation that the request names, and not the key's"
                raise case.violation(message, usual, answer, expected="the key's installation", observed=str(observed))
            return


@check("TEN-2", on=tuple(_SHOWN_BY))
async def the_spelling_of_the_scheme_names_no_other_installation(case: Case) -> None:
    """In another case of its scheme or its own a key is of the same installation, where the case does not count."""
    fact = _SHOWN_BY[case.operation.id]
    where = getattr(case.profile.tenancy, fact)
    case.need(where, f"tenancy.{fact}", "the place that names the installation is needed")
    forms = equal_forms(case.profile.authorization)
    case.require_case(forms, "one spelling of scheme and key is stated")
    key = other_key(case, case.operation.id)
    known = await case.answer_to(key)
    case.require_case(known.ok and pointer.has(known.value, where), f"the answer has no {where}")
    for name, form in forms.items():
        request = case.as_credential(await case.arrange(), key)
        answer = await case.send_with_retry(with_form(case, request, form), f"the key {key!r} with {name}")
        if not answer.ok:  # that a spelling is refused is AUTH-5's question
            continue
        if not strictjson.is_equal(_value(answer, where), _value(known, where)):
            message = f"a key with {name} is of another installation"
            raise case.violation(message, known, answer, expected=str(_value(known, where)))


def _value(answer: Answer, where: str) -> Any:
    """None where it is not there."""
    return pointer.get(answer.value, where) if pointer.has(answer.value, where) else None


@check("TEN-2", on="getInstallationCredentialReadiness")
async def keys_at_once_get_the_readiness_of_their_own_installations(case: Case) -> None:
    """Of keys that ask at the same time, none gets what another one is answered alone."""
    await expect_own_answers(case)
