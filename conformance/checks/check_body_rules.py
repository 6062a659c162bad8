"""Request bodies: what the profile states of further members, media types, size and depth (BODY-9)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import uuid4

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import every_nth
from conformance.checks.support.edge_answers import with_last_character
from conformance.checks.support.invalid_bodies import is_against_schema
from conformance.checks.support.media_types import IN_CAPITALS, JSON_TYPE, SUBTYPE, other_media_types, with_media_type
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.sized_bodies import depth_of, expect_sendable, in_chunks, nest, pad
from conformance.checks.support.unusual_calls import unusual_call
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Level
from conformance.judge.answer_scope import OVERSIZE
from conformance.judge.invariants import ERROR_SCHEMA
from conformance.profile.subschema import Root

_STORING: Final = ("createInstallationWebhook", "updateInstallationWebhook")
"""The operations whose answers show the body that they store."""
_FIRST: Final = "createInstallationWebhook"
_TAKING: Final = ("ignored", "kept")
_OF_TWO_BYTES: Final = "é"
_ROOM: Final = 100
"""In bytes, for a member that is added later."""


def _require_object(case: Case, request: Request) -> dict[str, Any]:
    case.require_applicable(isinstance(request.body, dict), "the profile's body is not a JSON object")
    return dict(request.body)


def _is_beyond_limits(case: Case, request: Request) -> bool:
    """Whether a stated limit, or the schema, refuses the body for another reason than the one that is asked about."""
    bodies, size = case.profile.bodies, len(request.wire("").content or b"") + _ROOM
    is_large = bodies.max_bytes is not None and size > bodies.max_bytes
    is_deep = bodies.max_depth is not None and depth_of(request.document) > bodies.max_depth
    return is_large or is_deep or is_against_schema(case, request)


def _require_allowed(case: Case, changed: Request) -> None:
    """The schema of the body takes its unknown members; where it does not, the schema and the profile disagree."""
    if is_against_schema(case, changed):
        raise Inconclusive(f"{case.operation.request_schema} refuses members that bodies.unknown_members accepts")


def _with_unknown_members(case: Case, request: Request, text: str) -> Request:
    """With an unknown member at the top, and another in the first object within whose schema names its members.

    Another object is a map, whose keys may have a form of their own.
    """
    body = {**_require_object(case, request), f"x{text}": text}
    changed = request.with_body(body)
    _require_allowed(case, changed)
    name = _object_of_known_members(case, request.body)
    if name is None:
        return changed
    deeper = request.with_body({**body, name: {**request.body[name], f"y{text}": "within"}})
    return changed if _is_beyond_limits(case, deeper) else deeper


async def _with_members_of_the_answer(case: Case, request: Request, number: int) -> Request:
    """With the members that the operation's answers have and its bodies do not, of the same types.

    None at the token endpoint, whose parameters a standard names, and none where the bodies have no schema.
    """
    schema = case.profile.body_schema(case.operation.request_schema)
    data = (await case.good_answer()).data
    if schema is None or case.operation.auth == "oauth" or not isinstance(data, dict):
        return request
    _require_object(case, request)
    known_names = {*request.document, *(name for name in data if any(Root(schema).subschemas(schema, [name])))}
    further = {name: _of_the_client(item, number) for name, item in data.items() if name not in known_names}
    changed = request.with_body({**request.body, **further})
    return request if _is_beyond_limits(case, changed) else changed


def _of_the_client(value: Any, number: int) -> Any:
    """A value of the same type with this number for each number and in each text, which no answer has by chance."""
    if isinstance(value, dict):
        return {name: _of_the_client(item, number) for name, item in value.items()}
    if isinstance(value, list):
        return [_of_the_client(item, number) for item in value[:1]]
    if isinstance(value, str):
        return f"text{number}"
    return number if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _place_taken_over(answer: Answer, number: int) -> str:
    """The place in the answer of a value with that number; empty where there is none."""
    found = (where for where, leaf in pointer.leaves(answer.data) if str(leaf) in (str(number), f"text{number}"))
    return next(found, "")


def _refusal_statuses(case: Case) -> frozenset[int]:
    """400; the token exchange may refuse a bad body with the status that `oauth.status.bad_body` states (OA-13)."""
    oauth = case.profile.oauth
    stated = oauth.status.bad_body if oauth is not None and case.operation.id == "exchangeOAuthToken" else None
    return frozenset({400, stated or 400})


def _places_of_unknown_members(case: Case, body: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The top of the body, unless its schema is open; and the first object within whose schema names its members."""
    schema = case.profile.body_schema(case.operation.request_schema) or {}
    if not any(map(_is_open, Root(schema).subschemas(schema, []))):
        yield ()
    name = _object_of_known_members(case, body)
    if name is not None:
        yield (name,)


