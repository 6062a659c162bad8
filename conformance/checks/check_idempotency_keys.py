"""The grammar of keys: lengths, characters, case, another format (IDEM-13)."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from msgspec import structs

from conformance.checks.support.case import Case
from conformance.checks.support.key_forms import stated_idempotency, swap_case
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY, is_replayed, other_body, replay, require_replay
from conformance.checks.support.signals import Inapplicable, Inconclusive
from conformance.checks.support.uuid_versions import level_of_version
from conformance.client.pattern import covering_samples, sample, widths
from conformance.client.request import Request, is_read_as_uuid, is_well_formed, malformed_key, new_key
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import strict_json as strictjson
from conformance.core.outcomes import Level
from conformance.profile.behavior import Idempotency
from conformance.profile.model import Profile

_MOST_KEYS: Final = 12
_LONGEST: Final = 2_000
"""Characters: a longer key may exceed the bounds that servers have for headers and request targets."""
_LONG: Final = 250
_ATTEMPTS: Final = 50
_PROOFS: Final = 2
_UUID_VERSIONS: Final = (1, 3, 4, 5)
"""Of RFC 4122."""
_LAST_CHARACTERS: Final = ("0a189bxyzAXZ", "-_.~:+")
"""The first two differ in the bits that count at the end of base64 (RFC 4648, section 4)."""
_CREATE: Final = "createInstallationWebhook"
_MARKS: Final = "_-.:/~"
"""A class of characters such as \\w has some of them, and the class of the format may have none."""
_RANDOM = secrets.SystemRandom()
Make = Callable[[Idempotency], list[str]]


def _shortest(idempotency: Idempotency) -> list[str]:
    return [sample(idempotency.pattern, _RANDOM, "shortest")] if idempotency.format == "pattern" else []


def _longest(idempotency: Idempotency) -> list[str]:
    length = widths(idempotency.pattern)[1] if idempotency.format == "pattern" else None
    return [sample(idempotency.pattern, _RANDOM, "longest")] if length and length <= _LONGEST else []


def _every_character(idempotency: Idempotency) -> list[str]:
    if idempotency.format == "pattern":
        return covering_samples(idempotency.pattern, _RANDOM, _MOST_KEYS)
    if idempotency.format == "any":
        return [uuid.uuid4().hex + part for part in ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ghijklmnopqrstuvwxyz-_.~:/+=@")]
    return [str(uuid.UUID(int=secrets.randbits(128), version=version)) for version in _UUID_VERSIONS]


def _forms(profile: Profile, _operation: Operation) -> Mapping[str, Make]:
    """The lengths of a UUID do not differ, and those of any key have no bounds."""
    return {**_lengths(profile, _operation), "characters": _every_character}


def _lengths(profile: Profile, _operation: Operation) -> Mapping[str, Make]:
    has_lengths = profile.idempotency is not None and profile.idempotency.format == "pattern"
    return {"shortest": _shortest, "longest": _longest} if has_lengths else {}


@check("IDEM-13", cases=_forms)
async def a_key_of_the_stated_grammar_is_accepted(case: Case, make: Make) -> None:
    """The shortest and the longest key, and keys with every character of the stated format, are accepted."""
    idempotency = stated_idempotency(case, "format", "the key's format is needed")
    keys = [key for key in make(idempotency) if is_well_formed(idempotency, key)]
    case.require_case(keys, "the stated format has no such key")
    for key in keys if _has_all_keys(case) else keys[:1]:
        request = await case.arrange()
        answer = await case.send(request.with_key(key), f"a key of {len(key)} characters")
        if answer.ok:
            continue
        await case.control(request.with_fresh_key())
        if answer.status == 409:
            raise Inconclusive("a key that is so short was used before", answer)
        message, level = "a key of the stated format was refused", level_of_version(idempotency, key)
        raise case.violation(message, answer, expected="200", level=level)


def _has_all_keys(case: Case) -> bool:
    """Whether the operation is asked with every key: in deep depth each one is, and one of them always."""
    return case.operation.id == _CREATE or case.profile.limits.depth == "deep"


def _after_comma(_: Idempotency) -> list[str]:
    """A key that goes on after a comma, at which a reader of lists in headers cuts it."""
    return [f"{uuid.uuid4()},a"]


def _of_digits(idempotency: Idempotency) -> list[str]:
    """A key of more digits than a floating-point number of 64 bits has."""
    keys = ["".join(secrets.choice("123456789") for _ in range(length)) for length in (20, 24, 32, 18)]
    return [key for key in keys if _takes_any(idempotency) or is_well_formed(idempotency, key)][:1]


def _long(_: Idempotency) -> list[str]:
    """A key that is longer than the column that a store may have for it."""
    return [secrets.token_hex(_LONG // 2)]


_ONE_SET: Final[Mapping[Make, tuple[str, ...]]] = {
    _after_comma: _LAST_CHARACTERS[:1],
    _of_digits: ("0189",),
    _long: _LAST_CHARACTERS[:1],
}
"""Where a key of any other character would not show what the case is about."""


def _ends(profile: Profile, operation: Operation) -> Mapping[str, Make]:
    """Where any text is a key, a long one and one with a comma are, too; so may be a long number."""
    idempotency = profile.idempotency
    if idempotency is None:
        return {}
    takes_comma = idempotency.carrier == "header" and _takes_any(idempotency)
    cases = {"after-comma": _after_comma} if takes_comma else dict(_lengths(profile, operation))
    cases |= {"long": _long} if _takes_any(idempotency) else {}
    return cases | ({"of-digits": _of_digits} if _of_digits(idempotency) else {})


def _takes_any(idempotency: Idempotency) -> bool:
    return idempotency.format == "any" or idempotency.other_format == "accepted"


@check("IDEM-13", on=_CREATE, deep_on="idempotent", cases=_ends)
async def keys_that_differ_at_the_end_are_different_keys(case: Case, make: Make) -> None:
    """Two keys, of the shortest or of the longest, that differ in the last character are different keys.

    So are those that differ after a comma or at the end of 250 characters, where any text is a key and the two are
    accepted, and long numbers.
    """
    idempotency = stated_idempotency(case, "format", "the key's format is needed")
    has_pair = False
    for characters in _ONE_SET.get(make, _LAST_CHARACTERS):
        conflicts: list[tuple[Answer, Answer]] = []
        for _ in range(_PROOFS):  # a short key may have been used before, by another check or run
            pair = _pair(idempotency, next(iter(make(idempotency)), ""), characters)
            if not pair or not (conflict := await _conflict(case, *pair)):
                break
            conflicts.append(conflict)
        has_pair = has_pair or bool(pair)
        if len(conflicts) == _PROOFS:
            message = "two keys that differ in the last character are one key"
            raise case.violation(message, *conflicts[-1], expected="200")
    case.require_case(has_pair, "no such key of the stated format has another one beside it")


def _pair(idempotency: Idempotency, key: str, characters: str) -> list[str]:
    """Two keys that differ in the last character that may be one of these; empty where the format has none.

    What stands behind it is a part of the format, such as the padding of base64.
    """
    takes_any = _takes_any(idempotency)
    for at in reversed(range(len(key))):
        keys = {character.lower(): key[:at] + character + key[at + 1 :] for character in characters}
        keys_of_the_format = [other for other in keys.values() if takes_any or is_well_formed(idempotency, other)]
        if keys_of_the_format[1:]:
            return keys_of_the_format[:2]
    return []


async def _conflict(case: Case, key: str, other: str) -> tuple[Answer, Answer] | None:
    """The answers to two calls, each under a key of its own, of which the second was answered 409; None without 409."""
    first = await case.send((await case.arrange()).with_key(key), "a key")
    request = await _other_call(case, first.request)
    second = await case.send(request.with_key(other), "a key with another last character")
    if not first.ok or second.status != 409:
        case.require_case(first.ok and second.ok, f"the keys were answered {first.summary} and {second.summary}")
        return None
    await case.control(request.with_fresh_key())
    return first, second


async def _other_call(case: Case, like: Request) -> Request:
    """Another call of the operation, with another payload."""
    request = await case.arrange()
    return (
        request.with_body(await other_body(case, request)) if strictjson.is_equal(request.body, like.body) else request
    )


@check("IDEM-13", on=_CREATE, rests_on=PLAIN_REPLAY)
async def case_tells_keys_apart_as_stated(case: Case) -> None:
    """Another payload under a key in the other case: another call where case matters, otherwise 409."""
    key, swapped = _pair_of_cases(case)
    idempotency = stated_idempotency(case, "case", "whether case tells keys apart is needed")
    first = await case.control((await case.arrange()).with_key(key))
    request = await _other_call(case, first.request)
    second = await case.send(request.with_key(swapped), "the key in the other case")
    is_other_format = idempotency.case == "sensitive" and idempotency.format == "uuid" and second.status == 400
    case.require_case(not is_other_format, "a UUID in capitals counts as another format")
    expected = 200 if idempotency.case == "sensitive" else 409
    if second.status == expected:
        return
    await case.control(request.with_fresh_key())
    await require_replay(case, first)
    message = f"a key in the other case was answered {second.summary}, and idempotency.case is {idempotency.case!r}"
    raise case.violation(message, first, second, expected=str(expected))


def _pair_of_cases(case: Case) -> tuple[str, str]:
    """Two keys of the format that differ in case only. Inapplicable as a further case where none is found."""
    idempotency = stated_idempotency(case, "format", "the key's format is needed")
    for _ in range(_ATTEMPTS):
        key = new_key(idempotency)
        swapped = swap_case(idempotency, key)
        if swapped != key and (idempotency.format == "uuid" or is_well_formed(idempotency, swapped)):
            return key, swapped
    raise Inapplicable("no two keys of the stated format differ in case only", further=True)


@check("IDEM-13", on=("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser"), rests_on=PLAIN_REPLAY)
async def a_key_in_the_other_case_repeats_the_call(case: Case) -> None:
    """Where case does not tell keys apart, a public operation too repeats a call under its key in the other case."""
    _pair_of_cases(case)
    idempotency = stated_idempotency(case, "case", "whether case tells keys apart is needed")
    case.require_case(idempotency.case == "insensitive", "case tells keys apart, which createInstallationWebhook shows")

    async def change(request: Request) -> Request:
        swapped = swap_case(idempotency, request.key or "")
        is_key = swapped != request.key and (idempotency.format == "uuid" or is_well_formed(idempotency, swapped))
        case.require_case(is_key, "the key has no letters, or not in both cases")
        return request.with_key(swapped)

    first, repeat = await case.repeat_changed(change, "the key in the other case")
    if is_replayed(case, first, repeat):
        return
    await require_replay(case, first)
    settled = await replay(case, repeat.request, "the key in the other case")
    if settled.status == 409 and idempotency.carrier == "body":
        raise Inconclusive("a body with the key in the other case may count as another payload", first, settled)
    if not is_replayed(case, first, settled):
        message = (
            f"a call was not repeated under its key in the other case, and idempotency.case is {idempotency.case!r}"
        )
        raise case.violation(message, first, settled, expected=first.summary)


@check("IDEM-13")
async def a_key_of_another_format_is_treated_as_stated(case: Case) -> None:
    """A key of another format, also one just outside of the stated bounds, is refused with 400, or accepted.

    A warning where a UUID is accepted in braces or without its hyphens, as parsers of UUIDs do.
    """
    idempotency = stated_idempotency(case, "other_format", "the answer to a key of another format is needed")
    keys = _other_keys(idempotency)
    case.require_case(keys, "no key of another format is known")
    number = case.runtime.settings.contract.all.index(case.operation) % len(keys)
    for key in keys if _has_all_keys(case) else (keys[number],):
        request = await case.arrange()
        purpose = f"a key of another format, {len(key)} characters"
        if idempotency.other_format == "refused":
            level = Level.RECOMMENDED if idempotency.format == "uuid" and is_read_as_uuid(key) else None
            await case.shared_negative(lambda good, key=key: good.with_key(key), {400}, purpose, level=level)  # type: ignore[misc]
        else:
            await _expect_protection(case, request.with_key(key), purpose)


async def _expect_protection(case: Case, request: Request, purpose: str) -> None:
    """Violated unless the call is answered 200, and a repeated one with the same answer, as under any other key."""
    answer = await case.send(request, purpose)
    if not answer.ok:
        await case.control(request.with_fresh_key())
        message = f"{purpose}, was refused, and idempotency.other_format is 'accepted'"
        raise case.violation(message, answer, expected="200")
    repeated = await replay(case, answer.request)
    if not is_replayed(case, answer, repeated):
        await require_replay(case, await case.control(request.with_fresh_key()))
        message = f"{purpose}, does not protect its call, and idempotency.other_format is 'accepted'"
        raise case.violation(message, answer, repeated, expected="the same answer again")


@check("IDEM-13", on=_CREATE, deep_on="idempotent")
async def a_key_without_what_stands_around_it_is_of_another_format(case: Case) -> None:
    """A key that is not written as stated, without one or both of its quotes, is refused with 400."""
    idempotency = stated_idempotency(case, "other_format", "the answer to a key of another format is needed")
    prefix, _, suffix = idempotency.written.partition("{key}")
    case.require_case(prefix or suffix, "keys are written as they are")
    case.require_case(idempotency.other_format == "refused", "a key of another format is accepted as stated")
    key, as_is = idempotency.write(new_key(idempotency)), replace(idempotency, written="{key}")
    bare, half = key[len(prefix) : len(key) - len(suffix)], key[: len(key) - len(suffix)]

    async def refuse(request: Request) -> Answer:
        for text in (bare, half) if prefix and suffix else (bare,):
            bad = structs.replace(request, idempotency=as_is, key=text)
            answer = await case.refusal(bad, {400}, f"the key {text!r}", control=request)
        return answer

    await case.share_control(refuse, "a key without what stands around it")


def _other_keys(idempotency: Idempotency) -> list[str]:
    """Keys that the format does not allow, each unique to the run where it may be accepted."""
    unique = uuid.uuid4().hex
    if idempotency.other_format == "accepted":
        candidates = [f"other-format-{unique}", f"{unique}{unique}"]
    elif idempotency.format == "uuid":
        key = new_key(idempotency)
        candidates = ["no such format", f"{key}0", key[:-1], f"{key[:-1]}g", f"{key}!", f"{{{key}}}", unique]
    else:
        shortest, longest = _shortest(idempotency), _longest(idempotency)
        candidates = [malformed_key(idempotency), *(key[:-1] for key in shortest), *(f"{key}0" for key in longest)]
        candidates += [other for key in longest for other in (f"{key}{key[-1:]}", f"{key[:1]}{key}")]
        key, middle = new_key(idempotency), len(shortest[0] if shortest else "") // 2
        candidates += [f"{key[:middle]}{mark}{key[middle + 1 :]}" for mark in _MARKS]
    return [key for key in dict.fromkeys(candidates) if key and not is_well_formed(idempotency, key)]
