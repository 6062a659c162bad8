"""Deliveries to new endpoints of another installation, after its calls and after their replays (TEN-2, IDEM-2)."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from conformance.checks.support.case import Case
from conformance.checks.support.certainty import is_certain
from conformance.checks.support.context import control_failed
from conformance.checks.support.other_installations import events_of, other_key
from conformance.checks.support.replays import replay
from conformance.checks.support.signals import OBSTACLES, Signal
from conformance.checks.support.unknown_ids import is_distinctive, is_long_number
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer, AnswerRef
from conformance.core import json_pointer as pointer

FINAL_CALLS: Final = ("requestStorefrontOrderAfterSales", "checkoutPublicCart", "revokePublicCart")
"""Calls that end a state: of these a subscriber is most likely notified."""
_LIST: Final = "listInstallationWebhookDeliveries"
_CREATE: Final = "createInstallationWebhook"
_PAUSES_S: Final = (0.0, 1.0, 4.0)
"""Between the events of a round and the lists: a queue may take seconds to deliver."""
LONGEST_WAIT_S: Final = sum(_PAUSES_S)


class Endpoint(NamedTuple):
    """Texts that name new endpoints of another installation, one for each body: ids, and what of a body is unique."""

    texts: list[str]
    doubtful_ids: list[str]
    """Those that may occur in a list by chance."""
    before: list[Answer]
    """The lists before the endpoints, where ids are numbers."""
    created: Answer
    """To the call with the usual body that has created one."""


@dataclass(frozen=True)
class Round:
    """Events of the other installation, and what both lists show after them."""

    events: Sequence[Answer]
    foreign: Answer
    home: Answer


@dataclass(frozen=True)
class ForeignDeliveries:
    """What was listed for each installation, as events of both came."""

    key: str
    """The other installation's."""
    own_list: Request
    foreign_list: Request
    endpoint: Endpoint
    after_own_events: Answer
    """The other installation's list, after events of this one alone."""
    rounds: Sequence[Round]
    """Until its list shows one of its deliveries."""
    has_grown: bool
    """Whether its list has grown when calls behind its events were repeated."""
    answers: Sequence[AnswerRef]
    """To all of its requests."""
    turn: asyncio.Lock
    """For calls that may cause further deliveries."""

    @property
    def is_listed(self) -> bool:
        """Whether the other installation's own list shows a delivery to its endpoint."""
        return is_named(self.rounds[-1].foreign, self.endpoint.texts)


class _Record:
    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.found: ForeignDeliveries | Exception | None = None


async def foreign_deliveries(case: Case) -> ForeignDeliveries:
    """What the checks of deliveries to another installation share. Raises what has prevented it."""
    record = case.runtime.memory.setdefault("foreign deliveries", _Record())
    assert isinstance(record, _Record)
    async with record.turn:
        found = record.found
        if isinstance(found, ForeignDeliveries):
            case.answers += found.answers
        if found is None:
            try:
                found = await _observe(case, record.turn)
            except (Signal, *OBSTACLES) as problem:
                found = problem
            if is_certain(case) and not case.doubts.has_server_error:
                record.found = found
    if isinstance(found, Exception):
        raise found
    return found


async def _observe(case: Case, turn: asyncio.Lock) -> ForeignDeliveries:
    key = other_key(case, _LIST, _CREATE)
    own_list = await case.arrange(case.contract.operations[_LIST])
    foreign_list = case.as_credential(own_list, key)
    endpoint = await _endpoint_of(case, key, own_list, foreign_list)
    await cause_events(case, 1)
    after_own_events = await case.control(foreign_list, "the other installation's list")
    rounds: list[Round] = []
    for pause_s in _PAUSES_S:
        events = await events_of(case, key)
        case.require_case(events, "no fixture of another installation could cause a delivery")
        answers = await asyncio.gather(*(case.send(event, "an event of another installation") for event in events))
        await asyncio.sleep(pause_s)
        foreign, home = await asyncio.gather(
            case.control(foreign_list, "the other installation's list"), case.control(own_list, "the own list")
        )
        rounds.append(Round(answers, foreign, home))
        if is_named(foreign, endpoint.texts):
            break
    has_grown = await _grows_with_replays(case, foreign_list, endpoint.texts, rounds[-1], pause_s)
    refs = tuple(case.answers)
    return ForeignDeliveries(key, own_list, foreign_list, endpoint, after_own_events, rounds, has_grown, refs, turn)


