"""Answers to bodies at the edges of a schema that several checks judge: each is sent once for an operation."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import fixed_places, is_against_schema, schema_of
from conformance.checks.support.schema_bounds import LEAST_OBJECTS, NULLS, REQUIRED_ALONE, least_values, longest_texts
from conformance.checks.support.schema_edges import (
    Change,
    Edge,
    at_all,
    edges,
    has_scalar_beside,
    without_siblings,
)
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.outcomes import Level

SHORT: Final = 8
_WITHOUT_MEMBERS: Final = (REQUIRED_ALONE, LEAST_OBJECTS, NULLS)
_LONG: Final = 4096
"""In characters. A longer text may be refused for its size."""
WIDE: Final = (("", "é\U0001f642中"), ("x", "é中"))
"""What a text of characters of several bytes begins with, and the characters that follow in turn: most numbers of bytes
end within a character. The first form has characters of four bytes, two units of UTF-16, which some stores lack."""


def wide_text(length: int, form: tuple[str, str] = WIDE[0]) -> str:
    """A text of characters of several bytes."""
    start, cycle = form
    return (start + cycle * length)[:length]


def edges_of(case: Case, request: Request) -> list[Edge]:
    """The edges that the profile's schema states for the body of a request."""
    return list(edges(request.body, schema_of(case), fixed_places(case), request.scope.values()))


def longest_text(case: Case, request: Request) -> tuple[str, int]:
    """The place of a free text of a stated length, and that length; an empty place where there is none."""
    texts = longest_texts(request.body, schema_of(case), fixed_places(case), request.scope.values())
    return next(((where, length) for where, length in texts if SHORT < length <= _LONG), ("", 0))


def with_last_character(case: Case, request: Request, character: str) -> Request:
    """With that character at the end of a free text; the same request where there is none."""
    if schema_of(case) is None:
        return request
    where, longest = longest_text(case, request)
    text = f"{pointer.get(request.body, where)[: longest - 1]}{character}" if where else ""
    return request.with_body(pointer.replace(request.body, where, text)) if where else request


