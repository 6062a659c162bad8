"""Payloads that are almost equal are different payloads: Endpoints, rule 2, and Errors, 409 (IDEM-4)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import jsonschema_rs

from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import fixed_places, is_against_schema, template_of
from conformance.checks.support.payload_changes import judge_payload, shows, tells_apart
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY
from conformance.checks.support.strategies import places
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.outcomes import Level
from conformance.profile.model import Profile
from conformance.profile.subschema import Root

_WORD: Final = 2**32
_EXACT: Final = 2**53
"""The next integer is none of a double's."""
_EXACT_IN_32_BITS: Final = 2**24
_WIDE_FORMATS: Final = ("int64", "uint64")
_FULL_WIDTH: Final = 0xFEE0
"""From an ASCII character to its full-width form, to which it is equal after NFKC (Unicode, UAX 15)."""
_MAX_ATTEMPTS: Final = 3
_SHOWING: Final = ("createInstallationWebhook", "requestStorefrontOrderAfterSales")
"""What creates something: its answers are most likely to show what requests say, which is seen."""


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wide_integers(profile: Profile, operation: Operation) -> Mapping[str, str]:
    """The first integer that the profile's schema allows to be greater by 2^32; none where there is no such place."""
    schema, body = profile.body_schema(operation.request_schema), template_of(profile, operation)
    if schema is None:
        return {}
    validator = jsonschema_rs.validator_for(schema)
    for where, leaf in pointer.leaves(body):
        if where and _is_integer(leaf) and validator.is_valid(pointer.replace(body, where, leaf + _WORD)):
            return {where.lstrip("/"): where}
    return {}


@check("IDEM-4", cases=_wide_integers, rests_on=PLAIN_REPLAY)
async def an_integer_with_other_high_bits_is_another_payload(case: Case, where: str) -> None:
    """Two integers that differ by 2^32, each of which is accepted alone, make two payloads."""

    async def change(request: Request) -> Request:
        return request.with_body(pointer.replace(request.body, where, pointer.get(request.body, where) + _WORD))

    first, repeat = await case.repeat_changed(change, f"{where}, greater by 2^32, under the same key")
    if repeat.status != 409:
        lone_answer = await case.send(await change(await case.arrange()), f"{where}, greater by 2^32, alone")
        await judge_payload(case, where, lone_answer, first, repeat)


def _exact_integers(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, int, bool]]:
    """The first number that the schema allows to be 2^24 and one more, or 2^53 where it promises more than 53 bits.

    And whether that is a bound which it states.
    """
    schema, body = profile.body_schema(operation.request_schema), template_of(profile, operation)
    if schema is None:
        return {}
    root, found = Root(schema), dict[str, tuple[str, int, bool]]()
    validator = jsonschema_rs.validator_for(schema)
    for where, leaf in pointer.leaves(body):
        is_number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
        parts = list(root.subschemas(schema, pointer.tokens(where))) if where and is_number else []
        is_wide = any(part.get("format") in _WIDE_FORMATS or part.get("maximum", 0) > _EXACT for part in parts)
        exact = _EXACT if is_wide else _EXACT_IN_32_BITS
        if parts and all(validator.is_valid(pointer.replace(body, where, n)) for n in (exact, exact + 1)):
            is_stated = is_wide or all({*part} & {"maximum", "exclusiveMaximum"} for part in parts)
            found.setdefault("wide" if is_wide else "", (where, exact, is_stated))
    return {f"{place[0].lstrip('/')}{kind and '-'}{kind}": place for kind, place in found.items()}


@check("IDEM-4", cases=_exact_integers, rests_on=PLAIN_REPLAY)
async def the_integer_after_an_exact_one_is_another_payload(case: Case, place: tuple[str, int, bool]) -> None:
    """2^24 and 2^24 + 1, which a floating-point number of 32 bits does not tell apart, make two payloads.

    So do 2^53 and 2^53 + 1 where both are accepted and the schema states such a bound, or a format of 64 bits: others
    may promise no more than 53 (RFC 8259, section 6). A warning where neither the schema states how large the number
    may be nor an answer shows it: the target may take what is too large for its largest.
    """
    where, exact, is_stated = place
    request = await case.arrange()
    first = await case.send(request.with_body(pointer.replace(request.body, where, exact)), f"{exact} at {where}")
    case.require_case(first.ok, f"{exact} at {where} is answered {first.summary}")
    other = pointer.replace(request.body, where, exact + 1)
    repeat = await case.send(first.request.with_body(other), f"{exact + 1} at {where}, under the same key")
    if repeat.status != 409:
        lone = await case.arrange()
        changed = lone.with_body(pointer.replace(lone.body, where, exact + 1))
        lone_answer = await case.send(changed, f"{exact + 1} at {where}, alone")
        is_read = is_stated or shows(where, first) or shows(where, lone_answer)
        level = None if is_read else Level.RECOMMENDED
        await judge_payload(case, where, lone_answer, first, repeat, level=level)


