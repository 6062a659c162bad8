"""The problems of a document's keys and types by its schema, as text."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from conformance.profile.schema import facts_schema, member_schema, resolve, walk
from conformance.profile.source import Key, Problem, nearest

_UNKNOWN = "unknown key"
_LACKS = "lacks the key "
_MAX_QUOTED = 24
_ARTICLES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "a table",
    "array": "an array",
    "any": "any value",
}


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(facts_schema())


def structure_problems(document: Mapping[str, Any], schema: dict[str, Any] | None = None) -> list[Problem]:
    """The problems of a document's keys and types, in no particular order. `schema`: by default the profile's."""
    root = schema or facts_schema()
    if problems := list(_number_problems(document, root)):
        return problems
    validator = jsonschema_rs.Draft202012Validator(schema) if schema else _validator()
    for error in validator.iter_errors(document):
        key = _key_of(document, error.instance_path)
        declared: Mapping[str, Any] = root
        for part in key:
            declared = member_schema(declared, part, root)
        problems += _problems(key, error, declared, root)
    misspelt = {(p.key[:-1], p.hint) for p in problems if p.message == _UNKNOWN}
    return [p for p in problems if (p.key, f"did you mean {p.message.removeprefix(_LACKS)}?") not in misspelt]


def _number_problems(document: Mapping[str, Any], root: dict[str, Any]) -> Iterator[Problem]:
    for key, value, declared in walk(document, root, root):
        if isinstance(value, float) and not math.isfinite(value):
            yield Problem(key, f"{value} is not a JSON number")
        elif isinstance(value, float) and declared.get("type") == "integer":  # to JSON Schema, 1.0 is an integer
            yield Problem(key, "must be an integer, not a float")
        elif isinstance(value, int) and declared.get("type") == "number" and abs(value) > sys.float_info.max:
            yield Problem(key, "is too large for a number")


def _problems(
    key: Key, error: jsonschema_rs.ValidationError, declared: Mapping[str, Any], root: dict[str, Any]
) -> Iterator[Problem]:
    kind: Any = error.kind
    expected = declared.get("x-expected", "")
    match kind.name:
        case "additionalProperties":
            names = list(declared.get("properties", ()))
            for unknown in kind.unexpected:
                yield Problem((*key, unknown), _UNKNOWN, nearest(unknown, names))
        case "required":
            yield Problem(key, f"{_LACKS}{kind.property}", _describe_fact(declared, kind.property, root))
        case "type":
            hint = expected or _heading_of_tables(key, declared, error.instance, root)
            yield Problem(key, f"must be {type_in_words(declared)}, not {_type_of(error.instance)}", hint)
        case "enum":
            options = [str(option) for option in declared["enum"]]
            yield Problem(key, f"{_quote(error.instance)} is not allowed", nearest(str(error.instance), options))
        case "pattern" | "minimum" | "exclusiveMinimum":
            yield Problem(key, f"must be {expected}, not {_quote(error.instance)}")
        case "minLength" | "minItems" | "minProperties" | "maxProperties":
            yield Problem(key, "must not be empty" if expected == "not empty" else f"needs {expected}")
        case _:
            yield Problem(key, f"does not fit the schema ({kind.name})")


def _heading_of_tables(key: Key, declared: Mapping[str, Any], value: Any, root: dict[str, Any]) -> str:
    """Where one table stands in place of an array of tables: how TOML writes the array."""
    is_of_tables = "items" in declared and resolve(declared["items"], root).get("type") == "object"
    return f"[[{'.'.join(map(str, key))}]] above each" if is_of_tables and isinstance(value, Mapping) else ""


def as_list(stated: Any) -> list[Any]:
    """The tables of a fact that may be one table or an array of tables."""
    return [stated] if isinstance(stated, Mapping) else list(stated)


def _quote(value: Any) -> str:
    """The value, shortened where it may be a misplaced API key."""
    text = repr(value)
    return text if len(text) <= _MAX_QUOTED else f"{text[:4]}…{text[-1]}"


def _describe_fact(table: Mapping[str, Any], name: str, root: dict[str, Any]) -> str:
    about = str(resolve(table["properties"][name], root).get("description", ""))
    return (about if about[1:2].isupper() else about[:1].lower() + about[1:]).rstrip(".")


def type_in_words(declared: Mapping[str, Any]) -> str:
    """`an integer`, `a string or a table`; `any value` where no type is declared."""
    options = declared.get("enum", ())
    of_options = "integer" if options and isinstance(options[0], int) else "string"
    types = declared.get("type", of_options if options else "any")
    return " or ".join(_ARTICLES[t] for t in ([types] if isinstance(types, str) else types))


def _key_of(document: Any, path: Iterable[str | int]) -> Key:
    """An instance path as a key. The library returns a member whose name is a number, such as `00`, as that number."""
    key: list[str | int] = []
    for part in path:
        if isinstance(document, Mapping) and isinstance(part, int):
            key.append(next(name for name in document if name.lstrip("+").isdigit() and int(name) == part))
        else:
            key.append(part)
        document = document[key[-1]]
    return tuple(key)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    kinds = ((str, "a string"), (int, "an integer"), (float, "a float"), (dict, "a table"), (list, "an array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), type(value).__name__)
