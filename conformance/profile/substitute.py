"""Fills in the placeholders that are known when a profile is loaded: `{var.X}` and `{env.X}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.profile.render import MalformedPlaceholder, parse, render_known
from conformance.profile.schema import facts_schema, member_schema
from conformance.profile.source import Key, Problem, nearest

_KNOWN = re.compile(r"\{((?:var|env)\.[^{}]*)\}")


class Substitution:
    """Fills in one document; `problems` lists invalid placeholders."""

    def __init__(self, variables: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self.known: dict[str, str] = {}
        self.problems: list[Problem] = []
        self._environ = environ
        for name, value in variables.items():
            self.known[f"var.{name}"] = self._fill_plain(value, ("variables", name), allow_braces=False)

    def fill(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of the document with its placeholders filled in."""
        return {
            name: self._fill_value(item, (name,), member_schema(facts_schema(), name))
            for name, item in document.items()
        }

    def _fill_value(self, value: Any, key: Key, declared: Mapping[str, Any]) -> Any:
        if isinstance(value, Mapping):
            return {
                name: self._fill_value(item, (*key, name), member_schema(declared, name))
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [
                self._fill_value(item, (*key, index), member_schema(declared, index))
                for index, item in enumerate(value)
            ]
        if not isinstance(value, str) or ("{" not in value and "}" not in value):
            return value
        phase = declared.get("x-placeholders")
        return (
            self._fill_template(value, key)
            if phase == "run"
            else self._fill_plain(value, key, allow_braces=phase == "never")
        )

    def _fill_template(self, text: str, key: Key) -> str:
        try:
            names = [piece.text for piece in parse(text) if piece.is_placeholder]
        except MalformedPlaceholder as error:
            self.problems.append(Problem(key, error.message, "a literal brace is doubled: {{ and }}"))
            return text
        for name in names:
            self._look_up(name, key)
        return render_known(text, self.known)

    def _fill_plain(self, text: str, key: Key, *, allow_braces: bool) -> str:
        known = {match[1]: self._look_up(match[1], key) for match in _KNOWN.finditer(text)}
        filled = _KNOWN.sub(lambda match: match[0] if known[match[1]] is None else str(known[match[1]]), text)
        rest = _KNOWN.sub("", text)
        if not allow_braces and ("{" in rest or "}" in rest):
            message = "only {var.NAME} and {env.NAME} can be used here"
            self.problems.append(Problem(key, message))
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
