"""Lengths, numbers and broken escapes between the extremes (BODY-5, NF-1, SRCH-3, SRCH-7, STA-1).

Whatever the value, the answer is a declared one: which, 200, 400 or 404, is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from conformance.checks.support import ladder
from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inapplicable, Violated
from conformance.checks.support.survival import expect_survival
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.model import Level
from conformance.profile.model import Profile

Steps = Callable[[Profile, Any], Iterable[tuple[str, Any]]]


def _texts(profile: Profile, body: Any) -> Iterable[tuple[str, Any]]:
    return ladder.texts(body, profile.idempotency.place if profile.idempotency else "")


def _numbers(_profile: Profile, body: Any) -> Iterable[tuple[str, Any]]:
    return ladder.numbers(body)


def _is_plenty(case: Case) -> bool:
    """Whether a fixture may be taken for each step."""
    try:
        case.need_plenty()
    except Inapplicable:
        return False
    return True


@check("BODY-5", cases={"texts": _texts, "numbers": _numbers})
async def a_member_of_any_size_is_survived(case: Case, steps_of: Steps) -> None:
    """A text of any length and a number of any size in a body are accepted or refused with a declared status."""
    request = await case.arrange()
    steps = list(steps_of(case.profile, request.body))
    case.further(steps, "no member of the body is of that type")
    plenty = _is_plenty(case)
    for where, value in steps:
        changed = request.with_body(pointer.replace(request.body, where, value)).with_fresh_key()
        what = f"{_size(value)} at {where}"
        answer = await case.stubborn(changed, what)
        expect_survival(case, what, answer, oversize=False)
        if answer.ok and plenty:
            request = await case.arrange()


def _size(value: Any) -> str:
    return f"a text of {len(value)} characters" if isinstance(value, str) else f"the number {value:g}"


@check("NF-1")
async def an_id_of_any_length_breaks_nothing(case: Case) -> None:
    """An id that is too long for any column, or a number too large for one, is answered with a declared status."""
    request = await case.arrange()
    name = case.operation.path_parameters[0]
    known = request.path[name]
    numeric = known.isdecimal() and known.isascii()
    ids = [ladder.of_length(known, length) for length in ladder.URL_LENGTHS if length > len(known)]
    ids += [str(number) for number in ladder.NUMBERS if number >= 2**31] if numeric else []
    await _survived(case, [(f"an id of {len(one)} characters", request.with_path(**{name: one})) for one in ids])


@check("NF-1", on="hosted")
async def a_broken_escape_in_a_session_breaks_nothing(case: Case) -> None:
    """A session id with NUL, a malformed escape or octets that are no UTF-8 is no way in, and no crash."""
    request = await case.arrange()
    name = case.operation.path_parameters[0]
    known = quote(request.path[name], safe="")
    broken = [(end, replace(request, raw_path={name: f"{known}{end}"}, exact=True)) for end in ladder.BROKEN_ESCAPES]
    await _survived(case, [(f"a session id with {end}", one) for end, one in broken])


def _query_texts(_profile: Profile, operation: Operation) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Parameters with the raw values that each is sent with: the declared ones, or one that nobody declared."""
    short = ("%00", "%ff%zz")
    if not operation.query_parameters:
        return {"unknown": ("xConformanceProbe", short)}
    return {p.name: (p.name, ladder.BROKEN_ESCAPES if p.name == "q" else short) for p in operation.query_parameters}


@check("STA-1", cases=_query_texts)
async def a_broken_escape_in_a_query_breaks_nothing(case: Case, told: tuple[str, tuple[str, ...]]) -> None:
    """A query parameter with NUL, malformed escapes or octets that are no UTF-8 is ignored or refused."""
    request = await case.arrange()
    name, values = told
    await _survived(case, [(f"{name}={raw}", request.with_raw_query(name, raw)) for raw in values])


@check("SRCH-3", cases={"page": "page", "pageSize": "pageSize"})
async def a_number_of_any_size_is_survived(case: Case, name: str) -> None:
    """page and pageSize of any size, also just beyond their bounds, are answered with a declared status."""
    request, search = await case.arrange(), case.profile.search
    stated = (search.page_base,) if name == "page" else (search.page_size_min, search.page_size_max)
    near = {bound + step for bound in stated if bound is not None for step in (-1, 0, 1)}
    values = sorted({*ladder.NUMBERS, *near, -(2**31) - 1})
    await _survived(case, [(f"{name}={n:g}", request.with_query(**{name: str(n)})) for n in values])


@check("SRCH-7", cases={name: name for name in ("q", "locale", "market", "sort", "category", "merchant")})
async def a_search_text_of_any_length_is_survived(case: Case, name: str) -> None:
    """A search parameter of any length is accepted or refused with a declared status."""
    request = await case.arrange()
    lengths = (0, 1, *ladder.URL_LENGTHS)
    await _survived(case, [(f"{name} of {n} characters", request.with_query(**{name: "a" * n})) for n in lengths])


async def _survived(case: Case, steps: Iterable[tuple[str, Request]]) -> None:
    """Each is answered with a declared status; of a request that is answered 200, the next one may be answered 409."""
    for what, request in steps:
        answer = await case.stubborn(request.with_fresh_key(), what)
        try:
            expect_survival(case, what, answer, oversize=len(answer.url) > ladder.LONG_URL)
        except Violated as violated:
            violated.level = Level.REQUIRED
            raise