def _object_of_known_members(case: Case, body: dict[str, Any]) -> str | None:
    """The name of the first object in a body whose schema names its members; None where there is none."""
    schema = case.profile.body_schema(case.operation.request_schema) or {}
    root = Root(schema)
    for name, value in body.items():
        parts = list(root.subschemas(schema, [name])) if isinstance(value, dict) else []
        if parts and all(_names_its_members(part) for part in parts):
            return name
    return None


def _names_its_members(part: Mapping[str, Any]) -> bool:
    return bool(part.get("properties")) and not _is_open(part)


def _is_open(part: Mapping[str, Any]) -> bool:
    """Whether a schema says that there are further members."""
    words = ("additionalProperties", "unevaluatedProperties", "patternProperties")
    return any(part.get(word, False) is not False for word in words)


@check("BODY-9")
async def an_unknown_member_is_treated_as_stated(case: Case) -> None:
    """A body with an unknown member is answered 400, or 200 as if it were not there, or shown by the answer."""
    stated, limit = case.profile.bodies.unknown_members, case.profile.bodies.max_bytes
    case.need(stated, "bodies.unknown_members", "the treatment of unknown members is needed")
    request = await case.arrange()
    if limit is not None:
        _need_room(case, request, limit)
    text = f"Conformance{uuid4().hex[:12]}"
    if stated == "refused":
        places = list(_places_of_unknown_members(case, _require_object(case, request)))
        case.require_case(places, f"{case.operation.request_schema} takes members of any name")
        for number, path in enumerate(places):
            control = await case.arrange() if number else request  # a control changes its resource
            bad = control.with_body(pointer.put(control.body, pointer.join(*path, f"x{text}"), text))
            await case.negative(control, bad, _refusal_statuses(case), "an unknown member", any_refusal=True)
        return
    number = 10_000_000 + uuid4().int % 80_000_000
    bare = request
    if stated == "ignored":
        request = await _with_members_of_the_answer(case, request, number)
    answer = await case.send_with_retry(_with_unknown_members(case, request, text), "unknown members")
    if answer.is_refused and request is not bare:
        # a service may know a member of its answers, such as an id, which must be that of the path
        answer = await case.send_with_retry(_with_unknown_members(case, await case.arrange(), text), "unknown members")
    if not answer.ok:
        await case.control(await case.arrange())  # a refused control explains the refusal
        message = f"an unknown member was refused, and bodies.unknown_members is {stated!r}"
        raise case.violation(message, answer, expected="200")
    is_shown = f'"{text}"' in answer.body.decode("utf-8", "replace")
    if stated == "ignored" and is_shown:
        raise case.violation("the answer shows an unknown member, which is ignored as stated", answer, expected="none")
    if stated == "ignored" and (where := _place_taken_over(answer, number)):
        message = f"the answer has a value of an unknown member at {where}, and bodies.unknown_members is 'ignored'"
        raise case.violation(message, answer, expected="the target's own value")
    if stated == "kept" and not is_shown and case.operation.id in _STORING:
        raise case.violation("the answer does not show an unknown member, which is kept as stated", answer)


async def _expect_accepted(case: Case, media_type: str | None, fact: str, level: Level | None = None) -> None:
    request, text = await case.arrange(), f"Content-Type {media_type or 'absent'}"
    answer = await case.send_with_retry(with_media_type(request, media_type), text, request)
    if not answer.ok:
        await case.control(await case.arrange())
        raise case.violation(
            f"a body with {text} was refused, and {fact} names it", answer, expected="200", level=level
        )


@check("BODY-9")
async def a_stated_media_type_is_accepted(case: Case) -> None:
    """A valid body under each media type of the profile is answered 200; the usual one is that of each control."""
    media_types = case.profile.bodies.media_types
    case.need(media_types, "bodies.media_types", "the accepted media types are needed")
    further = [name for name in media_types if name != "application/json"]
    case.require_case(further, "the profile names no other media type than that of the controls")
    for media_type in further:
        await _expect_accepted(case, media_type.replace("*", SUBTYPE), "bodies.media_types")


@check("BODY-9")
async def the_case_of_a_media_type_does_not_count(case: Case) -> None:
    """A stated media type in capitals is the same one (RFC 9110, section 8.3.1): a refusal is a warning."""
    media_types = case.profile.bodies.media_types
    case.need(media_types, "bodies.media_types", "the accepted media types are needed")
    case.require_case(JSON_TYPE in media_types, "the profile does not name application/json")
    if not await unusual_call(case):
        await _expect_accepted(case, IN_CAPITALS, "bodies.media_types", Level.RECOMMENDED)


