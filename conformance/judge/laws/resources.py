"""What can be used once, and states: codes, tickets, carts, sessions (OA-4, HO-2, CONF-1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from conformance.core.model import REFUSAL_STATUSES
from conformance.judge.laws.judgement import Judgements, confirmation, is_after, violation
from conformance.judge.laws.traffic import UNKNOWN, Call, Traffic

_SOON_S: Final = 5.0
_SOON_IN_ALL_TRAFFIC_S: Final = 60.0
"""In this time a state is taken not to be changed by other means: by hand, or by a client that was not recorded."""


def a_code_is_exchanged_once(traffic: Traffic) -> Judgements:
    """OA-4. Of the exchanges of one code under different idempotency keys at most one is answered 200."""
    yield from _used_once(traffic, "exchangeOAuthToken", "an authorization code")


def a_ticket_is_consumed_once(traffic: Traffic) -> Judgements:
    """HO-2. Of the uses of one ticket under different idempotency keys at most one is answered 200."""
    yield from _used_once(traffic, "consumeHostedCheckoutBrowserTicket", "a ticket")


def _used_once(traffic: Traffic, operation: str, name: str) -> Judgements:
    """Whatever the order of the calls, and also at once. A repetition under the same key is not a second use."""
    uses: dict[str, list[Call]] = defaultdict(list)
    for call in traffic.of(operation):
        if call.single_use and call.key != UNKNOWN:
            uses[call.single_use].append(call)
    for calls in uses.values():
        first = next((call for call in calls if call.ok), None)
        for other in calls if first else ():
            assert first is not None
            if _may_be_one_key(first, other):
                continue
            if other.ok:
                yield violation(f"{name} was accepted twice", first, other, expected="400, 401, 404 or 409")
            elif is_after(other, first) and other.status in REFUSAL_STATUSES:
                yield confirmation(first, other)


def a_conflicting_transition_is_refused(traffic: Traffic) -> Judgements:
    """CONF-1. After a 200 that leads to a state, what conflicts with that state is not answered 200.

    Sure where nothing else was sent to the resource in between that may have changed it, and soon after.
    """
    for first, call, status in _transitions(traffic):
        if status != 200 and call.ok:
            message = f"{call.operation} was answered 200 after {first.operation}, with which it conflicts"
            yield violation(message, first, call, expected=str(status))
        elif call.status == status != 200:
            yield confirmation(first, call)


def _transitions(traffic: Traffic) -> Iterator[tuple[Call, Call, int]]:
    """The call that led to the state of a resource, the next one to it, and the stated status of that."""
    rules = {(rule.after, rule.operation): rule.status for rule in traffic.facts.conflicts}
    soon_s = _SOON_IN_ALL_TRAFFIC_S if traffic.facts.is_all_traffic else _SOON_S
    resources: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in traffic.calls:
        rule = traffic.facts.operations[call.operation]
        if call.path and rule.idempotent:
            resources[rule.path.partition("{")[0], call.path[0]].append(call)
    for calls in resources.values():
        for index, call in enumerate(calls):
            first = _last_change(calls, index)
            status = rules.get((first.operation, call.operation)) if first else None
            if first is None or status is None or call.at - first.end > soon_s:
                continue
            yield first, call, status


def _last_change(calls: Sequence[Call], index: int) -> Call | None:
    """The last call that changed the resource before this one; None where other calls may have changed it since."""
    call, before = calls[index], calls[:index]
    if _is_repeated(call, calls):
        return None
    if any(not is_after(call, other) for other in before) or any(
        not is_after(other, call) for other in calls[index + 1 :]
    ):
        return None  # they overlap
    changes = [other for other in before if other.ok or other.status == 0 or other.status >= 500]
    last = changes[-1] if changes else None
    return last if last is not None and last.ok and not _is_repeated(last, before) else None


def _is_repeated(call: Call, calls: Sequence[Call]) -> bool:
    """Whether an answer may be the replay of an earlier call, which says nothing about the present state."""
    return call.key in ("", UNKNOWN) or any(_may_be_one_key(call, other) for other in calls if other is not call)


def _may_be_one_key(first: Call, second: Call) -> bool:
    """Whether a target may take their idempotency keys for one, in which case counts or not."""
    return first.key.casefold() == second.key.casefold()
