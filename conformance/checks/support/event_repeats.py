"""Whether deliveries that come with the replays of a call are of new events (IDEM-2)."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from conformance.checks.support.answer_times import is_time
from conformance.checks.support.case import Case
from conformance.checks.support.equal_items import items_in
from conformance.checks.support.foreign_deliveries import FINAL_CALLS, ForeignDeliveries, growth
from conformance.checks.support.replays import are_alike, replay
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.checks.support.unknown_ids import is_distinctive
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Level

_REPLAYS: Final = 3
_QUIET_S: Final = (0.0, 1.0, 3.0)
"""Pauses in seconds before each reading of a list that grew by itself."""
_LEAST_S: Final = 0.5
"""For which the list must not grow without replays."""
_ROUNDS: Final = 2
"""Of replays after which the list must have grown: events of other checks may come with one of them."""
_NAMES: Final = ("event", "eventid", "eventuuid")
"""Of members that name an event: an id of a request or of a dispatch is another one where an event is sent again."""
Ids = Counter[tuple[str, str]]
"""(place in an item, id) -> the items that show it there."""


async def expect_no_new_events(case: Case, found: ForeignDeliveries, first: Answer) -> None:
    """Violated where the list grows with each replay of the call, does not grow without them, and shows new events."""
    texts, rounds = found.endpoint.texts, 0
    for pause_s in _QUIET_S:
        await asyncio.sleep(pause_s)
        before, began_s = await case.control(found.foreign_list, "the list before replays"), time.monotonic()
        repeats = [await replay(case, first.request) for _ in range(_REPLAYS)]
        took_s = time.monotonic() - began_s
        case.require_case(all(are_alike(case, first, repeat) for repeat in repeats), "the call is not replayed")
        after = await case.control(found.foreign_list, "the list after replays")
        if growth(before, after, texts) < _REPLAYS:
            return
        await asyncio.sleep(max(_LEAST_S, took_s))
        idle = await case.control(found.foreign_list, "the same list after as long a time without replays")
        if growth(after, idle, texts) > 0:
            continue
        if _names_known_event(case, found.rounds[-1].events, texts, before, after):
            return
        await _require_quiet_calls(case, found, idle)
        rounds += 1
        if rounds == _ROUNDS:
            raise _violation(case, found, first, repeats[-1], before, after)
    raise Inconclusive("the other installation's list grows without replays", after, idle)


async def _require_quiet_calls(case: Case, found: ForeignDeliveries, before: Answer) -> None:
    """Inapplicable where replays of calls that end no state are delivered, too.

    A service may notify of each call that it answers, or of each one on a cart, and not of its effect alone.
    """
    plain = {call.request.operation.id: call for call in found.rounds[-1].events if call.ok}
    names = plain.keys() - {*FINAL_CALLS, case.operation.id}
    others = [found.endpoint.created, *(plain[name] for name in sorted(names))]
    for other in others * _REPLAYS:
        await replay(case, other.request, "replay of another call")
    after = await case.control(found.foreign_list, "the list after replays of other calls")
    is_quiet = growth(before, after, found.endpoint.texts) < _REPLAYS
    case.require_case(is_quiet, "a delivery follows each call that is answered, whatever it does")


def _violation(
    case: Case, found: ForeignDeliveries, first: Answer, repeat: Answer, before: Answer, after: Answer
) -> Violation:
    texts, last = found.endpoint.texts, found.rounds[-1]
    level = None if _tells_events_apart(last.events, texts, last.foreign) else Level.RECOMMENDED
    message = "each replay of a call was followed by a further delivery of its event"
    observed = f"{growth(before, after, texts)} further deliveries after {_REPLAYS} replays"
    return case.violation(message, first, before, repeat, after, expected="none", observed=observed, level=level)


def _names_known_event(case: Case, calls: Sequence[Answer], texts: list[str], before: Answer, after: Answer) -> bool:
    """Whether further deliveries have an id of an earlier one: an event may be sent again under its id."""
    old, new = (_ids_in(calls, texts, answer) for answer in (before, after))
    repeated = sorted(name for (place, name), count in old.items() if new[place, name] > count)
    if repeated:
        case.note(f"further deliveries have the id of an earlier one, {repeated[0]}")
    return bool(repeated)


def _tells_events_apart(calls: Sequence[Answer], texts: list[str], answer: Answer) -> bool:
    """Whether deliveries to several endpoints have an id in common, which a member shows that names their event."""
    found = _ids_in(calls, texts, answer)
    return any(count > 1 and _names_event(place) for (place, _), count in found.items())


def _names_event(place: str) -> bool:
    """Whether a place is that of an event's id, as `/eventId`, `/event_id` and `/event/id` are."""
    return "".join(filter(str.isalnum, place)).lower().endswith(_NAMES)


def _ids_in(calls: Sequence[Answer], texts: list[str], answer: Answer) -> Ids:
    """The ids in the items that name the endpoints: those that no call or answer names, and that not all items have."""
    items = [item for item in items_in(answer.value) if any(str(leaf) in texts for _, leaf in pointer.leaves(item))]
    known = {*texts, *(str(leaf) for call in calls for leaf in _leaves_of(call))}
    found = Counter((place, leaf) for item in items for place, leaf in pointer.leaves(item) if _is_id(leaf))
    return Ids({pair: count for pair, count in found.items() if pair[1] not in known and count < len(items)})


def _is_id(leaf: Any) -> bool:
    """Whether a value may be an id: words without a digit are kinds of events, and states."""
    return isinstance(leaf, str) and is_distinctive(leaf) and any(map(str.isdigit, leaf)) and not is_time(leaf)


def _leaves_of(call: Answer) -> Iterator[Any]:
    yield from call.request.path.values()
    for document in (call.request.body, call.value):
        yield from (leaf for _, leaf in pointer.leaves(document))
