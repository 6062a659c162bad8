"""Secrets in places of a profile that are public: process lists, names, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.profile.render import MalformedPlaceholder, placeholders
from conformance.profile.schema import facts_schema, walk
from conformance.profile.source import Key, Problem

_SECRET_NAMES: Final = ("pkce.verifier", "oauth.code")
_ENV: Final = re.compile(r"\{env\.([^{}]*)\}")
_REQUEST_PLACES: Final = re.compile(
    r"(fixtures/[^/]+/[^/]+|effects/[^/]+(/[0-9]+)?)/http/.*|rate_limit/(prepare|restore)/.*|operations/.*"
)
"""Where a credential's variable is allowed: in requests to the target, or to its owner's test API."""


def exposure_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    """The problems of a document before its placeholders are filled in."""
    credentials = document.get("credentials", {})
    sources = {name: table.get("secret", {}) for name, table in credentials.items() if isinstance(table, Mapping)}
    variables = {source["env"]: name for name, source in sources.items() if "env" in source}
    for key, text, _ in walk(document, facts_schema()):
        for variable in _ENV.findall(text) if isinstance(text, str) else ():
            if variable in variables and not _REQUEST_PLACES.fullmatch("/".join(map(str, key))):
                message = f"{{env.{variable}}} is the secret of {variables[variable]!r}, which would be public here"
                yield Problem(key, message, "name another variable")
    for kind, states in document.get("fixtures", {}).items():
        for state, table in states.items() if isinstance(states, Mapping) else ():
            yield from _argument_problems(("fixtures", kind, state, "command"), table.get("command", ()))


def _argument_problems(key: Key, words: Any) -> Iterator[Problem]:
    for index, word in enumerate(words):
        try:
            secret = [name for name in placeholders(word) if name in _SECRET_NAMES]
        except MalformedPlaceholder:
            continue
        if secret:
            hint = "the program can read it from CONFORMANCE_CONTEXT in its environment"
            yield Problem((*key, index), f"{{{secret[0]}}} would be shown in the process list", hint)