@check("BODY-9", on=_FIRST, deep_on="body")
async def a_quoted_charset_is_the_same_one(case: Case) -> None:
    """A charset that is accepted is accepted between quotes (RFC 9110, section 8.3.1): a refusal is a warning.

    Whether a stated media type may have a charset at all is not stated.
    """
    media_types = case.profile.bodies.media_types
    case.need(media_types, "bodies.media_types", "the accepted media types are needed")
    case.require_case("application/json" in media_types, "the profile does not name application/json")
    plain = replace(await case.arrange(), media_type="application/json; charset=utf-8")
    answer = await case.send_with_retry(plain, "a charset")
    case.require_case(answer.ok, f"a charset is answered {answer.summary}")
    await _expect_accepted(case, 'application/json; charset="utf-8"', "bodies.media_types", Level.RECOMMENDED)


@check("BODY-9")
async def another_media_type_is_refused(case: Case) -> None:
    """A valid body under a media type that the profile does not name is answered 400.

    One has the suffix, another the beginning of a stated one; operations next to each other share these.
    """
    media_types = case.profile.bodies.media_types
    case.need(media_types, "bodies.media_types", "the accepted media types are needed")
    first, *further = other_media_types(media_types) or [""]
    others = [first, *every_nth(further, case.profile, case.operation)]
    case.require_case(first, "the profile names every media type that the suite knows")

    async def refuse(request: Request) -> Answer:
        for media_type in others:
            bad = with_media_type(request, media_type).with_fresh_key()
            answer = await case.refusal(
                bad, _refusal_statuses(case), f"Content-Type {media_type}", any_refusal=True, control=request
            )
        return answer

    await case.share_control(refuse, "another media type")


@check("BODY-9")
async def an_absent_media_type_is_treated_as_stated(case: Case) -> None:
    """A valid body without Content-Type is answered 200 or 400, as stated."""
    stated = case.profile.bodies.absent_media_type
    case.need(stated, "bodies.absent_media_type", "whether a body needs a Content-Type is needed")
    if stated == "accepted":
        await _expect_accepted(case, None, "bodies.absent_media_type")
    else:
        await case.shared_negative(
            lambda request: with_media_type(request, None),
            _refusal_statuses(case),
            "no Content-Type",
            any_refusal=True,
        )


