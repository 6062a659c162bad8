"""Rate limits (RATE-3; Limits)."""

from __future__ import annotations

from typing import Final

from conformance.judge.laws.judgement import Judgements, confirmation, violation
from conformance.judge.laws.traffic import UNKNOWN, Call, Traffic, only_header

_MARGIN_S: Final = 0.1
_RESOLUTION_S: Final = 1.0


def a_limit_ends(traffic: Traffic) -> Judgements:
    """RATE-3. After the stated recovery time, in which no request was sent, a limited call is not limited again.

    Sure where the recording holds all requests that are counted together.
    """
    recovery_s = traffic.facts.recovery_s
    if recovery_s is None or not traffic.facts.is_all_traffic:
        return
    calls = {call.id: call for call in traffic.calls}
    last_end, last_call = 0.0, None
    for at, end, name in traffic.moments():
        call = calls.get(name)
        if call is not None and last_call is not None and at - last_end >= recovery_s + _MARGIN_S:
            yield from _judge(last_call, call, at - last_end)
        if end >= last_end:
            last_end, last_call = end, call


def a_limit_says_when_it_ends(traffic: Traffic) -> Judgements:
    """RATE-7. A 429 has the header Retry-After, or has not, as the profile states; and what it says is true."""
    yield from a_limit_has_the_header_as_stated(traffic)
    yield from a_limit_lasts_as_it_says(traffic)


def a_limit_lasts_as_it_says(traffic: Traffic) -> Judgements:
    """RATE-7. After the time in its Retry-After, in which no request was sent, a limited call is not limited again.

    Sure where the recording holds all requests that are counted together. The header has a resolution of one second,
    which is waited for besides. A date is not read: it needs the clock of the target.
    """
    if not (traffic.facts.retry_after and traffic.facts.is_all_traffic):
        return
    calls = {call.id: call for call in traffic.calls}
    limited: dict[tuple[str, str], Call] = {}
    last_end = 0.0
    for at, end, name in traffic.moments():
        call = calls.get(name)
        if call is not None and call.caller != UNKNOWN:
            before = limited.pop((call.operation, call.caller), None)
            if before is not None and before.end <= at and call.status in (200, 429):
                stated_s = _retry_after_s(traffic, before)
                if stated_s is not None and at - last_end >= stated_s + _RESOLUTION_S:
                    yield from _judge_retry(before, call, stated_s)
            if call.status == 429:
                limited[call.operation, call.caller] = call
        last_end = max(last_end, end)


def _retry_after_s(traffic: Traffic, call: Call) -> float | None:
    """The seconds of the only Retry-After of an answer; None for a date, or where there is none."""
    text = only_header(traffic.exchange(call.number).response, "Retry-After") or ""
    return float(text.strip()[:9]) if text.strip().isascii() and text.strip().isdigit() else None


def _judge_retry(limited: Call, call: Call, stated_s: float) -> Judgements:
    if call.status == 429:
        message = f"limited for longer than the {stated_s:g} s of its Retry-After, in which nothing was sent"
        yield violation(message, limited, call, expected="200")
    else:
        yield confirmation(limited, call)


def a_limit_has_the_header_as_stated(traffic: Traffic) -> Judgements:
    """RATE-7. A 429 has the header Retry-After, or has not, as the profile states."""
    stated = traffic.facts.retry_after
    for call in traffic.calls if stated is not None else ():
        headers = traffic.exchange(call.number).response.headers if call.status == 429 else ()
        if not headers:
            continue
        is_there = any(name.lower() == "retry-after" for name, _ in headers)
        if is_there == stated:
            yield confirmation(call)
        else:
            expected = f"{'a' if stated else 'no'} Retry-After header"
            observed = "one" if is_there else "none"
            yield violation("a 429 is not as rate_limit.retry_after states", call, expected=expected, observed=observed)


def _judge(limited: Call, call: Call, pause_s: float) -> Judgements:
    if limited.status != 429 or (limited.operation, limited.caller) != (call.operation, call.caller):
        return
    if call.status == 429:
        message = f"a limit is still in force after {pause_s:.1f} s in which nothing was sent"
        yield violation(message, limited, call, expected="200")
    else:
        yield confirmation(limited, call)
