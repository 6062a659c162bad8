"""The lines of a profile that state a fact or exclude it, ready to be pasted and completed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from conformance.core.errors import UsageError
from conformance.profile.documentation import declared_schema

_NONE: Final = 'none = "why it is not there, or cannot be seen"'
_TEMPLATES: Final[Mapping[str, tuple[str, str]]] = {
    "credentials": (
        '[credentials.NAME]\nsecret = { env = "NAME_OF_A_VARIABLE" }\nscopes = []\ninstallation = "A"',
        f'[credentials.NAME]\nstatus = "active"\n{_NONE}',
    ),
    "effects": (
        '[effects.OPERATION]\nhttp = { url = "{var.control}/..." }\npointer = "/count"\nstep = 1',
        f"[effects]\n{_NONE}",
    ),
}


_REMARK: Final = re.compile(r" \((.+)\)$")
"""What a stated fact lacks: `fixtures.cart.open (with revision)`."""
_VALUES_OF_TRANSITIONS: Final[Mapping[str, str]] = {"leads_to": '"KIND.STATE"'}


def statement_of_fact(key: str) -> str:
    """TOML that states the fact at a dotted key, which may end in ` = VALUE`; values are to be completed."""
    if remark := _REMARK.search(key):
        return f"# {remark[1]}\n{statement_of_fact(key[: remark.start()])}"
    path, _, value = key.partition(" = ")
    if path in _TEMPLATES:
        return _TEMPLATES[path][0]
    table, _, name = path.rpartition(".")
    if table == "effects":
        return _TEMPLATES[table][0].replace("OPERATION", name)
    if path.startswith("transitions"):
        _, operation, *facts = [*path.split("."), ""]
        return f'[[transitions]]\noperation = "{operation}"\nfixture = "KIND.STATE"' + (
            f"\n{facts[0]} = {_VALUES_OF_TRANSITIONS.get(facts[0], 'true')}" if facts and facts[0] else ""
        )
    declared = _schema_of(path)
    if declared.get("type") == "object" and "properties" in declared:
        return f"[{path}]\n" + "\n".join(f"{n} = {_example(s)}" for n, s in _important(declared))
    return (f"[{table}]\n" if table else "") + f"{name} = {value or _example(declared)}"


def waiver_of_cause(requirement: str, signature: str) -> str:
    """TOML of a waiver of one cause, without what its owner must say: a profile refuses it as it is."""
    stated = (("requirement", requirement), ("signature", signature))
    lines = [f"{name} = {json.dumps(value)}" for name, value in stated]
    return "\n".join(["[[waivers]]", *lines, *(f'{name} = ""' for name in ("reason", "owner", "issue", "until"))])


def exclusion_of_fact(key: str) -> str:
    """TOML that says with a reason that the fact is not there or cannot be seen."""
    path = _REMARK.sub("", key).partition(" = ")[0]
    if path in _TEMPLATES:
        return _TEMPLATES[path][1]
    if path.startswith("transitions"):
        _, operation, *_ = [*path.split("."), ""]
        return f'[[transitions]]\noperation = "{operation}"\n{_NONE}'
    table, _, name = path.rpartition(".")
    if not table or "properties" in _schema_of(path):
        return f"[{path}]\n{_NONE}"
    return f"[{table}]\n{name} = {{ {_NONE} }}"


def _schema_of(path: str) -> Mapping[str, Any]:
    try:
        return declared_schema(path)
    except UsageError:
        return {}


def _important(declared: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The required facts of a table, or its first one."""
    properties = declared["properties"]
    required = [(name, properties[name]) for name in declared.get("required", ())]
    return required or list(properties.items())[:1]


def _example(declared: Mapping[str, Any]) -> str:
    """An example value: the first of several words with the others as a comment, or a value of the type."""
    if words := declared.get("enum"):
        first = f'"{words[0]}"' if isinstance(words[0], str) else str(words[0])
        return first + (f"  # or {', '.join(map(str, words[1:]))}" if words[1:] else "")
    if declared.get("x-expected", "").startswith("a JSON pointer"):
        return '"/..."'  # of an answer, of one of its items or of a body
    if declared.get("x-placeholders") == "run" and "type" not in declared:
        return "{}"
    examples = {"integer": "1", "number": "1.0", "boolean": "true", "array": "[]", "object": "{}"}
    return examples.get(str(declared.get("type")), '"..."')
