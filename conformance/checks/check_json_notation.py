"""JSON texts in notations that few clients use: a required body is sent as JSON, in whatever notation (BODY-2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.edge_answers import with_last_character
from conformance.checks.support.invalid_bodies import refusals
from conformance.checks.support.json_notation import with_escapes, with_escapes_and_white_space, with_white_space
from conformance.checks.support.registry import check
from conformance.checks.support.sized_bodies import pad
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.profile.model import Profile

Notation = Callable[[Any, Collection[Any]], bytes]
_NOTATIONS: Final[Mapping[str, Notation]] = {"escapes": with_escapes, "white-space": with_white_space}
_BOTH: Final[Mapping[str, Notation]] = {"escapes-and-white-space": with_escapes_and_white_space}
_BEYOND_16_BITS: Final = "\U0001f642"
"""A character of two UTF-16 units."""


def _notations(profile: Profile, _operation: Operation) -> Mapping[str, Notation]:
    return _NOTATIONS if profile.limits.depth == "deep" else _BOTH


@check("BODY-2", cases=_notations)
async def json_is_read_in_each_notation(case: Case, notation: Notation) -> None:
    """A body in another notation of JSON (RFC 8259, sections 2, 7 and 8.3) is accepted where it is in the usual one.

    Escapes make it longer: the usual one is filled up to the same length, since the largest body need not be stated.
    """
    case.require_case(isinstance(case.facts.body, dict), "the profile's body is not a JSON object")
    case.need_unlimited_fixtures()
    if notation is not with_escapes_and_white_space:
        await _expect_read(case, notation)
        return
    both = with_last_character(case, await case.arrange(), _BEYOND_16_BITS)
    answer = await case.send_with_retry(_in_notation(case, both, notation), "JSON in another notation")
    if answer.status in refusals(case):
        for part in _NOTATIONS.values():
            await _expect_read(case, part)
        case.note("escapes and white space together are refused, and not for one of them alone")


def _in_notation(case: Case, request: Request, notation: Notation) -> Request:
    content = notation(request.document, list(request.scope.values()))
    limit = case.profile.bodies.max_bytes
    case.require_case(limit is None or len(content) <= limit, f"the body exceeds {limit} bytes in that notation")
    return request.with_raw_body(content)


async def _expect_read(case: Case, notation: Notation) -> None:
    """Without the character beyond 16 bits where the body is refused with it in the usual notation, too."""
    for change in (lambda request: with_last_character(case, request, _BEYOND_16_BITS), lambda request: request):
        good = change(await case.arrange())
        other = _in_notation(case, good, notation)
        refused = await case.send_with_retry(other, "JSON in another notation")
        if refused.status not in refusals(case):
            return
        usual = change(await case.arrange())
        if notation is with_escapes:
            usual = pad(usual, len(other.wire("").content or b""))
        accepted = await case.send(usual, "the same JSON in the usual notation")
        if accepted.ok:
            message = "a JSON text was refused in another notation, and accepted in the usual one"
            raise case.violation(message, accepted, refused, expected="200")
    case.note("the body is refused in the usual notation, too")
