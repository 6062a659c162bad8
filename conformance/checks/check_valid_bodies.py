"""Valid bodies at the edges of what the profile's schemas allow (STA-1, BODY-4), and those that it states (BODY-10)."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.edge_answers import (
    SHORT,
    WIDE,
    edge_answers,
    expect_edges,
    expect_empty_object,
    is_refused_for_its_edges,
    longest_text,
    wide_text,
)
from conformance.checks.support.invalid_bodies import is_against_schema, schema_of
from conformance.checks.support.listed_values import body_of_listed_values
from conformance.checks.support.registry import check
from conformance.checks.support.schema_bounds import REQUIRED_ALONE
from conformance.checks.support.sized_bodies import pad
from conformance.checks.support.stated_bodies import answer_to_body, other_bodies, send_body
from conformance.checks.support.strategies import places
from conformance.checks.support.survival import expect_survival
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer


@check("STA-1", on="body", shares="least bodies")
async def the_least_body_is_survived(case: Case) -> None:
    """The required members alone, empty lists, empty texts, the smallest numbers and nulls get a declared status."""
    case.require_case(schema_of(case) is not None, f"the profile has no schema {case.operation.request_schema}")
    answers = await edge_answers(case).least(case)
    for description, answer in answers.items():
        expect_survival(case, description, answer, oversize=False)
    case.require_case(answers, "the good body has nothing that could be less")


@check("BODY-4", on="body", shares="least bodies")
async def the_least_that_a_schema_allows_is_accepted(case: Case) -> None:
    """A list, a text or a number at a lower bound that is stated is accepted where the value next to it is.

    So is the empty object, where its schema requires nothing and unknown members are ignored.
    """
    answers = await edge_answers(case).least(case)
    case.require_case(answers, "the good body has nothing that could be less")
    empty = answers.get(REQUIRED_ALONE)
    if empty is not None and empty.status == 400 and empty.request.body == {}:
        await expect_empty_object(case, empty)
    if is_refused_for_its_edges(answers):
        await expect_edges(case, least=True)


@check("BODY-4", on="body")
async def the_most_that_a_schema_allows_is_accepted(case: Case) -> None:
    """A list or a number at a stated upper bound is accepted where the value next to it is.

    An integer of more than 32 bits is accepted below its upper bound where the largest one of 32 bits is.
    """
    answers = await edge_answers(case).most(case)
    case.require_case(answers, "the good body has nothing that could be more")
    if answers[0].status == 400:
        await expect_edges(case, least=False)


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


@check("STA-1", on="body")
async def each_listed_value_is_survived(case: Case) -> None:
    """Members whose values the schema lists get a declared status with each other value, also those not in the body."""
    schema, body, number = schema_of(case), (await case.good_answer()).request.body, 0
    case.require_case(schema is not None, f"the profile has no schema {case.operation.request_schema}")
    case.require_case(body_of_listed_values(schema, body, 0) is not None, "the schema lists no other values")
    while body_of_listed_values(schema, body, number) is not None:
        good = await case.arrange()
        other = good.with_body(body_of_listed_values(schema, good.body, number))
        answer = await case.send_with_retry(other, "other listed values")
        expect_survival(case, "a body of other listed values", answer, oversize=False)
        number += 1


@check("BODY-4", on="body")
async def a_text_is_measured_in_characters(case: Case) -> None:
    """A text of the longest stated length is accepted in characters of several bytes where ASCII of that length is.

    The body with the ASCII text is as long in bytes, since the largest body need not be stated. Where ASCII of that
    length is refused too, one character less tells whether the length is the cause.
    """
    answers = await edge_answers(case).most(case)
    where, longest = longest_text(case, await case.arrange())
    case.require_case(where, "no member of the body is a free text of a stated length")
    if answers and answers[0].status != 400:
        return

    async def send(text: str, size: int = 0) -> Answer:
        good = await case.arrange()
        changed = good.with_body(pointer.replace(good.body, where, text))
        fits = not is_against_schema(case, changed)
        case.require_case(fits, f"{case.operation.request_schema} refuses a text of {len(text)} characters at {where}")
        return await case.send(pad(changed, size), f"{len(text)} characters at {where}")

    for form in WIDE:
        wide, short = await send(wide_text(longest, form)), await send(wide_text(SHORT, form))
        plain = await send("x" * longest, len(wide.request.wire("").content or b""))
        if plain.ok and short.ok and wide.status == 400:
            message = (
                f"{longest} characters at {where}, which the schema allows, are refused if they have several bytes"
            )
            raise case.violation(message, short, plain, wide, expected="200")
        if plain.status == 400 and short.ok:
            near = await send("x" * (longest - 1), len(plain.request.wire("").content or b""))
            if near.ok:
                message = f"{longest} characters at {where}, which the schema allows, are refused, and one less is not"
                raise case.violation(message, near, plain, expected="200")
    case.note(f"the body with the most that the schema allows is refused in other ways than for the length of {where}")


@check("BODY-10", on="body", cases=other_bodies)
async def every_stated_body_is_accepted(case: Case, index: int | None) -> None:
    """Another body that the profile states as valid is not answered 400, where the usual one is answered 200.

    Its state may not allow what such a body asks for, which is not a question of the body.
    """
    missing = f"the profile states no other valid body (operations.{case.operation.id}.bodies)"
    case.require_case(index is not None, missing)
    assert index is not None
    if (await answer_to_body(case, index)).status != 400:
        return
    refused = await send_body(case, index)
    control = await case.control(await case.arrange())
    if refused.status == 400:
        message = "a body that the profile states as valid was answered 400"
        raise case.violation(message, control, refused, expected="200")
