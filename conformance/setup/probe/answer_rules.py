"""What all answers of the probe have in common: headers with a new value in each, and members without a name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.client.response import Answer
from conformance.judge.validators import Validators
from conformance.setup.probe.context import Probe
from conformance.setup.probe.openapi import ERROR

_LEAST_ANSWERS: Final = 50
_LEAST_REFUSALS: Final = 3
"""Different statuses other than 200: what usual answers have, errors of another layer may lack."""
_OF_AN_ANSWER: Final = re.compile(
    r"(request|trace|correlation|span|transaction|invocation|message|event|call)[-_]?(id|parent|context)$"
    r"|^traceparent$|^cf-ray$",
    re.IGNORECASE,
)
"""Names of headers that identify an answer or its request."""
_OF_TIME: Final = ("date", "age", "expires", "last-modified")
"""They are new as time passes, and no value is new in each answer."""


async def probe_answers(probe: Probe) -> None:
    """States the headers that are new in each answer, and that answers have further members where they were seen."""
    _state_fresh_headers(probe)
    _state_further_members(probe)


def _state_fresh_headers(probe: Probe) -> None:
    answers = [answer for answer in probe.answers if answer.status is not None and not answer.gateway_trouble]
    statuses = {answer.status for answer in answers}
    if len(answers) < _LEAST_ANSWERS or len(statuses - {200}) < _LEAST_REFUSALS:
        return
    headers = [_first_values(answer) for answer in answers]
    fresh = fresh_headers(headers)
    stated = [name for name in fresh if _OF_AN_ANSWER.search(name)]
    observed = f"in each of {len(answers)} answers with the statuses {', '.join(map(str, sorted(statuses, key=str)))}"
    if stated:
        names = {name.lower(): name for answer in answers for name, _ in answer.headers}
        listing = [probe.clean(names[name]) for name in stated]
        probe.draft.state(("answers", "fresh_headers"), listing, f"a new value {observed}")
    elif fresh:
        line = f"fresh_headers = [{', '.join(repr(probe.clean(name)) for name in fresh)}]"
        probe.draft.todo("answers", line, f"only if each answer has a new value by intention; it had one {observed}")
    else:
        reason = "no header is always new"
        probe.draft.state(("answers", "fresh_headers"), {"none": reason}, f"none has a new value {observed}")


def _first_values(answer: Answer) -> dict[str, str]:
    return {name.lower(): value for name, value in reversed(answer.headers)}


def fresh_headers(headers: Sequence[Mapping[str, str]]) -> list[str]:
    """The names, in lower case, that every answer has, each time with another value. Times are left out."""
    if not headers:
        return []
    common = [name for name in headers[0] if all(answer.get(name) for answer in headers)]
    return [
        name for name in common if name not in _OF_TIME and len({answer[name] for answer in headers}) == len(headers)
    ]


def _state_further_members(probe: Probe) -> None:
    """By the schemas of the document; what is inferred from answers names each of their members."""
    judged, places = 0, list[str]()
    validators = Validators(probe.schemas)
    for answer in probe.answers:
        name = _schema_name(probe, answer)
        if not name or not isinstance(answer.value, dict) or validators.problem(name, answer.value):
            continue
        judged += 1
        if place := validators.unnamed_member(name, answer.value):
            places.append(f"{probe.clean(place)} in an answer of {answer.request.operation.id}")
    if places:
        evidence = f"{len(places)} of {judged} answers have a member that no schema names: {places[0]}"
        probe.draft.state(("answers", "further_members"), "allowed", evidence)
    elif judged:
        reason = f"only if no answer has members beyond its schema; none of {judged} had any"
        probe.draft.todo("answers", 'further_members = "never"', reason)


def _schema_name(probe: Probe, answer: Answer) -> str:
    """The name of the schema that the document has for an answer; empty without one."""
    is_error = answer.status is not None and 400 <= answer.status < 500
    name = answer.request.operation.response_schema if answer.ok else ERROR if is_error else ""
    known: Mapping[str, Any] = probe.openapi.evidence
    return name if name in known else ""
