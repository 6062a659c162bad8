"""JSON texts in notations that few clients use: a required body is sent as JSON, in whatever notation (BODY-2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import alternate_cases
from conformance.checks.support.edge_answers import longest_text
from conformance.checks.support.invalid_bodies import refusals, schema_of
from conformance.checks.support.json_notation import with_escapes, with_white_space
from conformance.checks.support.registry import check
from conformance.checks.support.sized_bodies import pad
from conformance.client.request import Request
from conformance.core import json_pointer as pointer

Notation = Callable[[Any, Collection[Any]], bytes]
_NOTATIONS: Final[Mapping[str, Notation]] = {"escapes": with_escapes, "white-space": with_white_space}
_BEYOND_16_BITS: Final = "\U0001f642"


def _with_wide_character(case: Case, request: Request) -> Request:
    """With a character of two UTF-16 units at the end of a free text; the same request where there is none."""
    if schema_of(case) is None:
        return request
    where, longest = longest_text(case, request)
    text = f"{pointer.get(request.body, where)[: longest - 1]}{_BEYOND_16_BITS}" if where else ""
    return request.with_body(pointer.replace(request.body, where, text)) if where else request


@check("BODY-2", cases=alternate_cases(_NOTATIONS))
async def json_is_read_in_each_notation(case: Case, notation: Notation) -> None:
    """A body in another notation of JSON (RFC 8259, sections 2, 7 and 8.3) is accepted where it is in the usual one.

    Escapes make it longer: the usual one is filled up to the same length, since the largest body need not be stated.
    """
    case.require_case(isinstance(case.facts.body, dict), "the profile's body is not a JSON object")
    case.need_unlimited_fixtures()
    for change in (_with_wide_character, lambda _case, request: request):
        good = change(case, await case.arrange())
        content = notation(good.document, list(good.scope.values()))
        limit = case.profile.bodies.max_bytes
        case.require_case(limit is None or len(content) <= limit, f"the body exceeds {limit} bytes in that notation")
        refused = await case.send_with_retry(good.with_raw_body(content), "JSON in another notation")
        if refused.status not in refusals(case):
            return
        usual = change(case, await case.arrange())
        if notation is with_escapes:
            usual = pad(usual, len(content))
        accepted = await case.send(usual, "the same JSON in the usual notation")
        if accepted.ok:
            message = "a JSON text was refused in another notation, and accepted in the usual one"
            raise case.violation(message, accepted, refused, expected="200")
    case.note("the body is refused in the usual notation, too")
