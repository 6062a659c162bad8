"""Keys whose letters are in another case, of another width, accented, or apart from each other by any signs."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterator
from typing import Final

from conformance.client.redaction.fragments import Span, blocks_in, covering_blocks

_MIN_LENGTH: Final = 16
"""Letters and digits: a shorter key may be a part of ordinary words once everything between them is left out."""
_LOWER: Final = bytes(range(256)).lower()
_SIGNS: Final = bytes(byte for byte in range(256) if not (byte < 128 and chr(byte).isalnum()))


def _squeeze(text: str) -> bytes:
    """The letters and digits of a text in lower case; those of other widths and with accents without these."""
    plain = text if text.isascii() else unicodedata.normalize("NFKD", text)
    return plain.encode("ascii", "ignore").translate(_LOWER, _SIGNS)


def _cores(secret: str) -> set[bytes]:
    """A secret, in either direction and in ROT13, and the hexadecimal and octal digits of its bytes."""
    raw = secret.encode("utf-8", "surrogatepass")
    texts = [raw.hex(), "".join(f"{byte:03o}" for byte in raw)]
    if any(map(str.isalpha, secret)) and any(map(str.isdigit, secret)):  # words alone may be a name
        texts += [secret, secret[::-1], codecs.encode(secret, "rot13")]
    return {core for core in map(_squeeze, texts) if len(core) >= _MIN_LENGTH}


class LooseForms:
    """The forms of the credentials of a run in which only the order of letters and digits counts."""

    def __init__(self) -> None:
        self._labels: dict[bytes, str] = {}
        self._blocks: set[int] = set()

    def add(self, secret: str, label: str) -> None:
        for core in _cores(secret):
            self._labels[core] = label
            self._blocks |= covering_blocks(core.decode())

    def may_occur_in(self, text: str) -> bool:
        """Whether a full search is needed: most texts share no block with any form."""
        return self._may_occur_in(_squeeze(text))

    def _may_occur_in(self, squeezed: bytes) -> bool:
        return not self._blocks.isdisjoint(blocks_in(squeezed))

    def spans(self, text: str) -> Iterator[Span]:
        """The places of all forms in a text: from the first letter or digit to the last one."""
        squeezed = _squeeze(text)
        found = [core for core in self._labels if core in squeezed] if self._may_occur_in(squeezed) else []
        places = _places(text) if found else []
        for core in found:
            start = squeezed.find(core)
            while start >= 0:
                yield Span(places[start], places[start + len(core) - 1] + 1, self._labels[core])
                start = squeezed.find(core, start + len(core))


def _places(text: str) -> list[int]:
    """The place in the text of each letter and digit."""
    return [at for at, character in enumerate(text) for _ in _squeeze(character)]
