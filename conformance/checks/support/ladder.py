"""The values of sweeps, from the smallest to the largest: pure functions.

Checks of extremes miss limits between them, such as a column of 255 characters or a 32-bit counter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from conformance.core import json_pointer as pointer

NUMBERS: Final = (0, 1, 10**2, 10**3, 10**4, 10**6, 2**31, 2**53, 2**63, 10**40, -1)
LENGTHS: Final = (0, 1, 100, 1_000, 10_000)
"""Characters of a body member; another check covers a mebibyte."""
URL_LENGTHS: Final = (100, 1_000, 4_000)
"""Characters of one part of a URL: a request line of more than 8,000 octets need not be accepted (RFC 9112, 3)."""
BROKEN_ESCAPES: Final = ("%00", "%zz", "%", "%ff", "%c0%af")
"""NUL, malformed escapes, and invalid UTF-8."""
CURSORS: Final = ("x", "AAAA", "e30%3D", "-1", "9" * 40, "%00", "%ff%zz")
"""Invalid cursors: no base64, base64 of NUL and of an empty JSON object, numbers, and broken escapes."""
_BOUNDS: Final = (2**31, 2**63, 10**40)
_MAX_MEMBERS: Final = 3


def texts(body: Any, keep: str) -> Iterator[tuple[str, str]]:
    """(place, text of another length): every length for the first text of a body, the two greatest for some others.

    `keep` is the place of the idempotency key.
    """
    found = [(where, leaf) for where, leaf in pointer.leaves(body) if isinstance(leaf, str) and where != keep]
    for index, (where, leaf) in enumerate(_sample(found)):
        for length in LENGTHS if index == 0 else LENGTHS[-2:]:
            if length < 2 or length >= len(leaf):  # the redaction does not recognize part of a secret
                yield where, with_length(leaf, length)


def numbers(body: Any) -> Iterator[tuple[str, int]]:
    """(place, another number): every number for the first one of a body, the bounds of machine integers for some
    others."""
    found = [(where, leaf) for where, leaf in pointer.leaves(body) if type(leaf) in (int, float)]
    for index, (where, _) in enumerate(_sample(found)):
        for number in NUMBERS if index == 0 else _BOUNDS:
            yield where, number


def with_length(text: str, length: int) -> str:
    """A text of that length with the beginning of the given one, whose format may be checked."""
    return text[:length] + "a" * (length - len(text))


def _sample(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Some of the leaves; of an array only those of its first element."""
    first = [(where, leaf) for where, leaf in found if not any(t.isdigit() and t != "0" for t in pointer.tokens(where))]
    return first[:_MAX_MEMBERS]