def _fill(request: Request, size: int) -> Request:
    """The body with a further member of letters of two bytes each: over `size` bytes, about half as many letters.

    Inconclusive where these are too many.
    """
    expect_sendable(size)
    return request.with_body({**request.body, "xConformanceText": "é" * (size // 2)})


async def _expect_200(case: Case, request: Request, text: str) -> None:
    answer = await case.send_with_retry(request.with_fresh_key(), text)
    if answer.status is None and "within" in answer.trouble:
        raise Inconclusive(f"a body of {text} was not answered in time", answer, cause="limits.timeout_s")
    if not answer.ok:
        await case.control(await case.arrange())
        raise case.violation(f"a body of {text} was refused", answer, expected="200")


async def _expect_400(case: Case, request: Request, changed: Request, text: str) -> Answer:
    """A closed connection and a gateway's refusal are recorded: no status of the interface says them.

    A status that the interface does not declare is STA-1's question; but one for what is too large, which that leaves
    to components in front of the target, is this one's in the shape of the target's own errors.
    """
    answer: Answer = await case.send_with_retry(changed.with_fresh_key(), text, request.with_fresh_key())
    is_undeclared_refusal = answer.is_refused and not answer.has_declared_status
    is_own_oversize = answer.status in OVERSIZE and _is_own_error(case, answer)
    if answer.gateway_trouble or (is_undeclared_refusal and not is_own_oversize):
        case.note(f"a body of {text} was answered {answer.summary}")
    elif answer.status is not None and answer.status >= 500:
        raise Inconclusive(f"a body of {text} was answered {answer.summary}", answer, cause="BODY-5")
    elif answer.status not in _refusal_statuses(case):
        raise case.violation(f"a body of {text} was not answered 400", answer, expected="400")
    return answer


def _is_own_error(case: Case, answer: Answer) -> bool:
    """Whether an answer fits the stated schema of errors, which other JSON does not fit."""
    validators = case.runtime.validators
    is_known = validators.knows(ERROR_SCHEMA) and bool(validators.problem(ERROR_SCHEMA, {}))
    return is_known and isinstance(answer.value, dict) and not validators.problem(ERROR_SCHEMA, answer.value)


def _need_room(case: Case, request: Request, limit: int) -> None:
    """The case needs a limit that the profile's own body is far from."""
    case.require_case(len(json.dumps(request.document)) + _ROOM < limit, f"the profile's body fills {limit} bytes")


@check("BODY-9")
async def a_body_ends_at_the_stated_size(case: Case) -> None:
    """A body of the stated size is answered 200, one of a byte more 400.

    The latter has a letter of two bytes where it has a free text, so that it is no longer in letters. But for one
    operation it is sent in chunks, whose size no header says.
    """
    limit = case.profile.bodies.max_bytes
    case.need(limit, "bodies.max_bytes", "the largest body is needed")
    assert limit is not None
    request = await case.arrange()
    _need_room(case, request, limit)
    await _expect_200(case, pad(request, limit), f"{limit} bytes")
    has_length = case.operation.id == _FIRST or case.profile.limits.depth == "deep"

    async def refuse(good: Request) -> Answer:
        longer = pad(with_last_character(case, good, _OF_TWO_BYTES), limit + 1)
        text = f"{limit + 1} bytes{'' if has_length else ', in chunks'}"
        return await _expect_400(case, good, longer if has_length else in_chunks(longer), text)

    await case.share_control(refuse, "a longer body")


@check("BODY-9", on=_FIRST, deep_on="body")
async def a_body_in_chunks_ends_at_the_stated_size(case: Case) -> None:
    """A body in chunks, whose size no header says, is answered 400 where it is a byte longer than stated."""
    limit = case.profile.bodies.max_bytes
    case.need(limit, "bodies.max_bytes", "the largest body is needed")
    assert limit is not None
    _need_room(case, await case.arrange(), limit)
    await case.share_control(
        lambda good: _expect_400(case, good, in_chunks(pad(good, limit + 1)), f"{limit + 1} bytes, in chunks"),
        "a longer body in chunks",
    )


@check("BODY-9", on=_FIRST, deep_on="body")
async def the_size_of_a_body_is_counted_in_bytes(case: Case) -> None:
    """A body of more bytes than stated, and fewer letters, is answered 400."""
    bodies = case.profile.bodies
    case.need(bodies.max_bytes, "bodies.max_bytes", "the largest body is needed")
    case.require_case(bodies.unknown_members in _TAKING, "no member is known that takes a text of any length")
    assert bodies.max_bytes is not None
    request = await case.arrange()
    _require_object(case, request)
    _need_room(case, request, bodies.max_bytes // 2)
    fits = not is_against_schema(case, _fill(request, 2))
    case.require_case(fits, f"{case.operation.request_schema} takes no text as a further member")
    limit, text = bodies.max_bytes, f"more than {bodies.max_bytes} bytes, in letters of two bytes"
    await case.share_control(lambda good: _expect_400(case, good, _fill(good, limit), text), "a body of more bytes")


async def _expect_nested(case: Case, request: Request, depth: int) -> None:
    """The deepest body is accepted, with a text that has more brackets than that: brackets in a text nest nothing."""
    expect_sendable(4 * depth)
    brackets = "[{" * (depth // 2 + 1)
    deepest = nest(request.with_body({**request.body, "xConformanceText": brackets}), depth, b"")
    limit, size = case.profile.bodies.max_bytes, len(deepest.wire("").content or b"")
    case.require_case(limit is None or size <= limit, f"a body of {depth} levels exceeds {limit} bytes")
    answer = await case.send_with_retry(deepest.with_fresh_key(), f"{depth} levels")
    if not answer.ok:
        await _expect_200(case, nest(await case.arrange(), depth, b""), f"{depth} levels")
        message = f"a body of {depth} levels was refused with {len(brackets)} brackets in a text"
        raise case.violation(message, answer, expected="200")


@check("BODY-9")
async def a_body_ends_at_the_stated_depth(case: Case) -> None:
    """A body nested as deeply as stated is answered 200, one of a level more 400."""
    bodies = case.profile.bodies
    case.need(bodies.max_depth, "bodies.max_depth", "the deepest body is needed")
    case.require_case(bodies.unknown_members in _TAKING, "no member is known that takes a value of any depth")
    request = await case.arrange()
    assert bodies.max_depth is not None
    further = {"xConformanceText": "[{", "xConformanceDepth": [{}]}
    _require_allowed(case, request.with_body({**_require_object(case, request), "xConformanceText": "x"}))
    fits = not is_against_schema(case, request.with_body({**request.body, **further}))
    case.require_case(fits, f"{case.operation.request_schema} takes no further members of any type")
    await _expect_nested(case, request, bodies.max_depth)
    too_deep = bodies.max_depth + 1
    await case.share_control(
        lambda good: _expect_400(case, good, nest(good, too_deep, b"1"), f"{too_deep} levels"), "a deeper body"
    )
