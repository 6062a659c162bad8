"""The JSON Schema of a profile's facts, generated from the declarations of `model.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from conformance.core.model import Waiver
from conformance.profile import behavior, model, resources
from conformance.profile.facts import declarations
from conformance.profile.model import Profile
from conformance.profile.source import Key
from conformance.profile.waivers import StatedWaiver

Schema = dict[str, Any]
FACTS_FILE: Final = Path(__file__).with_name("facts.schema.json")
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_OWN_FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "exclusion": (),
    "absentCredential": ("scopes", "installation", "status"),
    "noTransition": ("operation",),
}
"""The facts that an exclusion may state besides its reason."""

_TYPES: Final[Mapping[str, type]] = {**vars(resources), **vars(behavior), **vars(model)}
"""The types of the tables, by name."""


def document_schema(kind: type) -> Schema:
    """The JSON Schema of a TOML document without exclusions, from which a value of `kind` is built."""
    _, parts = msgspec.json.schema_components([kind, StatedWaiver], schema_hook=_path)
    kinds = {name: _TYPES.get(name, kind) for name in parts} | {Waiver.__name__: StatedWaiver}
    tables = {name: _table(kinds[name], parts) for name in parts if name != StatedWaiver.__name__}
    tables = {name: _with_single_tables(table, tables) for name, table in tables.items()}
    return {"$schema": DIALECT, **tables.pop(kind.__name__), "$defs": tables}


def _path(kind: type) -> Schema:
    assert kind is Path
    return {"type": "string", "minLength": 1, "x-expected": "not empty"}


def _table(kind: type, parts: Mapping[str, Any]) -> Schema:
    description = parts[kind.__name__].get("description", "").partition("\n")[0]
    table = ({"description": description} if description else {}) | _empty_table()
    for declaration in declarations(kind):
        place, fact = table, _fact(parts[kind.__name__]["properties"][declaration.attribute])
        for name in declaration.path[:-1]:
            marks = {"x-excludable": fact["x-excludable"]} if "x-excludable" in fact else {}
            place["required"] += [name] if declaration.required else []
            place = place["properties"].setdefault(name, {"description": declaration.table, **marks, **_empty_table()})
        place["required"] += [declaration.path[-1]] if declaration.required else []
        place["properties"][declaration.path[-1]] = fact
    return table


def _with_single_tables(schema: Any, tables: Mapping[str, Schema]) -> Any:
    """A schema in which each array of tables that may be a single table also describes that table.

    Keywords of objects do not restrict arrays, nor the reverse: one schema describes both.
    """
    if not isinstance(schema, dict):
        return schema
    members = {name: _with_single_tables(item, tables) for name, item in schema.items() if name != "x-table"}
    if "x-table" not in schema:
        return members
    return {**tables[schema["items"]["$ref"].rpartition("/")[2]], **members}


def _empty_table() -> Schema:
    return {"type": "object", "additionalProperties": False, "required": [], "properties": {}}


def _fact(generated: Any) -> Any:
    """The schema of a fact in the file: it is omitted rather than null, and the order of sets is free."""
    if not isinstance(generated, dict):
        return list(generated) if isinstance(generated, tuple) else generated
    schema = {name: _fact(item) for name, item in generated.items() if name not in ("uniqueItems", "anyOf")}
    for option in generated.get("anyOf", ()):
        schema |= _fact(option) if option != {"type": "null"} else {}
    if "enum" in schema:
        schema.pop("type", None)  # the alternatives of a union have lost it
    if schema.get("default") in (None, "", (), [], {}) or isinstance(schema.get("default"), dict):
        schema.pop("default", None)
    return schema | schema.pop("x-schema", {})


@cache
def facts_schema() -> Schema:
    """The JSON Schema of a profile's facts without exclusions (`published_schema` has both).

    Read from the file that `published_schema` writes: deriving it from the types takes a twentieth of a short run.
    """
    schema: Schema = msgspec.json.decode(FACTS_FILE.read_bytes())
    return schema


def derive_facts_schema() -> Schema:
    """The content of `FACTS_FILE`."""
    schema = document_schema(Profile)
    for table in schema["properties"].values():
        if table.setdefault("x-excludable", "exclusion"):
            for fact in resolve(table, schema).get("properties", {}).values():
                fact.setdefault("x-excludable", "exclusion")
    schema["$defs"] |= {name: _exclusion_schema(schema, facts) for name, facts in _OWN_FACTS.items()}
    return schema


def _exclusion_schema(schema: Schema, facts: Sequence[str]) -> Schema:
    """The schema of an exclusion."""
    reason = {"none": {"description": "The reason.", "type": "string", "minLength": 1}}
    known = {**schema["$defs"]["Transition"]["properties"], **schema["$defs"]["Credential"]["properties"]}
    return {
        "description": "It is absent or not observable.",
        **_empty_table(),
        "required": ["none", *(name for name in facts if name == "operation")],
        "properties": {**reason, **{name: known[name] for name in facts}},
    }


def resolve(schema: Mapping[str, Any], root: Schema | None = None) -> Mapping[str, Any]:
    """A part of the schema without its `$ref`."""
    if "$ref" not in schema:
        return schema
    target = (root or facts_schema())["$defs"][schema["$ref"].rpartition("/")[2]]
    return {**target, **{name: item for name, item in schema.items() if name != "$ref"}}


def member_schema(schema: Mapping[str, Any], part: str | int, root: Schema | None = None) -> Mapping[str, Any]:
    """The declaration of a member or an element. Of an undeclared one only `x-placeholders` is inherited."""
    found = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
    found = found or schema.get("additionalProperties") or {}
    inherited = {"x-placeholders": schema["x-placeholders"]} if "x-placeholders" in schema else {}
    return {**inherited, **resolve(found, root)}


def walk(
    value: Any, declared: Mapping[str, Any], root: Schema | None = None, key: Key = ()
) -> Iterator[tuple[Key, Any, Mapping[str, Any]]]:
    """Each value of a document with its key and its declaration."""
    yield key, value, declared
    members = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, item in members:
        yield from walk(item, member_schema(declared, name, root), root, (*key, name))