def _other_case(value: Any) -> Any:
    return value.swapcase() if isinstance(value, str) and not {":", "@"} & {*value} else value


def _full_width(value: Any) -> Any:
    """With its last letter in the full-width form."""
    if not isinstance(value, str) or {":", "@"} & {*value}:
        return value
    at = max((at for at, character in enumerate(value) if character.isascii() and character.isalpha()), default=-1)
    return value if at < 0 else value[:at] + chr(ord(value[at]) + _FULL_WIDTH) + value[at + 1 :]


def _last_item_twice(value: Any) -> Any:
    is_plain = isinstance(value, list) and value and not isinstance(value[-1], (dict, list))
    return [*value, value[-1]] if is_plain else value


def _reverse(value: Any) -> Any:
    """A list in the other order, which JSON keeps (RFC 8259, section 1)."""
    return value[::-1] if isinstance(value, list) and not any(isinstance(item, dict) for item in value) else value


def _wider_space(value: Any) -> Any:
    """With two spaces in the place of the first one."""
    return value.replace(" ", "  ", 1) if isinstance(value, str) and " " in value.strip() else value


def _outer_space(value: Any) -> Any:
    """With a space at its end."""
    return f"{value} " if isinstance(value, str) and not {":", "@"} & {*value} else value


def _final_slash(value: Any) -> Any:
    """A URL with a slash behind its path, which is another path (RFC 3986, section 6.2.4)."""
    is_url = isinstance(value, str) and value.startswith("http") and not {"?", "#"} & {*value}
    return f"{value}/" if is_url and urlsplit(value).path.strip("/") else value


def _further_object(value: Any) -> Any:
    """With another object like the last one, in which an integer differs."""
    if not isinstance(value, list) or not value or not isinstance(value[-1], dict):
        return value
    integers = [(where, leaf) for where, leaf in pointer.leaves(value[-1]) if _is_integer(leaf)]
    return [*value, pointer.replace(value[-1], integers[0][0], integers[0][1] + 1)] if integers else value


def _join(value: Any) -> Any:
    """Texts joined by commas, as many programs write a list."""
    is_texts = isinstance(value, list) and len(value) > 1 and all(isinstance(item, str) for item in value)
    return [",".join(value)] if is_texts else value


Alter = Callable[[Any], Any]
_CHANGES: Final[Mapping[str, Alter]] = {
    "case": _other_case,
    "full-width": _full_width,
    "repeated-item": _last_item_twice,
    "reversed-list": _reverse,
    "wider-space": _wider_space,
    "further-object": _further_object,
    "joined-list": _join,
    "outer-space": _outer_space,
    "final-slash": _final_slash,
}


def _changes(profile: Profile, operation: Operation) -> Mapping[str, Alter]:
    """One operation has all of them, in deep depth each: texts are trimmed, and URLs normalized, for all at once."""
    is_first = operation.id == "createInstallationWebhook" or profile.limits.depth == "deep"
    return {name: alter for name, alter in _CHANGES.items() if is_first or alter not in (_outer_space, _final_slash)}


@check("IDEM-4", on=_SHOWING, cases=_changes, rests_on=PLAIN_REPLAY)
async def what_answers_tell_apart_is_another_payload(case: Case, alter: Alter) -> None:
    """Texts that differ in case or width only, and lists with one item more, are two payloads where answers show both.

    Alone, each of the two is answered with what it says: the target itself tells them apart. Where it does not, as for
    a currency in either case, nothing is judged.
    """
    known = await case.good_answer()
    found = [where for where in reversed(list(places(known.request.body))) if _is_candidate(case, known, where, alter)]
    for where in found[:_MAX_ATTEMPTS]:
        change = _change_at(where, alter)
        first, repeat = await case.repeat_changed(change, f"{where}, almost equal, under the same key")
        if repeat.status == 409:
            return
        lone_answer = await case.send(await change(await case.arrange()), f"{where}, almost equal, alone")
        if lone_answer.ok and tells_apart(where, first, lone_answer):
            level = Level.RECOMMENDED if alter is _reverse else None  # a list may stand for a set
            await judge_payload(case, where, lone_answer, first, repeat, level=level)
            return
    case.require_case(False, "no answer shows such a difference of two requests")


_ACCENTS: Final = ("\u00e9", "\u00e8")
"""E with an acute and with a grave accent: one letter without accents, and in ASCII two that cannot be written."""


