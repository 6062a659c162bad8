"""Valid bodies at the edges of what the profile's schemas allow (STA-1, BODY-4)."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import fixed_places, schema_of
from conformance.checks.support.registry import check
from conformance.checks.support.schema_bounds import least_values, longest_texts
from conformance.checks.support.strategies import places
from conformance.checks.support.survival import expect_survival
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

_SHORT = 8
_LONG = 4096
"""In characters. A longer text may be refused for its size."""


@check("STA-1", on="body")
async def the_least_body_is_survived(case: Case) -> None:
    """The required members alone, empty lists, empty texts and the smallest numbers get a declared status."""
    schema = schema_of(case)
    case.require_case(schema is not None, f"the profile has no schema {case.operation.request_schema}")
    case.need_unlimited_fixtures()
    request, number = await case.arrange(), 0
    while number < len(found := list(least_values(request.body, schema, fixed_places(case), request.scope.values()))):
        description, body = found[number]
        number += 1
        if not strictjson.is_equal(body, request.body):
            answer = await case.send_with_retry(request.with_body(body), description)
            expect_survival(case, description, answer, oversize=False)
            request = await case.arrange()
    case.require_case(case.answers, "the good body has nothing that could be less")


@check("STA-1", on="body")
async def an_item_that_comes_twice_is_survived(case: Case) -> None:
    """A list whose first item comes twice gets a declared status, for each list of the body."""
    request = await case.arrange()
    lists = [
        where for where in places(request.body) if isinstance(value := pointer.get(request.body, where), list) and value
    ]
    case.require_case(lists, "the body has no list with an item")
    for where in lists:
        good = await case.arrange()
        items = pointer.get(good.body, where)
        doubled = good.with_body(pointer.replace(good.body, where, [items[0], *items]))
        answer = await case.send_with_retry(doubled, f"an item of {where} twice")
        expect_survival(case, f"an item of {where} twice", answer, oversize=False)


def _wide(length: int) -> str:
    """Characters of one byte, then of two and three in turn: most numbers of bytes end within one."""
    return ("x" + "é中" * length)[:length]


@check("BODY-4", on="body")
async def a_text_is_measured_in_characters(case: Case) -> None:
    """A text of the longest stated length is accepted in characters of several bytes where ASCII of that length is."""
    schema = schema_of(case)
    case.need(schema is not None, f"schemas.{case.operation.request_schema}", "a schema of the body is needed")
    case.need_unlimited_fixtures()
    request = await case.arrange()
    texts = longest_texts(request.body, schema, fixed_places(case), request.scope.values())
    where, longest = next(((at, length) for at, length in texts if _SHORT < length <= _LONG), ("", 0))
    case.require_case(where, "no member of the body is a free text of a stated length")

    async def send(text: str) -> Answer:
        good = await case.arrange()
        changed = good.with_body(pointer.replace(good.body, where, text))
        return await case.send(changed, f"{len(text)} characters at {where}")

    wide = await send(_wide(longest))
    if wide.status != 400:
        return
    short, plain = await send(_wide(_SHORT)), await send("x" * longest)
    if short.ok and plain.ok:
        message = f"{longest} characters at {where}, which the schema allows, are refused where they have several bytes"
        raise case.violation(message, short, plain, wide, expected="200")
    case.note(f"such a text is refused at {where} in other ways, too")
