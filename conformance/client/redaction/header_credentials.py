"""What of an Authorization header is a secret: the key. A scheme, a realm and the names around it may be repeated."""

from __future__ import annotations

import re
from typing import Final

_SCHEMES: Final = frozenset({"basic", "bearer", "digest", "dpop", "hoba", "mutual", "negotiate", "oauth", "realm"})
"""Of the registry of RFC 9110 section 16.4.1, in small letters; and the parameter that all of them may have."""
_APART: Final = re.compile(r'[\s,;:="\']+')


class Carried:
    """How a profile's keys are carried: `form` is the header's value, with `{key}` in the key's place."""

    def __init__(self, form: str) -> None:
        self._before, _, self._behind = form.partition("{key}")
        self._words = _SCHEMES | {word.casefold() for word in _APART.split(self._before + " " + self._behind)}

    def is_open(self, word: str) -> bool:
        """Whether a word is no secret wherever it stands: it is of the form, and not of the key."""
        return word.casefold() in self._words

    def secret_of(self, value: str) -> str:
        """The part of a header's value that is a secret; empty where it holds the scheme alone, or nothing."""
        if all(map(self.is_open, _APART.split(value.strip()))):
            return ""
        core = value
        if core.casefold().startswith(self._before.casefold()):
            core = core[len(self._before) :].removesuffix(self._behind)
        scheme, blank, rest = core.strip().partition(" ")
        return rest.strip() if blank and self.is_open(scheme) else core.strip()
