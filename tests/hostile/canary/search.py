"""How a secret may be spelt, written down apart from the suite's own list; and a search that finds any spelling."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus

_KEYED = 8
"""Spellings are found by their first so many bytes."""
PIECE = 1 << 20
PART = 12
"""So many characters in a row of a key are as good as a leak."""


def _cores(secret: str, alphabet: Callable[[bytes], bytes]) -> set[str]:
    """What stands for the secret alone in the base64 of a text that holds it, by how much stands before it."""
    found = set()
    for before in (b"", b"u", b"u:"):
        whole = alphabet(before + secret.encode() + b"\0\0").decode()
        first = -(-len(before) * 8 // 6)
        last = (len(before) + len(secret.encode())) * 8 // 6
        found.add(whole[first:last])
    return found


FORMS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "plain": lambda secret: [secret],
    "URL": lambda secret: [quote(secret, safe=""), quote(secret)],
    "URL, plus": lambda secret: [quote_plus(secret)],
    "URL, lower": lambda secret: ["".join(c if c.isalnum() else quote(c, safe="").lower() for c in secret)],
    "URL, every character": lambda secret: ["".join(f"%{byte:02X}" for byte in secret.encode())],
    "base64": lambda secret: _cores(secret, base64.b64encode),
    "base64url": lambda secret: _cores(secret, base64.urlsafe_b64encode),
    "JSON": lambda secret: [json.dumps(secret)[1:-1], json.dumps(secret)[1:-1].replace("/", "\\/")],
    "JSON, every character": lambda secret: ["".join(f"\\u{ord(c):04x}" for c in secret)],
    "JSON, some characters": lambda secret: ["".join(c if c.isalnum() else f"\\u{ord(c):04X}" for c in secret)],
    "hex": lambda secret: [secret.encode().hex(), secret.encode().hex().upper()],
    "HTML": lambda secret: [html.escape(secret), html.escape(secret).replace("&#x27;", "&#39;")],
    "HTML, some characters": lambda secret: ["".join(c if c.isalnum() else f"&#{ord(c)};" for c in secret)],
    "small letters": lambda secret: [secret.lower()],
    "capital letters": lambda secret: [secret.upper()],
    "invisible characters between": lambda secret: ["\u200b".join(secret), "\u00ad".join(secret)],
    "commands to a terminal between": lambda secret: ["\x1b[m".join(secret)],
}


class Search:
    """Every spelling of every canary, looked for in one pass over a text."""

    def __init__(self, canaries: Mapping[str, str], parts_of: Mapping[str, str] | None = None) -> None:
        """`canaries`: secret -> what it is. Of `parts_of`, any 12 characters in a row are looked for too."""
        self._by_start: dict[bytes, list[tuple[bytes, str]]] = {}
        parts = [
            (secret[at : at + PART], f"part of {name}")
            for secret, name in (parts_of or {}).items()
            for at in range(len(secret) - PART + 1)
        ]
        for secret, name in (*canaries.items(), *parts):
            for form, spell in FORMS.items():
                for spelt in set(spell(secret)):
                    raw = spelt.encode()
                    assert len(raw) >= _KEYED, (name, form)
                    self._by_start.setdefault(raw[:_KEYED], []).append((raw, f"{name} ({form})"))

    def found_in(self, text: bytes) -> set[str]:
        """What was found, by name and form."""
        found = set()
        for start in range(0, len(text), PIECE):
            piece = text[start : start + PIECE + _KEYED]
            starts = {piece[at : at + _KEYED] for at in range(len(piece) - _KEYED + 1)}
            for begun in starts & self._by_start.keys():
                found |= {name for raw, name in self._by_start[begun] if raw in text}
        return found

    def found_in_files(self, folder: Path) -> dict[str, set[str]]:
        """By file: what was found in it, or in its name."""
        told = {}
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = str(path.relative_to(folder))
            if hits := self.found_in(path.read_bytes()) | self.found_in(name.encode()):
                told[name] = hits
        return told