class EdgeAnswers:
    """The answers of one operation."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._least: Mapping[str, Answer] | None = None
        self._most: tuple[Answer, ...] | None = None

    async def least(self, case: Case) -> Mapping[str, Answer]:
        """By description: the answers to bodies with as little as the schema allows. Raises what `Case.send` raises."""
        async with self._turn:
            if self._least is None:
                self._least = await _send_least(case)
            else:
                _note_evidence(case, self._least.values())
            return self._least

    async def most(self, case: Case) -> tuple[Answer, ...]:
        """The answer to one body with numbers, lists and a text at their upper bounds, and with other switches."""
        async with self._turn:
            if self._most is None:
                self._most = await _send_most(case)
            else:
                _note_evidence(case, self._most)
            return self._most


def edge_answers(case: Case) -> EdgeAnswers:
    """Those that the checks of the operation share."""
    case.need(schema_of(case) is not None, f"schemas.{case.operation.request_schema}", "a schema of the body is needed")
    case.need_unlimited_fixtures()
    known = case.runtime.memory.setdefault(f"edges of {case.operation.id}", EdgeAnswers())
    assert isinstance(known, EdgeAnswers)
    return known


def _note_evidence(case: Case, answers: Collection[Answer]) -> None:
    case.answers += [answer.ref for answer in answers]


async def _send_least(case: Case) -> Mapping[str, Answer]:
    answers: dict[str, Answer] = {}
    request, number, schema = await case.arrange(), 0, schema_of(case)
    while number < len(found := list(least_values(request.body, schema, fixed_places(case), request.scope.values()))):
        description, body = found[number]
        number += 1
        least = request.with_body(body)
        if not strictjson.is_equal(body, request.body) and not is_against_schema(case, least):
            answers[description] = await case.send_with_retry(least, description)
            request = await case.arrange()
    return answers


def with_other_switches(case: Case, body: Any) -> Any:
    """The body with true and false the other way round, but for members that the profile fixes."""
    fixed = fixed_places(case)
    for at, leaf in pointer.leaves(body):
        if at and isinstance(leaf, bool) and at not in fixed:
            body = pointer.replace(body, at, not leaf)
    return body


async def _send_most(case: Case) -> tuple[Answer, ...]:
    request = await case.arrange()
    body: Any = at_all([edge for edge in edges_of(case, request) if not edge.is_least], request.body)
    where, length = longest_text(case, request)
    if where:
        body = pointer.replace(body, where, wide_text(length))
    most = request.with_body(with_other_switches(case, body))
    if strictjson.is_equal(body, request.body) or is_against_schema(case, most):
        return ()
    return (await case.send_with_retry(most, "the most that the schema allows"),)


async def expect_edges(case: Case, *, least: bool) -> None:
    """Violated where a value at an edge is refused alone with 400, and its neighbour is accepted.

    So it is without optional members beside it, which a service may compare with it: a day of the month depends on the
    month. Where such a member is required, or needed, it is a warning. So is a lower bound of zero, which comes last:
    generators of schemas write it where no person stated it.
    """
    for edge in sorted(edges_of(case, await case.arrange()), key=lambda edge: edge.is_zero):
        if edge.is_least != least:
            continue
        refused = await _send_edge(case, edge, edge.at_edge)
        if refused is None or refused.status != 400:  # None: another keyword refuses it, as uniqueItems
            continue
        accepted = await _send_neighbours(case, edge)
        if not accepted.ok:
            continue
        level = await _level_of_refusal(case, edge)
        if level is not None:
            bound = f"{edge.bound} of {case.operation.request_schema}"
            message = f"a value at {bound} is refused at {edge.where}, and the one next to it is accepted"
            weaker = Level.RECOMMENDED if edge.is_zero or level is Level.RECOMMENDED else None
            raise case.violation(message, accepted, refused, expected="200", level=weaker)


async def _send_edge(case: Case, edge: Edge, change: Change, *, is_bare: bool = False) -> Answer | None:
    """The answer to a changed value; `is_bare`: no optional members beside it. None where the schema refuses it."""
    good = await case.arrange()
    body = edge.put(good.body, change)
    if is_bare:
        body = without_siblings(edge.where, body, schema_of(case), fixed_places(case))
    changed = good.with_body(body)
    if is_against_schema(case, changed):
        return None
    return await case.send(changed, f"{edge.bound} at {edge.where}")


async def _level_of_refusal(case: Case, edge: Edge) -> Level | None:
    """RECOMMENDED where a relation to other members may explain a refusal at an edge, None where it does."""
    for other in edge.others_at_edge:
        answer = await _send_edge(case, edge, other)
        if answer is not None and answer.status != 400:
            return None
    at_edge = await _send_edge(case, edge, edge.at_edge, is_bare=True)
    next_to_it = await _send_edge(case, edge, edge.neighbour, is_bare=True)
    if at_edge is None or next_to_it is None or not next_to_it.ok:
        return Level.RECOMMENDED
    if at_edge.status != 400:
        return None
    is_related = edge.is_of_number and has_scalar_beside(edge.where, at_edge.request.body)
    return Level.RECOMMENDED if is_related else Level.REQUIRED


async def _send_neighbours(case: Case, edge: Edge) -> Answer:
    """The answer to a value next to the edge: that of the first one which is refused, or of the last one."""
    for change in edge.neighbours:
        good = await case.arrange()
        answer = await case.send(good.with_body(edge.put(good.body, change)), f"next to {edge.bound} at {edge.where}")
        if not answer.ok:
            break
    return answer


async def expect_empty_object(case: Case, refused: Answer) -> None:
    """Violated where the empty object is refused, and one member that is stated to be ignored is accepted."""
    if case.profile.bodies.unknown_members != "ignored":
        case.note("the empty object is refused, and a member that is ignored is not stated")
        return
    good = await case.arrange()
    accepted = await case.send(good.with_body({"xConformanceMember": "ignored"}), "an ignored member alone")
    if accepted.ok:
        message = "the empty object, which the schema allows, is refused, and one with an ignored member is accepted"
        raise case.violation(message, accepted, refused, expected="200")


def is_refused_for_its_edges(answers: Mapping[str, Answer]) -> bool:
    """Whether one of the least bodies is refused, not counting the ones that lack members or values."""
    return any(answer.status == 400 for name, answer in answers.items() if name not in _WITHOUT_MEMBERS)
