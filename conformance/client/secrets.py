"""What must appear in no file: credentials, and the codes, tickets, verifiers, proofs and tokens of a run.

Long-lived secrets are few and are searched in every form in which a target could send them back. Short-lived ones are
many: they are found as whole tokens, which costs one pass over a text however many there are.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

MIN_LENGTH: Final = 6
_TOKEN = re.compile(r"[A-Za-z0-9_~.+/=%-]{6,}")
_TELLING = re.compile(
    r'("[^"\\]*(?:secret|token|password|authorization|api_?key|private_?key|ticket|verifier)[^"\\]*"\s*:\s*")'
    r'((?:[^"\\]|\\.){8,})(")',
    re.IGNORECASE,
)
_TOKEN_NAMES: Final = re.compile(r"(?:token_?type|kind|expires)", re.IGNORECASE)
WHOLE_HEADERS: Final = frozenset({"authorization", "dpop", "cookie", "set-cookie", "proxy-authorization"})
"""Headers whose value is never written, whatever it holds."""


def forms(secret: str) -> tuple[str, ...]:
    """The spellings of one secret that a text may hold: as it is, URL-encoded, JSON-escaped, in base64 at any offset."""
    raw = secret.encode()
    found = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}
    for offset in range(3):
        shifted = base64.b64encode(b"\0" * offset + raw)
        start = (offset * 8 + 5) // 6
        end = len(raw + b"\0" * offset) * 8 // 6
        core = shifted[start:end].decode()
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return tuple(sorted((form for form in found if len(form) >= MIN_LENGTH), key=len, reverse=True))


class Secrets:
    """The secrets of one run, and the one function that takes them out of a text."""

    def __init__(self) -> None:
        self._lasting: list[tuple[str, str]] = []
        self._passing: dict[str, str] = {}

    def lasting(self, name: str, secret: str) -> None:
        """A credential of the profile; written as «credential:name»."""
        label = f"«credential:{name}»"
        self._lasting += [(form, label) for form in forms(secret)]
        self._lasting.sort(key=lambda pair: len(pair[0]), reverse=True)

    def passing(self, name: str, values: Iterable[str]) -> None:
        """What lives for one exchange or one fixture; written as «redacted:name»."""
        for value in values:
            if isinstance(value, str) and len(value) >= MIN_LENGTH:
                for form in forms(value):
                    self._passing.setdefault(form, f"«redacted:{name}»")

    def clean(self, text: str) -> str:
        """The text without any secret that is known, nor what its member's name says is one."""
        if len(text) < MIN_LENGTH:
            return text
        for form, label in self._lasting:
            if form in text:
                text = text.replace(form, label)
        if self._passing:
            text = _TOKEN.sub(self._token, text)
        return _TELLING.sub(self._member, text) if '"' in text else text

    def _token(self, match: re.Match[str]) -> str:
        token = match.group()
        if token in self._passing:
            return self._passing[token]
        parts = re.split(r"([=/.%+])", token)
        return "".join(self._passing.get(part, part) for part in parts) if len(parts) > 1 else token

    def _member(self, match: re.Match[str]) -> str:
        if _TOKEN_NAMES.search(match[1]) or match[2].startswith("«"):
            return match.group()
        return f"{match[1]}«redacted»{match[3]}"

    def deep(self, value: Any) -> Any:
        """`clean` on every string of a JSON value."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, dict):
            return {self.clean(name): self.deep(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.deep(item) for item in value]
        return value

    def known(self) -> tuple[str, ...]:
        """The spellings of every lasting secret, for the scan of answers."""
        return tuple(form for form, _ in self._lasting)
