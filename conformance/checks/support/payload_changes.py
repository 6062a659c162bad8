"""Another payload under a used key: how its answer is judged, and where an answer shows what a request says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checks.support.case import Case
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.outcomes import Level


async def judge_payload(
    case: Case, where: str, lone_answer: Answer, first: Answer, repeat: Answer, *, level: Level | None = None
) -> None:
    """Violated where a payload that is accepted alone, or whatever was answered 200, is not refused under a used key.

    Another declared refusal than 409 is a warning where a new key changes nothing: what the first call has left refuses
    the payload, before its key is looked up. `level` is that of the violation.
    """
    if repeat.status == 409:
        return
    message = f"a payload with another {where} under a used key was not answered 409"
    answers = [lone_answer, first, repeat]
    if lone_answer.ok and repeat.is_refused and repeat.has_declared_status:
        under_new_key = await case.send(repeat.request.with_fresh_key(), f"another {where}, after the call, a new key")
        answers.append(under_new_key)
        if under_new_key.status == repeat.status:
            case.warn(message, *answers, expected="409")
            return
    if lone_answer.ok or not repeat.is_refused:
        raise case.violation(message, *answers, expected="409", observed=repeat.summary, level=level)
    case.note(f"another {where} is refused even alone, and under the used key with {repeat.status}")


def tells_apart(where: str, first: Answer, second: Answer) -> bool:
    """Whether two answers show, at one place, what each one's request says at `where`, and that differs.

    A target whose answers differ in a text takes the two texts for different ones. Of lists of objects, which an
    answer may show in part, the lengths count.
    """
    values = [pointer.get(answer.request.body, where) for answer in (first, second)]
    if _is_equal(*values):
        return False
    places = (place for place, part in _parts(first.value) if _is_equal(part, values[0]))
    return any(
        pointer.has(second.value, place) and _is_equal(pointer.get(second.value, place), values[1]) for place in places
    )


def shows(where: str, answer: Answer) -> bool:
    """Whether an answer shows what its request says at a place."""
    value = pointer.get(answer.request.body, where)
    return any(_is_equal(part, value) for _, part in _parts(answer.value))


def _is_equal(first: Any, second: Any) -> bool:
    if all(isinstance(items, list) and any(isinstance(item, dict) for item in items) for items in (first, second)):
        return len(first) == len(second)
    return bool(strictjson.is_equal(first, second))


def _parts(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """By its place, every value within an answer that is not an object."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, dict):
        yield at, value
    for name, item in members:
        yield from _parts(item, at + pointer.join(name))
