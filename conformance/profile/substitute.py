"""Fills in the placeholders that are known when a profile is loaded: `{var.X}` and `{env.X}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.profile.render import MalformedPlaceholder, parse, render_known
from conformance.profile.schema import below, facts_schema
from conformance.profile.source import Key, Problem, nearest

_KNOWN = re.compile(r"\{((?:var|env)\.[^{}]*)\}")


class Substitution:
    """Fills in one document; `problems` lists invalid placeholders."""

    def __init__(self, variables: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self.known: dict[str, str] = {}
        self.problems: list[Problem] = []
        self._environ = environ
        for name, value in variables.items():
            self.known[f"var.{name}"] = self._plain(value, ("variables", name), free=False)

    def fill(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of the document with its placeholders filled in."""
        return {name: self._filled(item, (name,), below(facts_schema(), name)) for name, item in document.items()}

    def _filled(self, value: Any, key: Key, declared: Mapping[str, Any]) -> Any:
        if isinstance(value, Mapping):
            return {name: self._filled(item, (*key, name), below(declared, name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item, (*key, index), below(declared, index)) for index, item in enumerate(value)]
        if not isinstance(value, str) or ("{" not in value and "}" not in value):
            return value
        when = declared.get("x-placeholders")
        return self._template(value, key) if when == "run" else self._plain(value, key, free=when == "never")

    def _template(self, text: str, key: Key) -> str:
        try:
            names = [piece.text for piece in parse(text) if piece.is_placeholder]
        except MalformedPlaceholder as error:
            self.problems.append(Problem(key, error.what, "a literal brace is doubled: {{ and }}"))
            return text
        for name in names:
            self._look_up(name, key)
        return render_known(text, self.known)

    def _plain(self, text: str, key: Key, *, free: bool) -> str:
        known = {match[1]: self._look_up(match[1], key) for match in _KNOWN.finditer(text)}
        filled = _KNOWN.sub(lambda match: match[0] if known[match[1]] is None else str(known[match[1]]), text)
        rest = _KNOWN.sub("", text)
        if not free and ("{" in rest or "}" in rest):
            what = "only {var.NAME} and {env.NAME} can be used here"
            self.problems.append(Problem(key, what))
        return filled

    def _look_up(self, name: str, key: Key) -> str | None:
        space, _, rest = name.partition(".")
        if space == "env" and name not in self.known:
            if rest in self._environ:
                self.known[name] = self._environ[rest]
            else:
                self.problems.append(Problem(key, f"the environment variable {rest} is not set", f"export {rest}=..."))
        elif space == "var" and name not in self.known:
            variables = [known.removeprefix("var.") for known in self.known if known.startswith("var.")]
            hint = nearest(rest, variables) or "add it to [variables]"
            self.problems.append(Problem(key, f"unknown variable {{{name}}}", hint))
        return self.known.get(name)