@check("IDEM-4", on=_SHOWING[:1], deep_on=_SHOWING, rests_on=PLAIN_REPLAY)
async def a_letter_beyond_ascii_tells_payloads_apart(case: Case) -> None:
    """Texts that differ in the accent of a letter are two payloads where answers show both."""
    known = await case.good_answer()
    with_accents = [lambda value, accent=accent: _with_letter(value, accent) for accent in _ACCENTS]
    places_found = [
        where
        for where in reversed(list(places(known.request.body)))
        if all(_is_candidate(case, known, where, alter) for alter in with_accents)
    ]
    acute, grave = (partial(_change_at, alter=alter) for alter in with_accents)
    for where in places_found[:_MAX_ATTEMPTS]:
        usual = await case.arrange()
        first = await case.send(await acute(where)(usual), f"{where} with an acute accent")
        if not first.ok:
            continue
        same_key = usual.with_key(first.request.key)
        repeat = await case.send(await grave(where)(same_key), f"{where} with a grave accent, under the same key")
        if repeat.status == 409:
            return
        lone_answer = await case.send(await grave(where)(await case.arrange()), f"{where} with a grave accent, alone")
        if lone_answer.ok and tells_apart(where, first, lone_answer):
            await judge_payload(case, where, lone_answer, first, repeat)
            return
    case.require_case(False, "no answer shows such a difference of two requests")


def _with_letter(value: Any, letter: str) -> Any:
    """A text with one letter more at its end."""
    return f"{value}{letter}" if isinstance(value, str) and not {":", "@"} & {*value} else value


def _typed_leaves(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str]]:
    """The first number or truth value of the body, with the text of it, which the schema does not allow there."""
    schema, body = profile.body_schema(operation.request_schema), template_of(profile, operation)
    if schema is None:
        return {}
    validator = jsonschema_rs.validator_for(schema)
    for where, leaf in pointer.leaves(body):
        text = json.dumps(leaf) if isinstance(leaf, bool | int | float) else ""
        if where and text and not validator.is_valid(pointer.replace(body, where, text)):
            return {where.lstrip("/"): (where, text)}
    return {}


@check("IDEM-4", cases=_typed_leaves, rests_on=PLAIN_REPLAY)
async def a_value_of_another_type_is_another_payload(case: Case, typed: tuple[str, str]) -> None:
    """A number and its text make two payloads where the text is refused alone: 400 and 409 are right then."""
    where, text = typed

    async def change(request: Request) -> Request:
        return request.with_body(pointer.replace(request.body, where, text))

    first, repeat = await case.repeat_changed(change, f"{where} as a text, under the same key")
    if repeat.ok:
        lone_answer = await case.send(await change(await case.arrange()), f"{where} as a text, alone")
        if not lone_answer.ok:  # else the target takes one for the other
            await judge_payload(case, where, lone_answer, first, repeat)


def _change_at(where: str, alter: Alter) -> Callable[[Request], Awaitable[Request]]:
    async def change(request: Request) -> Request:
        return request.with_body(pointer.replace(request.body, where, alter(pointer.get(request.body, where))))

    return change


def _is_candidate(case: Case, known: Any, where: str, alter: Alter) -> bool:
    """Whether the good answer shows the value there, which may be changed, and whose change fits the schema."""
    request = known.request
    value = pointer.get(request.body, where)
    if value in request.scope.values() or strictjson.is_equal(alter(value), value) or not shows(where, known):
        return False
    return not is_against_schema(case, request.with_body(pointer.replace(request.body, where, alter(value))))


@check("IDEM-4", on="createInstallationWebhook", deep_on=_SHOWING, rests_on=PLAIN_REPLAY)
async def a_switch_that_is_off_is_not_left_out(case: Case) -> None:
    """A payload with a member that is false is another one than without it, where answers show that it is on then."""
    known = await case.good_answer()
    for where in _optional_switches(case, known)[:_MAX_ATTEMPTS]:
        request = await case.arrange()
        first = await case.send(request.with_body(pointer.replace(request.body, where, False)), f"{where} is false")
        if not first.ok:
            continue
        repeat = await case.send(
            first.request.with_body(pointer.remove(request.body, where)), f"without {where}, under the same key"
        )
        if repeat.status == 409:
            return
        lone = await case.arrange()
        lone_answer = await case.send(lone.with_body(pointer.remove(lone.body, where)), f"without {where}, alone")
        if lone_answer.ok and _are_opposite(where, first, lone_answer):
            await judge_payload(case, f"member {where} left out", lone_answer, first, repeat)
            return
    case.require_case(False, "no answer shows a member that is false when it is sent, and true when it is left out")


def _optional_switches(case: Case, known: Answer) -> list[str]:
    """The places of members that are true or false, are shown, and may be left out."""
    request, fixed = known.request, fixed_places(case)
    return [
        where
        for where, leaf in pointer.leaves(request.body)
        if isinstance(leaf, bool) and where not in fixed and shows(where, known)
        if not is_against_schema(case, request.with_body(pointer.remove(request.body, where)))
    ]


def _are_opposite(where: str, off: Answer, default: Answer) -> bool:
    """Whether a member of the request's name is false in one answer and true, at the same place, in the other."""
    name = pointer.tokens(where)[-1]
    places = [at for at, value in pointer.leaves(off.value) if value is False and pointer.tokens(at)[-1] == name]
    return any(pointer.has(default.value, at) and pointer.get(default.value, at) is True for at in places)
