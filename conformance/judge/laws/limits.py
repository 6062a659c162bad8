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
    last_end = 0.0
    limited: Call | None = None
    for at, end, call in traffic.moments():
        is_alike = limited and call and (limited.operation, limited.caller) == (call.operation, call.caller)
        if limited and call and is_alike and at - last_end >= recovery_s + _MARGIN_S:
            message = f"a limit is still in force after {at - last_end:.1f} s in which nothing was sent"
            yield from _judge_end(traffic, limited, call, message)
        if end >= last_end:
            last_end, limited = end, call if call and call.status == 429 else None


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
    limited: dict[tuple[str, str], Call] = {}
    last_end = 0.0
    for at, end, call in traffic.moments():
        if call is not None and call.caller != UNKNOWN:
            before = limited.pop((call.operation, call.caller), None)
            if before is not None and before.end <= at and call.status in (200, 429):
                stated_s = _retry_after_s(traffic, before)
                if stated_s is not None and at - last_end >= stated_s + _RESOLUTION_S:
                    message = (
                        f"limited for longer than the {stated_s:g} s of its Retry-After, in which nothing was sent"
                    )
                    yield from _judge_end(traffic, before, call, message)
            if call.status == 429:
                limited[call.operation, call.caller] = call
        last_end = max(last_end, end)


def _retry_after_s(traffic: Traffic, call: Call) -> float | None:
    """The seconds of the only Retry-After of an answer; None for a date, or where there is none."""
    text = only_header(traffic.exchange(call.number).response, "Retry-After") or ""
    return float(text.strip()[:9]) if text.strip().isascii() and text.strip().isdigit() else None


def _judge_end(traffic: Traffic, limited: Call, call: Call, message: str) -> Judgements:
    """`message`: what a limit that is still in force violates."""
    if call.status != 429:
        yield confirmation(limited, call)
    elif _is_in_force(traffic, limited, call):
        yield violation(message, limited, call, expected="200")


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


def _is_in_force(traffic: Traffic, limited: Call, call: Call) -> bool:
    """Whether each of two 429s has another one beside it: a single one among other answers may shed load at random."""
    alike = [item for item in traffic.of(call.operation) if item.caller == call.caller]
    before, after = alike.index(limited) - 1, alike.index(call) + 1
    return before >= 0 and after < len(alike) and alike[before].status == alike[after].status == 429
