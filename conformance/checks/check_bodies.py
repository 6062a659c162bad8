"""Request bodies: Endpoints, rule 4 (BODY-1 to BODY-4, BODY-6, BODY-7)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import nan
from typing import Any, Final
from urllib.parse import urlencode

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import alternate_cases, every_nth
from conformance.checks.support.invalid_bodies import (
    Change,
    allows_no_members,
    breaks_of_other_bodies,
    contract_breaks,
    refusals,
    template_of,
)
from conformance.checks.support.refused_effects import as_defect, examine_failed_control, level_of_failed_control
from conformance.checks.support.registry import check
from conformance.checks.support.replays import free_leaves
from conformance.checks.support.sized_bodies import in_chunks
from conformance.checks.support.unusual_calls import unusual_call
from conformance.client.request import Request
from conformance.contract import Operation, load_contract
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Level
from conformance.profile.model import Profile


def _text(request: Request) -> bytes:
    return json.dumps(request.document).encode()


@check("BODY-1", cases={"absent": Request.without_body, "zero-length": lambda request: request.with_raw_body(b"")})
async def a_required_body_must_be_sent(case: Case, change: Change) -> None:
    """Without its required body a request is answered 400."""
    await case.shared_negative(change, refusals(case), "no body", any_refusal=True)


@check("BODY-1")
async def a_body_in_chunks_is_no_missing_one(case: Case) -> None:
    """A valid body is accepted in chunks, which every recipient can parse (RFC 9112, section 7.1): 400 is a warning.

    A server may ask for a length with 411 instead (RFC 9110, section 15.5.12).
    """
    if await unusual_call(case):
        return
    request = await case.arrange()
    answer = await case.send_with_retry(in_chunks(request), "a body in chunks", request)
    if answer.status == 400:
        case.warn("a valid body in chunks was answered 400", answer, expected="200")
    case.note(f"a body in chunks is answered {answer.summary}")


NOT_JSON: Mapping[str, Change] = {
    "truncated": lambda request: request.with_raw_body(_text(request)[:-1]),
    "blank": lambda request: request.with_raw_body(b" \r\n "),
    "trailing-garbage": lambda request: request.with_raw_body(_text(request) + b"]"),
    "second-object": lambda request: request.with_raw_body(_text(request) + b" {}"),
    "second-value": lambda request: request.with_raw_body(_text(request) + b"\n[]"),
}
_ON_SOME: Final = ("truncated", "trailing-garbage", "second-object")


def _defects(profile: Profile, operation: Operation) -> Mapping[str, Change]:
    """Each operation has a second value behind its body, and one operation has all.

    That finds what ignores the rest, what takes the first value of several, and what is cut out between braces. Where
    no member is required, white space may be read as a body without members; the others take turns with the rest.
    """
    if profile.limits.depth == "deep":
        return NOT_JSON
    is_first, may_be_empty = operation.id == "createInstallationWebhook", allows_no_members(profile, operation)
    turn = ["blank"] if may_be_empty else every_nth(_ON_SOME, profile, operation, len(_ON_SOME))
    names = {*turn, *(_ON_SOME if is_first else ()), "second-value"}
    return {name: change for name, change in NOT_JSON.items() if name in names}


@check("BODY-2", cases=_defects)
async def a_body_that_is_no_json_is_answered_400(case: Case, change: Change) -> None:
    """A required body must be JSON."""
    await case.shared_negative(change, refusals(case), "a body that is not JSON", any_refusal=True)


_EXTENDED_JSON: Mapping[str, Change] = {
    "trailing-comma": lambda request: request.with_raw_body(_text(request)[:-1] + b",}"),
    "comment": lambda request: request.with_raw_body(_text(request)[:-1] + b"/* */}"),
    "control-character": lambda request: request.with_raw_body(_with_control_character(request)),
    "invalid-utf-8": lambda request: request.with_raw_body(_text(request)[:-1] + b',"a":"\xff"}'),
}
"""Where each is read, by what libraries do; the last one has one member more."""


def _with_control_character(request: Request) -> bytes:
    """A tab in place of a space of a text; where no text has one, a line break in the name of a new member."""
    texts = [leaf for _, leaf in free_leaves(request) if isinstance(leaf, str) and leaf.isascii() and " " in leaf]
    if not texts:
        return _text(request)[:-1] + b',"a\nb":1}'
    known = json.dumps(max(texts, key=len)).encode()
    return _text(request).replace(known, known.replace(b" ", b"\t", 1), 1)


def _numbers(body: Any) -> list[str]:
    return [at for at, leaf in pointer.leaves(body) if isinstance(leaf, int | float) and not isinstance(leaf, bool)]


def _with_no_number(request: Request) -> Request:
    """NaN in place of the last number, as Python, JavaScript's supersets and some loggers write it."""
    return request.with_raw_body(
        json.dumps(pointer.replace(request.document, _numbers(request.body)[-1], nan)).encode()
    )


