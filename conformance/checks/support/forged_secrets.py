"""Forged secrets in the format of a valid one, for targets that compare only a part."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from typing import Final

from conformance.checks.support.strategies import neighbour_of

LEAST_MADE_UP: Final = 8
"""A shorter forged secret may be another valid one."""


def _of_nobody(secret: str) -> str:
    """Each character changed but those of a label: a secret with another one may be malformed, and not unknown."""
    form = {len(secret) + place for place in _FORM_OF_UUID} if _UUID.search(secret) else set()
    first = end_of_label(secret)
    for at in range(first if len(secret) - first >= LEAST_MADE_UP else 0, len(secret)):
        secret = secret if at in form else neighbour_of(secret, at)
    return secret


def end_of_label(secret: str) -> int:
    """Where the label before a secret ends, as `tkt_`; 0 without one."""
    label = _LABEL.match(secret)
    return label.end() if label else 0


def end_of_secret(secret: str) -> int:
    """Where a secret ends: before a place behind it, as `-us6`, or the padding of base64; neither may be read."""
    place = _PLACE.search(secret)
    return place.start() if place else len(secret.rstrip("="))


def is_signed(secret: str) -> bool:
    """Whether it seems to be a signed text, as a JWT: any change makes it a malformed one, and not an unknown one.

    So does one of a sealed text: a PASETO or a Fernet token.
    """
    return _SIGNED.fullmatch(secret) is not None


def _near_its_end(secret: str) -> str:
    """A change before the last two characters and the padding, whose lowest bits an encoding may ignore."""
    end = end_of_secret(secret)
    at = next((at for at in range(end - 3, -1, -1) if neighbour_of(secret, at) != secret), 0)
    return neighbour_of(secret, at)


def _at_its_end(secret: str) -> str:
    """A change of the last character that none of the usual encodings ignores; the secret itself where none is known.

    Of base64 the highest bit changes, since the lowest ones may be padding, which a lenient decoder drops.
    """
    end = end_of_secret(secret) - 1
    if _HEXADECIMAL.search(secret[: end + 1]):
        return neighbour_of(secret, end)
    alphabet = _BASE64 + ("+/" if {*"+/"} & set(secret) else "-_")
    if secret.upper() == secret or secret.lower() == secret or secret[end] not in alphabet:
        return secret
    return secret[:end] + alphabet[alphabet.index(secret[end]) ^ 32] + secret[end + 1 :]


def _at_its_start(secret: str) -> str:
    return neighbour_of(secret, _alphanumeric(secret, 0)) if secret else secret


def _in_its_middle(secret: str) -> str:
    """A letter in the other case, if the secret has letters of both in its second half; otherwise another character."""
    middle = len(secret) // 2
    letters = [at for at in range(middle, len(secret) - 2) if secret[at].isascii() and secret[at].isalpha()]
    if len({secret[at].isupper() for at in letters}) == 2:
        at = letters[0]
        return secret[:at] + secret[at].swapcase() + secret[at + 1 :]
    return neighbour_of(secret, _alphanumeric(secret, middle)) if secret else secret


def _alphanumeric(secret: str, first: int) -> int:
    """The first place from there on whose character has neighbours of its class."""
    return next((at for at in range(first, len(secret)) if neighbour_of(secret, at) != secret), first)


def changes_label_only(secret: str, forged: str) -> bool:
    """Whether they differ only in the label before the secret, as `tkt_`, which says no more than what it is.

    So does the name of a place behind it, as `-us6`.
    """
    start, place = end_of_label(secret), _PLACE.search(secret)
    is_label = start > 0 and forged.endswith(secret[start - 1 :])
    return is_label or (place is not None and forged.startswith(secret[: place.start() + 1]))


def _cut(secret: str) -> str:
    end = end_of_secret(secret)
    return secret[: end - 1] + secret[end:].strip("=")


def _longer(secret: str) -> str:
    """Four digits of each usual encoding before the padding: at least two bytes more for a lenient decoder."""
    end = end_of_secret(secret)
    return f"{secret[:end]}{_DIGITS}{secret[end:]}"


_HEXADECIMAL: Final = re.compile(r"(^|[^0-9A-Za-z])([0-9a-f]{16,}|[0-9A-F]{16,})$")
"""Also behind a prefix, as in `tkt_0123456789abcdef`."""
_LABEL: Final = re.compile(r"([A-Za-z]{1,20}\d{0,3}[._-])+")
"""Words, each of which may have a version behind it, as `v2.`; more digits are those of a secret."""
_PLACE: Final = re.compile(r"(?<=[0-9A-Za-z]{16})-[a-z]{2,4}\d{1,2}$")
"""The name of a data centre or a region."""
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_FORM_OF_UUID: Final = (-22, -17)
"""From the end, the places of its version and variant (RFC 9562): a UUID with others may be malformed."""
_SIGNED: Final = re.compile(
    r"[\w-]{8,}((\.[\w-]+){2,4}|\.[\w-]{20,})|v\d\.(local|public)\.[\w-]{20,}(\.[\w-]+)?|gAAAA[\w-]{90,}=*"
)
"""Three to five parts, or two whose last one is as long as a signature; a PASETO; a Fernet token."""
_DIGITS: Final = "2345"
_BASE64: Final = string.ascii_uppercase + string.ascii_lowercase + string.digits
MADE_UP: Final[Mapping[str, Callable[[str], str]]] = {"made-up": _of_nobody, "near-its-end": _near_its_end}
FORGED: Final[Mapping[str, Callable[[str], str]]] = {
    **MADE_UP,
    "at-its-start": _at_its_start,
    "in-its-middle": _in_its_middle,
    "at-its-end": _at_its_end,
    "cut": _cut,
    "longer": _longer,
}
"""Also those that may be no secrets by their form, and so be refused with another status than an unknown one."""
