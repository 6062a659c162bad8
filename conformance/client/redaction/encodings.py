"""The encodings in which a secret may appear, and texts with their escapes decoded."""

from __future__ import annotations

import base64
import html
import json
import re
from functools import cached_property
from typing import Final
from urllib.parse import quote, quote_plus

MIN_LENGTH: Final = 6
_ESCAPE: Final = re.compile(
    r"\\u(?P<u>[0-9a-fA-F]{4})|\\x(?P<x>[0-9a-fA-F]{2})|\\(?P<c>[^ux])|%(?P<p>[0-9a-fA-F]{2})"
    r"|&#[xX](?P<h>[0-9a-fA-F]{1,6});|&#(?P<d>[0-9]{1,7});|&(?P<n>amp|lt|gt|quot|apos|sol|plus|equals);"
)
ESCAPES: Final = ("\\", "%", "&")
"""The characters that an escape begins with."""
_NAMED_ENTITIES: Final = {
    "amp": "&",
    "lt": "<",
    "gt": ">",
    "quot": '"',
    "apos": "'",
    "sol": "/",
    "plus": "+",
    "equals": "=",
}
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]+")
"""Text that is the same in a URL, in JSON and in HTML, as nearly all tokens are."""
_SIGNS: Final = (" ", "-", ".", ",", "_", "\n", '","', '", "')
"""What stands between the characters of a text that is spelt out, or between its groups."""
_GROUP_LENGTHS: Final = (1, 4, 5, 8)
"""As long are the groups in which people and machines write keys."""
_MAX_ROUNDS: Final = 4
"""Maximum nesting of escapes, for example a URL in HTML in JSON."""


def forms(secret: str) -> tuple[str, ...]:
    """All forms in which a text may contain a secret, the longest first.

    Unchanged, in lower and upper case, URL-encoded, JSON- and HTML-escaped, in hexadecimal, in base64 at any offset;
    for non-ASCII secrets in UTF-8 and in latin-1. Escape sequences inside the secret are decoded too, since texts are
    also searched with their escapes decoded."""
    if _PLAIN.fullmatch(secret):
        raw = secret.encode()
        found = {secret, secret.lower(), secret.upper(), raw.hex(), raw.hex().upper(), *_base64_cores(raw)}
        found |= {form.replace("/", "\\/") for form in found if "/" in form}
        return _from_longest(found)
    found = {secret, secret.lower(), secret.upper(), html.escape(secret), UnescapedText(secret).text}
    for raw in _byte_forms(secret):
        found |= {raw.hex(), raw.hex().upper(), raw.decode("latin-1"), raw.decode("ascii", "backslashreplace")}
        found |= {quote(raw, safe=safe) for safe in ("", "/", "!'()*")} | {quote_plus(raw)}
        found |= _base64_cores(raw)
    found |= {re.sub("%[0-9A-F]{2}", lambda match: match.group().lower(), form) for form in found if "%" in form}
    found |= {json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    found |= {form.replace("/", "\\/") for form in found if "/" in form}
    return _from_longest(found)


def _from_longest(found: set[str]) -> tuple[str, ...]:
    return tuple(sorted((form for form in found if len(form) >= MIN_LENGTH), key=len, reverse=True))


def _byte_forms(secret: str) -> set[bytes]:
    raw = {secret.encode("utf-8", "surrogatepass")}
    if not secret.isascii():
        raw.add(secret.encode("latin-1", "replace"))
    return raw


def _base64_cores(raw: bytes) -> set[str]:
    """The base64 characters that encode only bits of the secret, at each of the three offsets."""
    found = set()
    for offset in range(3):
        shifted = base64.b64encode(b"\0" * offset + raw)
        core = shifted[(offset * 8 + 5) // 6 : (offset + len(raw)) * 8 // 6].decode()
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return found


def rare_forms(secret: str) -> tuple[str, ...]:
    """The forms of a secret that ordinary software does not write.

    Base32, base85, base64 and hexadecimal digits of UTF-16, base64 twice, octal escapes, quoted-printable (RFC 2045,
    section 6.7), in reverse order, and spelt out or in groups of equal length.

    In base32, the characters that encode only bits of the secret, at each of the five offsets, in either case. They
    are apart from the other forms: for all secrets of a run they would cost more time than the others together.
    """
    raw = secret.encode("utf-8", "surrogatepass")
    groups = [[secret[at : at + size] for at in range(0, len(secret), size)] for size in _GROUP_LENGTHS]
    found = {secret[::-1], *(sign.join(pieces) for sign in _SIGNS for pieces in groups)}
    wide = secret.encode("utf-16-le", "surrogatepass")
    found |= _base64_cores(wide) | _base64_cores(base64.b64encode(raw).rstrip(b"=")) | {wide.hex(), wide.hex().upper()}
    octal, hexadecimal = [f"{byte:03o}" for byte in raw], [f"={byte:02X}" for byte in raw]
    # texts are also searched with their escapes decoded, where no backslash is left
    found |= {"".join(octal), "".join(f"\\{digits}" for digits in octal)}
    found |= {"".join(hexadecimal), "".join(hexadecimal).lower()}
    for offset in range(5):
        shifted = base64.b32encode(b"\0" * offset + raw)
        core = shifted[(offset * 8 + 4) // 5 : (offset + len(raw)) * 8 // 5].decode()
        found |= {core, core.lower()}
    return _from_longest(found | _base85_cores(raw))


def _base85_cores(raw: bytes) -> set[str]:
    """The groups of five characters that encode only bytes of the secret, at each of the four offsets; in JSON too."""
    whole = [raw[offset : len(raw) - (len(raw) - offset) % 4] for offset in range(4)]
    found = {encode(part).decode() for part in whole for encode in (base64.b85encode, base64.a85encode)}
    return found | {json.dumps(form)[1:-1] for form in found}


class UnescapedText:
    """A text with its escapes decoded; `span` maps positions back to the original text.

    `text` is empty where there were no escapes.
    """

    def __init__(self, text: str) -> None:
        self._rounds: list[str] = []
        """The text before each round."""
        plain, found = text, int("\\" in text or "%" in text or ("&" in text and ";" in text))
        while found and len(self._rounds) < _MAX_ROUNDS:
            previous = plain
            plain, found = _ESCAPE.subn(_unescape, previous)
            if found:
                self._rounds.append(previous)
        self.text = plain if self._rounds else ""

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self._starts[start], self._starts[end]

    @cached_property
    def _starts(self) -> list[int]:
        """The original position of each character and of the end; computed on demand."""
        starts = _starts_of(self._rounds[0])
        for text in self._rounds[1:]:
            starts = [starts[at] for at in _starts_of(text)]
        return starts


def _starts_of(text: str) -> list[int]:
    """For one round of decoding: the position of each decoded character, and of the end, in the input."""
    starts: list[int] = []
    at = 0
    for match in _ESCAPE.finditer(text):
        starts += [*range(at, match.start()), *[match.start()] * len(_unescape(match))]
        at = match.end()
    return [*starts, *range(at, len(text) + 1)]


def _unescape(match: re.Match[str]) -> str:
    kind, value = match.lastgroup, match[match.lastgroup or 0]
    if kind == "n":
        return _NAMED_ENTITIES[value]
    if kind == "c":
        return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(value, value)
    number = int(value, 10 if kind == "d" else 16)
    return chr(number) if number < 0x110000 else match[0]