async def _grows_with_replays(case: Case, foreign_list: Request, texts: list[str], last: Round, pause_s: float) -> bool:
    """Whether the list shows more deliveries after the calls behind the events were repeated, one of each operation.

    Those that end a state are repeated, in deep depth all of them, in quick depth none.
    """
    depth = case.profile.limits.depth
    calls = {answer.request.operation.id: answer for answer in last.events if answer.ok}
    if depth != "deep":
        calls = {name: answer for name, answer in calls.items() if name in FINAL_CALLS}
    if depth == "quick" or not calls or not is_named(last.foreign, texts):
        return False
    await asyncio.gather(*(replay(case, call.request) for call in calls.values()))
    await asyncio.sleep(pause_s)
    after = await case.control(foreign_list, "the other installation's list after replays")
    return growth(last.foreign, after, texts) > 0


async def _endpoint_of(case: Case, key: str, *lists: Request) -> Endpoint:
    """New endpoints of another installation. A long number counts where it stood in none of the lists before."""
    (ids, created), before = await _create_endpoints(case, key), []
    if not all(map(is_distinctive, ids)):
        before = [await case.control(item, "a list before the endpoint") for item in lists]
        known = {value for answer in before for _, value in values_in(answer)}
        ids, created = await _create_endpoints(case, key)
        ids = [name for name in ids if not (is_long_number(name) and name in known)]
    found = [name for name in ids if is_distinctive(name) or is_long_number(name)]
    case.need(found or case.profile.webhooks.id, "webhooks.id", "the place of the new endpoint's id is needed")
    case.require_case(found, "the id of the other installation's endpoint may occur by chance")
    return Endpoint(found, [name for name in ids if name not in found], before, created)


async def _create_endpoints(case: Case, key: str) -> tuple[list[str], Answer]:
    """Their names, and the answer to the usual body."""
    operation, where = case.contract.operations[_CREATE], case.profile.webhooks.id
    found: list[str] = []
    created: list[Answer] = []
    for template in (None, *case.runtime.arranger.facts(operation).bodies):
        create = await case.arrange(operation, credential=key)
        if template is not None:
            create = create.with_body(await case.runtime.arranger.render_body(create, template))
        answer = await case.send(create, "an endpoint of another installation")
        if not answer.ok:
            if template is None:
                raise control_failed(answer)
            continue
        created.append(answer)
        found += [str(pointer.get(answer.value, where))] if where and pointer.has(answer.value, where) else []
        found += [text] if (text := str(create.scope["unique"])) in str(create.body) else []
    return found, created[0]


async def cause_events(case: Case, times: int) -> None:
    """Calls of this installation on its own orders and carts, any of which may cause a delivery."""
    writes = [operation for operation in case.contract.select(["orders", "carts"]) if operation.idempotent]
    requests = []
    for operation in writes * times:
        with suppress(MissingFact):
            requests.append(await case.arrange(operation, prove_control=False))
    await asyncio.gather(*(case.send(request, "an event of this installation") for request in requests))


def values_in(answer: Answer) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each leaf of a list as text, with its place without the numbers of items; that of a cell in a row stays."""
    for where, value in pointer.leaves(answer.value) if isinstance(answer.value, dict) else ():
        *tokens, last = pointer.tokens(where)
        yield (*("" if token.isdecimal() else token for token in tokens), last), str(value)


def places_of(answer: Answer, texts: list[str]) -> set[tuple[str, ...]]:
    """The places that show one of these texts, without the numbers of items."""
    return {place for place, value in values_in(answer) if value in texts}


def is_named(answer: Answer, texts: list[str]) -> bool:
    """Whether the list of an endpoint's own installation shows one of the texts that name it."""
    return shows(answer, texts, places_of(answer, texts))


def shows(answer: Answer, texts: list[str], places: Container[tuple[str, ...]]) -> bool:
    """Whether a member of the answer is one of these texts, or a longer text, such as a URL, ends in one.

    A number counts in these places only: one counter of endpoints and another of deliveries may begin alike.
    """
    for place, value in values_in(answer):
        for text in texts:
            if value == text and (place in places or not text.isdecimal()):
                return True
            if value.endswith(f"/{text}") and not text.isdecimal():
                return True
    return False


def deliveries_in(answer: Answer, texts: list[str]) -> int:
    """How often a list of deliveries names the endpoint."""
    values = [value for _, value in values_in(answer)]
    return max(values.count(text) for text in texts)


def growth(before: Answer, after: Answer, texts: list[str]) -> int:
    """How many more deliveries to one of the endpoints a later list shows."""
    return max(deliveries_in(after, [text]) - deliveries_in(before, [text]) for text in texts)
