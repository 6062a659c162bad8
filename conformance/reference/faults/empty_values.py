"""Faults of values that stand for nothing: null, an empty text, a condition in place of a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection

from conformance.reference import hosted, objects
from conformance.reference.call import Answer, Call, JsonObject, JsonValue, Refusal, success
from conformance.reference.policy import (
    Handler,
    Policy,
    Schema,
    before_work,
    evolve,
    with_handlers,
    with_oauth,
    with_reading,
)
from conformance.reference.registry import fault

_TOKEN = ("exchangeOAuthToken",)
_TARGETS = {"consumeHostedCheckoutBrowserTicket": "consumed", "cancelHostedCheckoutBrowser": "cancelled"}
_HOSTED = tuple(_TARGETS)


def _with_optional(
    policy: Policy, operations: tuple[str, ...], name: str, is_nothing: Callable[[JsonValue], bool]
) -> Policy:
    """A member with such a value counts as absent, and its body as valid."""

    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        is_affected = call.operation in operations and isinstance(value, dict) and name in value
        if is_affected and is_nothing(value[name]):
            value = {member: item for member, item in value.items() if member != name}
            schema = {**schema, "required": [member for member in schema["required"] if member != name]}
        return policy.reading.validate(call, schema, value)

    return with_reading(policy, validate=validate)


def _with_optional_grant(
    policy: Policy, condition: str, member: str, is_nothing: Callable[[JsonValue], bool]
) -> Policy:
    """The condition of a code counts only where the member has a value."""

    def check(call: Call, code: Mapping[str, Any]) -> None:
        if member in call.body:
            policy.oauth.grant[condition](call, code)

    changed = with_oauth(policy, grant={**policy.oauth.grant, condition: check})
    return _with_optional(changed, _TOKEN, member, is_nothing)


@fault(
    "F830",
    requirement="OA-2",
    title="a verifier that is null is not checked",
    operations=_TOKEN,
    source="`if verifier is not None`, made for codes without a challenge",
)
def null_for_a_verifier(policy: Policy) -> Policy:
    return _with_optional_grant(policy, "verifier", "codeVerifier", lambda value: value is None)


@fault(
    "F831",
    requirement="OA-5",
    title="a redirect URI that is null or empty is not compared",
    operations=_TOKEN,
    source="RFC 6749 section 4.1.3, by which the member is required only where the authorization request had it",
)
def nothing_for_a_redirect_uri(policy: Policy) -> Policy:
    return _with_optional_grant(policy, "redirect_uri", "redirectUri", lambda value: value is None or value == "")


def _without_zeros(schema: Schema, value: JsonValue) -> JsonValue:
    """The value without required members of objects that are the text "0"."""
    if isinstance(value, list):
        return [_without_zeros(schema.get("items", {}), item) for item in value]
    if not isinstance(value, dict):
        return value
    parts, needed = schema.get("properties", {}), schema.get("required", ())
    return {
        name: _without_zeros(parts.get(name, {}), item)
        for name, item in value.items()
        if item != "0" or name not in needed
    }


@fault(
    "F892",
    requirement="BODY-4",
    title='a required text "0" counts as missing',
    source='empty() of PHP, by which "0" is not a value',
)
def zero_is_no_text(policy: Policy) -> Policy:
    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        policy.reading.validate(call, schema, _without_zeros(schema, value))
        assert isinstance(value, dict)
        return value

    return with_reading(policy, validate=validate)


def _is_condition(value: JsonValue) -> bool:
    return isinstance(value, dict) and any(name.startswith("$") for name in value)


@fault(
    "F845",
    requirement="HO-3",
    title="an object with an operator is taken for any ticket",
    operations=_HOSTED,
    source="a body that becomes a query of MongoDB, in which {$ne: ''} is a condition (CWE-943)",
)
def condition_for_a_ticket(policy: Policy) -> Policy:
    """The session is found by its id alone where the ticket is a condition."""

    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            if "ticket" in call.body:
                return inner(call, db)
            session = objects.find_in_state(call, db, "session")
            return success(hosted._projection(objects.change(db, session, _TARGETS[call.operation], session.data)))

        return act

    return with_handlers(_with_optional(policy, _HOSTED, "ticket", _is_condition), _HOSTED, wrap)


def _without_null(schema: Schema, value: JsonValue, is_inner: bool) -> JsonValue:
    """The value without the optional members of inner objects that are null."""
    if isinstance(value, list):
        return [_without_null(schema.get("items", {}), item, True) for item in value]
    if not isinstance(value, dict):
        return value
    parts, needed = schema.get("properties", {}), schema.get("required", ())
    return {
        name: _without_null(parts.get(name, {}), item, True)
        for name, item in value.items()
        if not is_inner or item is not None or name in needed
    }


@fault(
    "F852",
    requirement="BODY-4",
    title="null is accepted for an optional member of an inner object",
    source="a serializer that maps null to an absent field, used for inner types, beside a validator for the outer one",
)
def null_in_inner_objects(policy: Policy) -> Policy:
    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        return policy.reading.validate(call, schema, _without_null(schema, value, False))

    return with_reading(policy, validate=validate)


@fault(
    "X196",
    requirement="BODY-4",
    title="null is accepted for an optional member of the body",
    source="members that are null are dropped before the body is validated, as a column is written: null or absent",
)
def null_at_the_top(policy: Policy) -> Policy:
    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        if isinstance(value, dict):
            needed = schema.get("required", ())
            value = {name: item for name, item in value.items() if item is not None or name in needed}
        return policy.reading.validate(call, schema, value)

    return with_reading(policy, validate=validate)


@fault(
    "X64",
    requirement="WH-2",
    title="an update that names nothing empties the description",
    operations=("updateInstallationWebhook",),
    source="a form whose empty submission counts as one with empty fields",
)
def update_of_nothing(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        return policy.merge(old, changes or {"description": ""})

    return evolve(policy, merge=merge)


@fault(
    "X80",
    requirement="STA-1",
    title="a description that is null answers 500",
    operations=("createInstallationWebhook",),
    source="a member that is trimmed before it is known to be a text",
    seeded_in="V560",
)
def null_crashes(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        if "description" in call.body:
            return evolve(call, body={**call.body, "description": call.body["description"].strip()})
        return call

    return before_work(policy, look, "createInstallationWebhook")


def _without(policy: Policy, is_ignored: Callable[[JsonValue], bool]) -> Policy:
    """Updates that ignore members with such a value."""

    def look(call: Call, _db: Connection) -> Call:
        return evolve(call, body={name: value for name, value in call.body.items() if not is_ignored(value)})

    return before_work(policy, look, "updateInstallationWebhook")


@fault(
    "X81",
    requirement="WH-2",
    title="an update ignores members that are null",
    operations=("updateInstallationWebhook",),
    source="model_dump(exclude_none=True) in place of exclude_unset",
    seeded_in="V560",
)
def nulls_ignored(policy: Policy) -> Policy:
    return _without(policy, lambda value: value is None)


@fault(
    "X82",
    requirement="WH-2",
    title="an update ignores an empty text",
    operations=("updateInstallationWebhook",),
    source="`if body.description` in place of a test whether it is there",
)
def empty_texts_ignored(policy: Policy) -> Policy:
    return _without(policy, lambda value: value == "")


@fault(
    "X39",
    requirement="WH-2",
    title="an update that names the description empties it",
    operations=("updateInstallationWebhook",),
    source="a mapper that reads the member by the name that the old version of the interface gave it",
)
def description_emptied(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        return evolve(call, body={**call.body, "description": ""}) if "description" in call.body else call

    return before_work(policy, look, "updateInstallationWebhook")


@fault(
    "X90",
    requirement="WH-1",
    title="an update that changes nothing answered 409",
    operations=("updateInstallationWebhook",),
    source="an UPDATE whose number of changed rows is 0, taken for a lost race",
)
def unchanged_conflicts(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def change(call: Call, db: Connection) -> Answer:
            found = objects.get(db, call.resource)
            if found is not None and policy.merge(found.data, call.body) == found.data:
                raise Refusal("state_conflict", "The endpoint was changed meanwhile.")
            return inner(call, db)

        return change

    return with_handlers(policy, ("updateInstallationWebhook",), wrap)


@fault(
    "X91",
    requirement="WH-2",
    title="an update of active takes away the description",
    operations=("updateInstallationWebhook",),
    source="an object of a form with two members, of which the absent one is stored as empty",
)
def description_beside_active(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        is_taken = "active" in changes and "description" not in changes
        return {**policy.merge(old, changes), **({"description": ""} if is_taken else {})}

    return evolve(policy, merge=merge)
