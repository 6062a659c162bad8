"""Keys that are almost equal: each operation tells them apart (IDEM-13)."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Callable, Iterable
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.key_forms import stated_idempotency, swap_case
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY, are_alike, is_replayed, other_body, send_until_settled
from conformance.checks.support.transitions import send_settled
from conformance.client.request import Request, is_well_formed
from conformance.profile.behavior import Idempotency

_PAIRS: Final = 3
"""Times that two calls are compared before a difference of theirs counts as one of the calls and not of the clock."""
_OTHER_CHARACTERS: Final = "0a189bxyzAXZ-_.~:+"
_BASE64: Final = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"


def _with_another_end(idempotency: Idempotency, key: str) -> list[str]:
    """Keys of the format that differ from this one in the last character that may be another one."""
    return _differing_at(idempotency, key, reversed(range(len(key))))


def _with_another_start(idempotency: Idempotency, key: str) -> list[str]:
    """The same for the first character."""
    return _differing_at(idempotency, key, range(len(key)))


def _differing_at(idempotency: Idempotency, key: str, places: Iterable[int]) -> list[str]:
    """Keys of the format that differ from this one at the first of these places at which there are any."""
    for at in places:
        others = [f"{key[:at]}{new}{key[at + 1 :]}" for new in _OTHER_CHARACTERS if _are_distinct(key[at], new)]
        if keys := [other for other in others if is_well_formed(idempotency, other)]:
            return keys
    return []


def _are_distinct(old: str, new: str) -> bool:
    """Whether two characters differ also without their case, and in the bits that count at the end of base64."""
    places = [_BASE64.find(character) for character in (old, new)]
    return old.lower() != new.lower() and (-1 in places or places[0] >> 4 != places[1] >> 4)


def _in_the_other_case(idempotency: Idempotency, key: str) -> list[str]:
    """The key in the other case, where that makes it another one, and with only its first letter in the other case."""
    if idempotency.case != "sensitive":
        return []
    first = next((at for at, character in enumerate(key) if character.swapcase() != character), 0)
    keys = [swap_case(idempotency, key), f"{key[:first]}{key[first : first + 1].swapcase()}{key[first + 1 :]}"]
    return [other for other in dict.fromkeys(keys) if other != key and is_well_formed(idempotency, other)]


_SIMILAR: Final = {"start": _with_another_start, "end": _with_another_end, "case": _in_the_other_case}
_OTHERS_WITH_KEYS: Final = (
    "updateInstallationWebhook",
    "requestStorefrontOrderAfterSales",
    "removePublicCartPromotion",
    "checkoutPublicCart",
    "quotePublicCart",
    "revokePublicCart",
    "consumeHostedCheckoutBrowserTicket",
    "cancelHostedCheckoutBrowser",
)


@check("IDEM-13", on=_OTHERS_WITH_KEYS, deep_on="idempotent", cases=_SIMILAR, rests_on=PLAIN_REPLAY)
async def a_call_is_not_repeated_under_a_similar_key(
    case: Case, find_similar: Callable[[Idempotency, str], list[str]]
) -> None:
    """The same call under a key with another start or end, or in the other case where that matters, is not a repeat.

    Where any call of the operation is answered alike, another payload under such a key is no conflict.
    """
    idempotency = stated_idempotency(case, "format", "the key's format is needed")

    async def change(request: Request) -> Request:
        keys = find_similar(idempotency, request.key or "")
        case.require_case(keys, "the stated format has no such key beside the one that was used")
        return request.with_key(keys[0])

    first, repeat = await case.repeat_changed(change, "the same call under a similar key")
    if not are_alike(case, first, repeat):
        return
    fresh = await send_settled(case, first.request, "the same call under another key")
    if not (is_replayed(case, first, fresh) or (fresh.ok and await _are_alike_at_once(case, first.request))):
        message = "a call under a similar key was answered as a repeat of the first one"
        raise case.violation(message, first, fresh, repeat, expected=f"as under another key, {fresh.summary}")
    keys = find_similar(idempotency, first.request.key or "")[1:]
    case.require_case(keys, "the stated format has one such key, and the operation answers alike under any key")
    other = first.request.with_body(await other_body(case, first.request))
    conflict = await send_until_settled(case, other.with_key(keys[0]), "another payload under a similar key")
    if conflict.status == 409 and (await case.send(other.with_fresh_key(), "another payload, another key")).ok:
        message = "another payload under a similar key was answered 409"
        raise case.violation(message, first, conflict, expected="200")


async def _are_alike_at_once(case: Case, request: Request) -> bool:
    """Whether two calls at once, each under a key of its own, are answered alike: others may differ by the clock."""
    for _ in range(_PAIRS):
        pair = [case.send(request.with_fresh_key(), "two separate calls at once") for _ in range(2)]
        if are_alike(case, *await asyncio.gather(*pair)):
            return True
    return False
