"""Marks of redacted values: equal secrets have equal marks, so that a reader can compare what it cannot see.

A mark is a keyed digest. The key is random, belongs to one process of one run, and is stored nowhere: a mark cannot be
tested against guesses, and marks of different processes are never equal.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

_DIGEST_BYTES: Final = 6
_NAME_BYTES: Final = 2


class Marks:
    """The marks of one process."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._name = secrets.token_hex(_NAME_BYTES)

    def tag(self, kind: str, value: str) -> str:
        """A kind with the mark of a value: `code#1f0c5e0a9b3d77c2`, the process in four digits, the value in twelve."""
        raw = value.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(raw, key=self._key, digest_size=_DIGEST_BYTES).hexdigest()
        return f"{kind}#{self._name}{digest}"

    def label(self, label: str, value: str) -> str:
        """The label with the mark of a value: «redacted:code» -> «redacted:code#1f0c5e0a9b3d77c2»."""
        return f"{self.tag(label[:-1], value)}»"

    def placeholder(self, kind: str, value: str) -> str:
        """The text that replaces a value: «redacted:e-mail#4be01f0c3a9b77d2»."""
        return f"«redacted:{self.tag(kind, value)}»"


def label_with_mark(label: str, value: str, marks: Marks | None) -> str:
    """The label of an ephemeral secret with the mark of its value. Credentials and fragments have none."""
    if marks is None or not label.startswith("«redacted") or label.startswith("«redacted:part"):
        return label
    return marks.label(label, value)
