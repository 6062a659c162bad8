"""Legitimate forms in which identity shows the scopes of the calling key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from conformance.reference.call import Answer, Call, JsonObject, JsonValue
from conformance.reference.keys import ALL_SCOPES
from conformance.reference.policy import Policy, evolve, with_shape
from conformance.reference.registry import variant

_OTHER_SCHEMA: Final = {"names": {"ApiKeyIdentityResponse": "OtherIdentityResponse"}}
_UNSTATED: Final = {"identity": {"scopes": None}, "schemas": _OTHER_SCHEMA}


def _objects(scopes: list[str]) -> JsonValue:
    return [{"name": scope, "description": f"Allows {scope} and not *:*", "deprecated": False} for scope in scopes]


def _flags(scopes: list[str]) -> JsonValue:
    return [{"scope": scope, "granted": scope in scopes} for scope in sorted(ALL_SCOPES)]


def _members(scopes: list[str]) -> JsonValue:
    return {scope: scope in scopes for scope in sorted(ALL_SCOPES)}


FORMS: Final[Mapping[str, Callable[[list[str]], JsonValue]]] = {
    "list": lambda scopes: scopes,
    "objects": _objects,
    "text": " ".join,
    "flags": _flags,
    "members": _members,
}


def scopes_as(policy: Policy, form: str) -> Policy:
    """Identity shows the scopes in another form in the same member."""
    return _change_data(policy, lambda data: {**data, "scopes": FORMS[form](data["scopes"])})


def _change_data(policy: Policy, change: Callable[[JsonObject], JsonObject]) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={**answer.value, "data": change(answer.value["data"])})

    return with_shape(policy, shaper, "getApiKeyIdentity")


@variant("V222", requirement="IDN-1", title="scopes as objects with a description", profile=_UNSTATED)
def scopes_as_objects(policy: Policy) -> Policy:
    return scopes_as(policy, "objects")


@variant("V223", requirement="IDN-1", title="scopes as one text", profile=_UNSTATED)
def scopes_as_text(policy: Policy) -> Policy:
    return scopes_as(policy, "text")


@variant("V224", requirement="IDN-1", title="every scope listed, granted or not", profile=_UNSTATED)
def scopes_with_flags(policy: Policy) -> Policy:
    return scopes_as(policy, "flags")


@variant(
    "V225",
    requirement="IDN-1",
    title="scopes by resource and verb, not by name",
    profile={"identity": {"none": "scopes are shown as verbs by resource"}, "schemas": _OTHER_SCHEMA},
)
def scopes_by_resource(policy: Policy) -> Policy:
    def change(data: JsonObject) -> JsonObject:
        verbs = [scope.partition(":") for scope in data["scopes"]]
        allowed_verbs = {resource: [verb for name, _, verb in verbs if name == resource] for resource, _, _ in verbs}
        return {**{name: value for name, value in data.items() if name != "scopes"}, "allowed": allowed_verbs}

    return _change_data(policy, change)


@variant("V226", requirement="IDN-1", title="available scopes beside the key's own", profile=_UNSTATED)
def available_beside_granted(policy: Policy) -> Policy:
    return _change_data(policy, lambda data: {**data, "available": sorted(ALL_SCOPES), "scopes": data["scopes"]})
