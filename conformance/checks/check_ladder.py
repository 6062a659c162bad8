"""Sweeps of lengths, numbers and broken escapes (BODY-5, NF-1, SRCH-3, SRCH-7, STA-1).

Each value must get a declared status; which of 200, 400 or 404 is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from conformance.checks.support import ladder
from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import every_nth
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inapplicable, Violation
from conformance.checks.support.survival import expect_survival
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Level
from conformance.judge.answer_scope import LARGE_BODY, LONG_URL
from conformance.profile.model import Profile

Steps = Callable[[Profile, Any], Iterable[tuple[str, Any]]]


def _texts(profile: Profile, body: Any) -> Iterable[tuple[str, Any]]:
    return ladder.texts(body, profile.idempotency.place if profile.idempotency else "")


def _numbers(_profile: Profile, body: Any) -> Iterable[tuple[str, Any]]:
    return ladder.numbers(body)


def _has_unlimited_fixtures(case: Case) -> bool:
    """Whether there are enough fixtures to use one for each step."""
    try:
        case.need_unlimited_fixtures()
    except Inapplicable:
        return False
    return True


@check("BODY-5", cases={"texts": _texts, "numbers": _numbers})
async def a_member_of_any_size_is_survived(case: Case, steps_of: Steps) -> None:
    """Texts of any length and numbers of any size in a body get a declared status."""
    request = await case.arrange()
    steps = list(steps_of(case.profile, request.body))
    case.require_case(steps, "no member of the body is of that type")
    can_renew = _has_unlimited_fixtures(case)
    for where, value in every_nth(steps, case.profile, case.operation):
        changed_request = request.with_body(pointer.replace(request.body, where, value)).with_fresh_key()
        description = f"{_size(value)} at {where}"
        answer = await case.send_with_retry(changed_request, description)
        expect_survival(case, description, answer, oversize=len(answer.sent_body) > LARGE_BODY)
        if answer.ok and can_renew:
            request = await case.arrange()


def _size(value: Any) -> str:
    return f"a text of {len(value)} characters" if isinstance(value, str) else f"the number {value:g}"


@check("NF-1")
async def an_id_of_any_length_breaks_nothing(case: Case) -> None:
    """Very long ids and very large numeric ids get a declared status."""
    request = await case.arrange()
    name = case.operation.path_parameters[0]
    known_id = request.path[name]
    numeric = known_id.isdecimal() and known_id.isascii()
    ids = [ladder.with_length(known_id, length) for length in ladder.URL_LENGTHS if length > len(known_id)]
    ids += [str(number) for number in ladder.NUMBERS if number >= 2**31] if numeric else []
    await _expect_survival(
        case,
        [
            (f"an id of {len(value)} characters", request.with_path(**{name: value}))
            for value in every_nth(ids, case.profile, case.operation)
        ],
    )


@check("NF-1", on="hosted")
async def a_broken_escape_in_a_session_breaks_nothing(case: Case) -> None:
    """Session ids with NUL, malformed escapes or invalid UTF-8 get a declared status."""
    request = await case.arrange()
    name = case.operation.path_parameters[0]
    known_id = quote(request.path[name], safe="")
    requests = [(end, replace(request, raw_path={name: f"{known_id}{end}"})) for end in ladder.BROKEN_ESCAPES]
    await _expect_survival(case, [(f"a session id with {end}", defective) for end, defective in requests])


def _query_texts(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Query parameters, each with its raw values: the declared ones and that of a stated cursor, or an unknown one."""
    short = ("%00", "%ff%zz")
    if not operation.query_parameters:
        return {"unknown": ("xConformanceProbe", tuple(every_nth(short, profile, operation)))}
    texts = {p.name: (p.name, ladder.BROKEN_ESCAPES if p.name == "q" else short) for p in operation.query_parameters}
    cursor = profile.search.cursor_parameter
    return {**texts, "cursor": (cursor, ladder.CURSORS)} if cursor else texts


@check("STA-1", cases=_query_texts)
async def a_broken_escape_in_a_query_breaks_nothing(case: Case, parameter: tuple[str, tuple[str, ...]]) -> None:
    """Query parameters with NUL, malformed escapes or invalid UTF-8 are ignored or refused; so are unknown cursors.

    A cursor may need to stand in place of page, or beside it.
    """
    request = await case.arrange()
    name, values = parameter
    steps = [(f"{name}={raw}", request.with_raw_query(name, raw)) for raw in values]
    if name == case.profile.search.cursor_parameter:
        steps += [(f"{text}, without page", changed.without_query("page")) for text, changed in steps]
    await _expect_survival(case, steps)


@check("SRCH-3", cases={"page": "page", "pageSize": "pageSize"})
async def a_number_of_any_size_is_survived(case: Case, name: str) -> None:
    """Any integer as page or pageSize, also just beyond the bounds, gets a declared status."""
    request, search = await case.arrange(), case.profile.search
    bounds = (search.page_base,) if name == "page" else (search.page_size_min, search.page_size_max)
    near = {bound + step for bound in bounds if bound is not None for step in (-1, 0, 1)}
    values = sorted({*ladder.NUMBERS, *near, -(2**31) - 1})
    await _expect_survival(case, [(f"{name}={n:g}", request.with_query(**{name: str(n)})) for n in values])


@check("SRCH-7", cases={name: name for name in ("q", "locale", "market", "sort", "category", "merchant")})
async def a_search_text_of_any_length_is_survived(case: Case, name: str) -> None:
    """Search parameters of any length get a declared status."""
    request = await case.arrange()
    lengths = (0, 1, *ladder.URL_LENGTHS)
    await _expect_survival(
        case, [(f"{name} of {n} characters", request.with_query(**{name: "a" * n})) for n in lengths]
    )


async def _expect_survival(case: Case, steps: Iterable[tuple[str, Request]]) -> None:
    """Violated unless each gets a declared status; after a 200, the next request may be answered 409."""
    for description, request in steps:
        answer = await case.send_with_retry(request.with_fresh_key(), description)
        try:
            expect_survival(case, description, answer, oversize=len(answer.url) > LONG_URL)
        except Violation as violation:
            violation.level = Level.REQUIRED
            raise