def _extensions(profile: Profile, operation: Operation) -> Mapping[str, Change]:
    """Each operation has one; the first one whose body has a number also has one that is none."""
    cases = alternate_cases(_EXTENDED_JSON, 4)(profile, operation)
    earlier = load_contract().all[: load_contract().all.index(operation)]
    has_numbers = _numbers(template_of(profile, operation))
    is_first = has_numbers and not any(_numbers(template_of(profile, other)) for other in earlier)
    return {**cases, **({"not-a-number": _with_no_number} if is_first else {})}


@check("BODY-2", cases=_extensions)
async def an_extension_of_json_is_no_json(case: Case, change: Change) -> None:
    """A warning where a body in an extension of JSON is accepted, which a parser may read (RFC 8259, section 9)."""
    case.require_case(isinstance(case.facts.body, dict), "the profile's body is not a JSON object")
    purpose = "a body in an extension of JSON"
    await case.shared_negative(change, refusals(case), purpose, any_refusal=True, level=Level.RECOMMENDED)


async def _flat_bodies(case: Case, request: Request) -> list[dict[str, str]]:
    """Bodies that consist of strings only, which a form can express: valid ones of the profile, or a reduced one."""
    bodies = [request.body, *[await case.runtime.arranger.render_body(request, other) for other in case.facts.bodies]]
    flat = [body for body in bodies if isinstance(body, dict) and all(isinstance(item, str) for item in body.values())]
    strings = {name: item for name, item in request.body.items() if isinstance(item, str)}
    return [*flat, strings] if strings else flat


@check("BODY-2")
async def a_form_is_answered_400(case: Case) -> None:
    """A body that is valid as JSON is refused as a form; at the token endpoint it is recorded.

    There the standard demands forms (RFC 6749, section 4.1.3), which a service may take beside JSON.
    """
    case.require_case(isinstance(case.facts.body, dict), "the profile's body is not a JSON object")
    for index in range(1 + len(case.facts.bodies)):
        trial = await case.arrange()
        bodies = await _flat_bodies(case, trial)
        if index < len(bodies) and (await case.send(trial.with_body(bodies[index]), "flat body, as JSON")).ok:
            break
    else:
        case.require_case(False, "no valid body is known that consists of strings only, as a form does")
    request = await case.arrange()
    request = request.with_body((await _flat_bodies(case, request))[index])
    form = request.with_raw_body(urlencode(request.document).encode(), "application/x-www-form-urlencoded")
    if case.operation.auth == "oauth":
        answer = await case.send_with_retry(form, "a form", request)
        case.note(f"a form is answered {answer.summary}")
        return
    await case.negative(request, form, refusals(case), "a form", any_refusal=True)


_NO_OBJECTS: Mapping[str, Callable[[Any], Any]] = {
    "empty-array": lambda body: [],
    "array": lambda body: [body],
    "null": lambda body: None,
}


def _no_objects(profile: Profile, operation: Operation) -> Mapping[str, Callable[[Any], Any]]:
    """Some readers of JSON read a text twice: each operation gets its good body as JSON in a string.

    Where no member is required, null and an empty array may be read as a body without members. Where one is, an array
    may be read as the body that it holds.
    """
    if profile.limits.depth == "deep" or profile.body_schema(operation.request_schema) is None:
        return {"string": json.dumps, **alternate_cases(_NO_OBJECTS)(profile, operation)}
    names = ("empty-array", "null") if allows_no_members(profile, operation) else ("array",)
    return {"string": json.dumps, **{name: _NO_OBJECTS[name] for name in names}}


