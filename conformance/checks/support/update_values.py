"""Other values for members of webhook endpoints that a PATCH may name, where the profile's updates do not name them.

A service may refuse them for a rule that no schema states: such a refusal leaves out the member and is not a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.shown_members import beside_kept, is_shown, value_at
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.profile.sample import Alternatives
from conformance.profile.subschema import Root, Schema

_CREATE: Final = "createInstallationWebhook"


def update_schema(case: Case) -> Schema | None:
    schema: Schema | None = case.profile.body_schema(case.operation.request_schema)
    return schema


def updatable_names(case: Case) -> list[str]:
    """The members that the schema of updates names, but for the idempotency key."""
    schema = update_schema(case)
    if schema is None:
        return []
    parts = Root(schema).subschemas(schema, [])
    idempotency = case.profile.idempotency
    key = pointer.tokens(idempotency.place)[0] if idempotency and idempotency.place else None
    return [
        name for name in dict.fromkeys(name for part in parts for name in part.get("properties", ())) if name != key
    ]


def stated_names(case: Case) -> set[str]:
    """The members that an update of the profile names."""
    bodies = (case.facts.body, case.profile.webhooks.patch, *case.facts.bodies)
    return {name for body in bodies if isinstance(body, Mapping) for name in body}


async def other_values(case: Case, created: Answer) -> dict[str, Any]:
    """For members that the answer to create shows unchanged: a value of another body, or a generated one.

    Also, of members that create did not name: false for switches that are on, and another value that the schema lists
    for a member that the profile states as kept.
    """
    schema, sent = update_schema(case), created.request.body
    if schema is None or not isinstance(sent, Mapping):
        return {}
    root = Root(schema)
    check, bodies, found = root.validator(schema), await _other_bodies(case, created.request), dict[str, Any]()
    for name in updatable_names(case):
        if name in sent:
            known, old = [body[name] for body in bodies if name in body], sent[name]
            values = [*known, *_generated_values(name, old, schema)] if is_shown(case, created, name) else []
        else:
            old = value_at(created, beside_kept(case, name))
            values = [False] if old is True else _listed_values(case, root, schema, name)
        others = (value for value in values if not strictjson.is_equal(value, old) and check.is_valid({name: value}))
        for value in others:
            found[name] = value
            break
    return found


def _listed_values(case: Case, root: Root, schema: Schema, name: str) -> list[Any]:
    """The values that the schema lists for a member (`active`, `paused`), if PATCH keeps it where it is not named."""
    if beside_kept(case, name) not in case.profile.webhooks.kept:
        return []
    return [value for part in root.subschemas(schema, [name]) for value in part.get("enum", ())]


async def _other_bodies(case: Case, create: Request) -> list[Mapping[str, Any]]:
    facts = case.profile.operations.get(_CREATE)
    other = replace(create, scope={**create.scope, "unique": case.runtime.arranger.unique()})
    bodies = [await case.runtime.arranger.render_body(other, body) for body in (facts.bodies if facts else ())]
    return [body for body in bodies if isinstance(body, Mapping)]


def empty_values(case: Case, created: Answer) -> dict[str, Any]:
    """For members that the answer to create shows: null where the schema of updates names it, or another empty value.

    Of an object the members are empty, and not itself: it may be merged with the old one.
    """
    schema, sent = update_schema(case), created.request.body
    if schema is None or not isinstance(sent, Mapping):
        return {}
    root, found = Root(schema), dict[str, Any]()
    check = root.validator(schema)
    for name in updatable_names(case):
        if not sent.get(name) or not is_shown(case, created, name):
            continue
        nulls = [None] if root.names_null(schema, pointer.join(name)) else []
        for value in (*nulls, *_empty_forms(sent[name])):
            if name not in found and check.is_valid({name: value}):
                found[name] = value
    return found


def _empty_forms(value: Any) -> list[Any]:
    """An empty text, an empty list, or 0; of an object those of its members, all at once and then one by one."""
    if isinstance(value, bool):
        return []
    if isinstance(value, (str, list, int, float)):
        return [type(value)()]
    if not isinstance(value, dict):
        return []
    empty = {name: forms[0] for name, item in value.items() if item and (forms := _empty_forms(item))}
    return [value | part for part in (empty, *({name: form} for name, form in empty.items())) if part]


def _generated_values(name: str, value: Any, schema: Schema) -> Iterator[Any]:
    if isinstance(value, list) and len(value) > 1:
        yield value[:-1]
    document, alternatives = {name: value}, Alternatives(schema)
    for where, _ in pointer.leaves(document):
        yield from (other[name] for other in alternatives.variants_at(document, where))
