"""Requests of a limited caller in other forms: the limit counts them too, where it counts by caller (RATE-6)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from math import ceil
from typing import Final

from conformance.checks.support.authorization_forms import other_spellings, with_form
from conformance.checks.support.bursts import LIMITED_STATUSES, Burst, measure
from conformance.checks.support.case import Case
from conformance.checks.support.separate_counts import BY_CALLER
from conformance.checks.support.unusual_calls import with_headers
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.profile.behavior import RateLimit

_ADDRESS_HEADERS: Final = ("X-Forwarded-For", "X-Real-IP", "CF-Connecting-IP")
_USER_AGENT: Final = "Mozilla/5.0 (X11; Linux x86_64; rv:{number}.0) Gecko/20100101 Firefox/{number}.0"
_ORIGIN: Final = "https://shop-{number}.example"
_LEAST: Final = 10
_MOST: Final = 100
"""Requests in each form."""
_FIRST: Final = 5
"""Of a form; the others are sent where one of these passes."""


def forms_of(case: Case, request: Request) -> dict[str, tuple[Request, ...]]:
    """The request as from other addresses and clients, from other pages with a query that it does not need, and in
    other spellings of the scheme where those are accepted, as stated.

    In quick depth only the first of these. The spellings are sent before the others: the less time has passed, the
    fewer requests a limit allows. Empty where the limit does not count by caller. A form that is refused gets nothing
    through.
    """
    if case.profile.rate_limit.per not in BY_CALLER or not request.credential:
        return {}
    count = _request_count(case.profile.rate_limit)
    numbers = range(1, count + 1)
    clients = {"as from other addresses and clients": tuple(_from_client(request, number) for number in numbers)}
    if case.profile.limits.depth == "quick":
        return clients
    queries = {"with other queries, from other pages": tuple(_from_page(request, number) for number in numbers)}
    spellings = other_spellings(case.profile.authorization, 2 * count)
    forms = islice(cycle(spellings), 2 * count)  # a short scheme has few of them
    spelled = {"in other spellings of its scheme": tuple(with_form(case, request, form) for form in forms)}
    return (spelled if spellings else {}) | clients | queries


def _request_count(facts: RateLimit) -> int:
    """More than the limit allows in a quarter of its window: what has been sent before may all have been limited."""
    needed = 1 + ceil(1.25 * (facts.limit or 0) * facts.tolerance)
    return min(max(_LEAST, needed), _MOST, max(_LEAST, facts.max_requests))


def _from_client(request: Request, number: int) -> Request:
    """As from another address, and from another program that prefers another language, media type and coding."""
    quality = f"q=0.{number:02}"
    headers = {
        "User-Agent": _USER_AGENT.format(number=100 + number),
        "Accept": f"application/json, text/html;{quality}",
        "Accept-Encoding": f"gzip, deflate;{quality}",
        "Accept-Language": f"en;{quality}",
        **dict.fromkeys(_ADDRESS_HEADERS, f"198.51.100.{number}"),
        "Forwarded": f"for=198.51.100.{number}",
    }
    return with_headers(request, headers)


def _from_page(request: Request, number: int) -> Request:
    """With another query, and as from a script of another page, with another cookie.

    A target may refuse any of these, and none of what `_from_client` adds.
    """
    origin = _ORIGIN.format(number=number)
    headers = {"Origin": origin, "Referer": f"{origin}/", "Cookie": f"session={number}"}
    return with_headers(request, headers).with_query(n=str(number))


async def _send_at_once(case: Case, name: str, requests: Sequence[Request]) -> list[Answer]:
    sent = (case.send(item, f"limited, {name}", accept_statuses=LIMITED_STATUSES) for item in requests)
    return list(await asyncio.gather(*sent))


async def observe_evasion(case: Case, burst: Burst, forms: Mapping[str, Sequence[Request]]) -> dict[str, Burst]:
    """By form, the burst that has just been limited and that form's requests after it, as one.

    A single one that passes shows nothing: a bucket of tokens is refilled meanwhile.
    """
    found = {}
    for name, requests in forms.items():
        answers = await _send_at_once(case, name, requests[:_FIRST])
        if any(answer.ok or answer.status is None for answer in answers):
            answers += await _send_at_once(case, name, requests[_FIRST:])
        later = measure(answers)
        found[name] = Burst(
            limited_answer=burst.limited_answer,
            last=next((answer for answer in answers if answer.ok), later.last),
            request_count=burst.request_count + later.request_count,
            successes=burst.successes + later.successes,
            seconds=later.start + later.seconds - burst.start,
            start=burst.start,
        )
    return found
