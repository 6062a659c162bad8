"""A repeated idempotency key: the same payload, another payload (IDEM-1, IDEM-4, IDEM-7; Endpoints, rule 2)."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Final

from conformance.core import json_pointer as pointer
from conformance.judge.laws import comparison
from conformance.judge.laws.judgement import Judgements, confirmation, is_after, violation
from conformance.judge.laws.traffic import UNKNOWN, Call, Traffic

UNSTATED_RETENTION_S: Final = 5.0
"""For how long a key is taken to be stored where the profile does not say."""
_SETTLE_S: Final = 1.5
"""Seconds, plus twice the duration of a call, for which an answered key may still be reported as in use."""
_LONGEST_SLOWEST_S: Final = 10.0
_UNDECIDED: Final = frozenset({0, 401, 403, 429})
"""A repetition with these statuses was lost, or refused for another reason than its key."""


def retention_s(traffic: Traffic) -> float:
    """For how many seconds a key is certainly stored after its first use."""
    rule = traffic.facts.idempotency
    return UNSTATED_RETENTION_S if rule is None or rule.retention_s is None else rule.retention_s


def volatile(traffic: Traffic) -> tuple[str, ...]:
    return traffic.facts.idempotency.volatile if traffic.facts.idempotency else ()


def answers_differ(traffic: Traffic, first: Call, second: Call) -> str | None:
    """The place at which two answers surely differ; None where they may be equal, "" where they differ as a whole."""
    if first.answer and first.answer == second.answer:
        return None
    values = traffic.answer_value(first), traffic.answer_value(second)
    if comparison.NO_VALUE in values:
        return None
    return comparison.difference(*values, volatile(traffic))


def answers_are_known(traffic: Traffic, *calls: Call) -> bool:
    """Whether the answers can be compared: they are whole, and JSON."""
    return all(call.answer and traffic.answer_value(call) is not comparison.NO_VALUE for call in calls)


def stored_pairs(traffic: Traffic, calls: Sequence[Call]) -> Iterator[tuple[Call, Call]]:
    """The first 200 under a key with each later call that began after it, while the key is certainly stored."""
    rule = traffic.facts.idempotency
    first = min((call for call in calls if call.ok), key=lambda call: call.end, default=None)
    if first is None or rule is None or not rule.stores_success:
        return
    for call in calls:
        if is_after(call, first) and call.end - first.at < retention_s(traffic):
            yield first, call


def groups(traffic: Traffic) -> Iterator[Sequence[Call]]:
    """The calls with one key by one caller of one operation on one resource, but for the token exchange.

    There a repetition needs a fresh proof, and what a fresh proof makes of it is not required (OA-11).
    """
    for calls in traffic.by_key.values():
        found: dict[tuple[Any, ...], list[Call]] = defaultdict(list)
        for call in calls:
            if call.caller != UNKNOWN and traffic.facts.operations[call.operation].auth != "oauth":
                found[call.operation, call.caller, call.path, call.query].append(call)
        yield from (group for group in found.values() if len(group) > 1)


def same_call_same_answer(traffic: Traffic) -> Judgements:
    """IDEM-1. A repetition of a call that was answered 200 has its status and its JSON value.

    Silent on other bytes of the body, 401, 403, 429, gateway errors, and a 409 while the key may be in use.
    """
    for group in groups(traffic):
        for first, repetition in stored_pairs(traffic, group):
            if first.payload and first.payload == repetition.payload:
                yield from _judge_repetition(traffic, first, repetition)


def _judge_repetition(traffic: Traffic, first: Call, repetition: Call) -> Judgements:
    if repetition.status in _UNDECIDED or repetition.status >= 500:
        return
    if repetition.status == 409 and repetition.at < first.end + _settle_s(traffic, repetition):
        return
    if not repetition.ok:
        message = "the same call with the same idempotency key has another status"
        yield violation(message, first, repetition, expected=str(first.status))
        return
    if not answers_are_known(traffic, first, repetition):
        return
    where = answers_differ(traffic, first, repetition)
    if where is None:
        yield confirmation(first, repetition)
    else:
        message = f"the same call with the same idempotency key has another answer at {where or 'its root'}"
        observed = f"another value at {where or 'the root'}"
        yield violation(
            message, first, repetition, expected="the same JSON value, but for volatile members", observed=observed
        )


def _settle_s(traffic: Traffic, call: Call) -> float:
    durations = [other.end - other.at for other in traffic.of(call.operation) if other.ok]
    return _SETTLE_S + 2 * min(_LONGEST_SLOWEST_S, max(durations, default=0.0))


def calls_at_once_settle(traffic: Traffic) -> Judgements:
    """IDEM-7. Of the same call sent several times at once, those that are answered 200 have one answer."""
    for group in groups(traffic):
        answered = [call for call in group if call.ok and call.payload]
        for first, second in combinations(answered[:20], 2):
            if first.payload != second.payload or is_after(second, first) or is_after(first, second):
                continue
            if not answers_are_known(traffic, first, second):
                continue
            where = answers_differ(traffic, first, second)
            if where is None:
                yield confirmation(first, second)
            else:
                message = f"two calls at once with the same idempotency key have different answers at {where or '/'}"
                yield violation(
                    message, first, second, expected="one answer", observed=f"another value at {where or '/'}"
                )


def a_duplicate_in_flight_waits(traffic: Traffic) -> Judgements:
    """IDEM-15. A duplicate of a call in progress is answered as that call, where the profile states that it waits."""
    rule = traffic.facts.idempotency
    for group in groups(traffic) if rule and rule.in_flight == "waits" else ():
        if not group[0].payload or len({call.payload for call in group}) > 1:
            continue
        answered = [call for call in group if call.ok]
        for call in group:
            first = next((earlier for earlier in answered if _is_during(call, earlier, traffic.facts.clock_s)), None)
            if first is None:
                continue
            if call.status == 409:
                message = "a duplicate of a call in progress was answered 409, and idempotency.in_flight is 'waits'"
                yield violation(message, first, call, expected="200")
            elif call.ok:
                yield confirmation(first, call)


def _is_during(call: Call, earlier: Call, clock_s: float) -> bool:
    """Whether a call surely began while another one was in progress. `end` holds the precision of the clock already."""
    return call is not earlier and earlier.at + clock_s <= call.at < earlier.end - 2 * clock_s


def other_payload_conflicts(traffic: Traffic) -> Judgements:
    """IDEM-4. Another payload under a key that was answered 200 is answered 409.

    Sure only where a member differs that the profile's bodies hold, in a value of the same type that no reading takes
    for the same. Refusals for another reason (400, 404 and so on) decide nothing.
    """
    for group in groups(traffic):
        for first, other in stored_pairs(traffic, group):
            if (
                not (first.payload and other.payload)
                or first.payload == other.payload
                or other.status not in (200, 409)
            ):
                continue
            where = meaningful_difference(traffic, first, other)
            if where is None:
                continue
            if other.ok:
                message = f"another payload ({where}) under a used idempotency key was not answered 409"
                yield violation(message, first, other, expected="409")
            else:
                yield confirmation(first, other)


def meaningful_difference(traffic: Traffic, first: Call, second: Call) -> str | None:
    """A member of both bodies whose values mean different things; None where there is none for sure."""
    values = traffic.request_value(first), traffic.request_value(second)
    if comparison.NO_VALUE in values:
        return None
    for pattern in traffic.facts.operations[first.operation].meaningful:
        for where in pointer.expand(values[0], pattern):
            if all(pointer.has(value, where) for value in values):
                a, b = (pointer.get(value, where) for value in values)
                if mean_different_things(a, b):
                    return where
    return None


def mean_different_things(first: Any, second: Any) -> bool:
    """Whether two scalars differ under every reading: neither case, nor blanks, nor a spelling of Unicode."""
    if isinstance(first, bool) or isinstance(second, bool):
        return isinstance(first, bool) and isinstance(second, bool) and first is not second
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return first != second
    if not (isinstance(first, str) and isinstance(second, str)) or comparison.may_be_equal(first, second):
        return False
    return _essence(first) != _essence(second)


def _essence(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
