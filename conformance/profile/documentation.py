"""The documentation of each fact of a profile, as data from the schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.core.errors import UsageError
from conformance.profile.schema import facts_schema, member_schema
from conformance.profile.source import nearest
from conformance.profile.structure import type_in_words


@dataclass(frozen=True, slots=True)
class FactDocumentation:
    """The documentation of one fact. `NAME` in its dotted key is a name of the owner's or the interface's."""

    key: str
    description: str
    type: str
    """As text, with its bounds: `a number, more than 0`."""
    default: Any
    """As JSON; None without a default."""
    required: bool
    """Whether its table requires it."""
    excludable: bool
    """Whether `none = "..."` may be stated instead."""
    limit: str
    """The option that overrides it for one run; empty without one."""
    placeholders: bool
    """Whether it may hold placeholders that are filled in during a run, besides {var.NAME} and {env.NAME}."""
    inner_placeholders: bool
    """Whether a fact within it may."""
    facts: tuple[str, ...]
    """The names of the facts of a table."""


def declared_schema(key: str) -> Mapping[str, Any]:
    """The schema of the fact at a dotted key, as in profiles and messages. Raises UsageError where there is none."""
    return _declared_with_parent(key)[0]


def fact_documentation(key: str) -> FactDocumentation:
    """Of the fact at a dotted key, as in profiles and messages; `KEY.none` is the same fact, excluded.

    Raises UsageError where there is none.
    """
    try:
        declared, parent = _declared_with_parent(key)
    except UsageError:
        excluded = key.removesuffix(".none")
        if excluded != key and _declared_with_parent(excluded)[0].get("x-excludable"):
            return fact_documentation(excluded)
        raise
    return _documentation(key, key.rpartition(".")[2], declared, parent)


def _declared_with_parent(key: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    parent: Mapping[str, Any] = {}
    declared: Mapping[str, Any] = facts_schema()
    for part in key.split("."):
        parent = member_schema(declared, 0) if "items" in declared else declared
        declared = member_schema(parent, part)
        if not declared.keys() - {"x-placeholders"}:
            known = parent.get("properties", {})
            raise UsageError(f"there is no fact {key!r} of a profile", hint=nearest(part, known))
    return declared, parent


def all_facts() -> Iterator[FactDocumentation]:
    """Of every fact, in the order of the model."""
    yield from _members((), facts_schema())


def _members(path: tuple[str, ...], parent: Mapping[str, Any]) -> Iterator[FactDocumentation]:
    wildcard = ["NAME"] if isinstance(parent.get("additionalProperties"), dict) else []
    for name in (*parent.get("properties", {}), *wildcard):
        declared = member_schema(parent, name)
        yield _documentation(".".join((*path, name)), name, declared, parent)
        yield from _members((*path, name), _inner(declared))


def _inner(declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a table, or each table of an array, holds."""
    return member_schema(declared, 0) if "items" in declared else declared


def _documentation(key: str, name: str, declared: Mapping[str, Any], parent: Mapping[str, Any]) -> FactDocumentation:
    bounds = declared.get("x-expected", "") or ", ".join(map(str, declared.get("enum", ())))
    return FactDocumentation(
        key=key,
        description=declared.get("description", ""),
        type=", ".join(filter(None, (type_in_words(declared), bounds))),
        default=declared.get("default"),
        required=name in parent.get("required", ()),
        excludable=bool(declared.get("x-excludable")),
        limit=f"--limit {name}=VALUE" if key == f"limits.{name}" else "",
        placeholders="run" in (declared.get("x-placeholders"), declared.get("items", {}).get("x-placeholders")),
        inner_placeholders=any(fact.placeholders for fact in _members((), _inner(declared))),
        facts=tuple(declared.get("properties", {})),
    )