@check("BODY-3", cases=_no_objects)
async def a_body_that_is_no_object_is_answered_400(case: Case, value_of: Callable[[Any], Any]) -> None:
    """All request bodies are objects; binding where the profile's schema says so.

    The array and the string hold a good body.
    """
    name, validators = case.operation.request_schema, case.runtime.validators
    value = value_of((await case.good_answer()).request.document)
    is_forbidden = validators.knows(name) and bool(validators.problem(name, value))
    level = Level.DECLARED if is_forbidden else None
    await case.shared_negative(
        lambda request: request.with_raw_body(json.dumps(value_of(request.document)).encode()),
        refusals(case),
        "a body that is not an object",
        any_refusal=True,
        level=level,
    )


@check("BODY-4", cases=contract_breaks)
async def a_body_that_breaks_its_schema_is_answered_400(case: Case, schema_break: tuple[str, Change] | None) -> None:
    """A required member of the profile's schema may not be missing, and no member may have another type."""
    schema = case.operation.request_schema
    case.need(schema in case.profile.schemas.by_name, f"schemas.{schema}", "a schema of the body is needed")
    case.require_applicable(schema_break, f"{schema} neither requires nor types a member of the body")
    assert schema_break is not None
    where, change = schema_break

    def break_schema(request: Request) -> Request:
        bad = change(request)
        if not case.runtime.validators.problem(schema, bad.document):
            case.require_case(False, f"{schema} allows that change of {where}")
        return bad

    purpose, level = f"a body that breaks {schema} at {where}", level_of_failed_control(case, Level.DECLARED)
    async with examine_failed_control(case, as_defect(break_schema), purpose, level=level):
        await case.shared_negative(break_schema, refusals(case), purpose, any_refusal=True)


@check("BODY-4", cases=breaks_of_other_bodies)
async def members_of_other_bodies_are_validated(case: Case, schema_break: tuple[int, str, Change]) -> None:
    """The same of a member that only another stated body has, as that body's one defect."""
    index, where, change = schema_break
    request = await case.arrange(body=case.facts.bodies[index])
    defective, schema = change(request), case.operation.request_schema
    is_broken = case.runtime.validators.problem(schema, defective.document)
    case.require_case(is_broken, f"{schema} allows that change of {where}")
    purpose = f"another body that breaks {schema} at {where}"
    await case.negative(request, defective, refusals(case), purpose, any_refusal=True)


_MEDIA_TYPES = {
    "upper-case": "Application/JSON",
    "text-plain": "text/plain",
    "none": None,
}


_CHARSETS = {"charset": "application/json; charset=utf-8", "unknown-charset": "application/json; charset=no-such"}


def _media_types(profile: Profile, operation: Operation) -> Mapping[str, str | None]:
    """All, but one of the character sets for each operation."""
    return {**alternate_cases(_CHARSETS)(profile, operation), **_MEDIA_TYPES}


@check("BODY-6", cases=_media_types)
async def other_media_types_are_recorded(case: Case, media_type: str | None) -> None:
    """The answer to valid JSON under another media type is recorded."""
    stated = {"text/plain": case.profile.bodies.media_types, None: case.profile.bodies.absent_media_type}
    stated["Application/JSON"] = case.profile.bodies.media_types
    case.require_case(not stated.get(media_type), "the profile states it, and BODY-9 judges it")
    request = await case.arrange()
    as_sent = (
        request.with_raw_body(_text(request), media_type)
        if media_type is None
        else replace(request, media_type=media_type)
    )
    answer = await case.send_with_retry(as_sent, f"Content-Type {media_type}")
    case.note(f"JSON sent as {media_type or 'nothing'} is answered {answer.summary}")


@check("BODY-7")
async def unknown_members_are_recorded(case: Case) -> None:
    """Whether an unknown member is ignored or refused is recorded."""
    case.require_case(not case.profile.bodies.unknown_members, "the profile states it, and BODY-9 judges it")
    request = await case.arrange()
    case.require_applicable(isinstance(request.body, dict), "the profile's body is not a JSON object")
    answer = await case.send(request.with_body({**request.body, "xConformanceProbe": True}), "unknown member")
    case.note(f"an unknown member is answered {answer.summary}")
