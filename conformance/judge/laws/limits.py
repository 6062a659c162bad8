"""Rate limits (RATE-3; Limits)."""

from __future__ import annotations

from typing import Final

from conformance.judge.laws.judgement import Judgements, confirmation, violation
from conformance.judge.laws.traffic import Call, Traffic

_MARGIN_S: Final = 0.1


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
