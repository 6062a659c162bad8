"""The secret part of an Authorization header: the key. Scheme, realm and parameter names are public."""

from __future__ import annotations

import re
from typing import Final

_SCHEMES: Final = frozenset({"basic", "bearer", "digest", "dpop", "hoba", "mutual", "negotiate", "oauth", "realm"})
"""Lower-case names from the registry of RFC 9110 section 16.4.1, and `realm`, which every scheme may have."""
_SEPARATORS: Final = re.compile(r'[\s,;:="\']+')


class AuthorizationForm:
    """How a profile writes keys: `form` is the header's value with `{key}` in place of the key."""

    def __init__(self, form: str) -> None:
        self._prefix, _, self._suffix = form.partition("{key}")
        self._words = _SCHEMES | {word.casefold() for word in _SEPARATORS.split(self._prefix + " " + self._suffix)}

    def is_open(self, word: str) -> bool:
        """Whether a word is public: it belongs to the form, and not to the key."""
        return word.casefold() in self._words

    def secret_of(self, value: str) -> str:
        """The secret part of a header's value; empty where the value is only the scheme, or empty."""
        if all(map(self.is_open, _SEPARATORS.split(value.strip()))):
            return ""
        core = value
        if core.casefold().startswith(self._prefix.casefold()):
            core = core[len(self._prefix) :].removesuffix(self._suffix)
        scheme, blank, credentials = core.strip().partition(" ")
        return credentials.strip() if blank and self.is_open(scheme) else core.strip()
