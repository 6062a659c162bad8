"""The contract with everything that a profile states filled in: one OpenAPI 3.1 document for other tools.

What OpenAPI cannot say is left out: tickets, proofs, states, retention, and members that only a placeholder fills.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from conformance.contract import openapi_document
from conformance.core import json_pointer as pointer
from conformance.profile.components import name_required, put_schemas
from conformance.profile.filled_parameters import example_key, header_parameters, idempotency_parameters, with_bounds
from conformance.profile.model import Profile
from conformance.profile.render import Scope, UnknownPlaceholder, render
from conformance.profile.resources import OperationFacts

Object = dict[str, Any]
KEY: Final = "idempotency.key"
"""The name under which the scope of an example gives the idempotency key as the carrier writes it."""
_UNUSED: Final = ("ObjectEnvelope", "ListEnvelope")
_SEARCH: Final = "searchPublicProducts"
_MEDIA_TYPE: Final = "application/json"


Examples = Mapping[str, Callable[[], Scope]]
"""Name -> makes the values of the placeholders of one call."""


def filled_contract(profile: Profile, examples: Examples | None = None) -> Object:
    """The document. `examples`: each operation has one example under each name, with values of its own.

    Without `examples` there is one for each body that the profile states, where no fixture has to be arranged for it.
    """
    document = openapi_document()
    document["servers"] = [{"url": profile.base_url, "description": f"The target of the profile {profile.name}"}]
    components = document["components"]
    put_schemas(components["schemas"], profile.schemas.by_name)
    _drop_unused(document)
    name_required(components["schemas"])
    _state_key(components["securitySchemes"], profile)
    for item in document["paths"].values():
        for operation in item.values():
            _fill_operation(operation, components, profile, examples)
    _drop_parameters(document)
    return document


def stated_values(profile: Profile, name: str) -> Mapping[str, Any]:
    """The values of placeholders that need no fixture, and an idempotency key for the example of that name."""
    oauth = profile.oauth
    names = ("client_id", "redirect_uri", "other_client_id", "other_redirect_uri", "other_client_redirect_uri")
    stated = {f"oauth.{member}": getattr(oauth, member) for member in names} if oauth else {}
    stated[KEY] = example_key(profile.idempotency, name)
    return {"unique": "example", **{member: value for member, value in stated.items() if value}}


def _drop_unused(document: Object) -> None:
    """The envelopes that no schema refers to any more."""
    schemas = document["components"]["schemas"]
    used = {schema["$ref"] for schema in schemas.values() if isinstance(schema, dict) and "$ref" in schema}
    for name in _UNUSED:
        if f"#/components/schemas/{name}" not in used:
            schemas.pop(name, None)


def _drop_parameters(document: Object) -> None:
    """Every operation has its own copies, with its own examples."""
    document["components"].pop("parameters", None)


def _state_key(schemes: Object, profile: Profile) -> None:
    """How the API key is written. The scopes stay where the contract has them."""
    form = profile.authorization.format
    scheme = schemes["ApiKey"]
    if form == "Bearer {key}":
        extensions = {name: value for name, value in scheme.items() if name.startswith("x-")}
        schemes["ApiKey"] = {"type": "http", "scheme": "bearer", "description": "The API key.", **extensions}
    else:
        scheme["description"] = f"The API key, written as `{form}`."


def _fill_operation(operation: Object, components: Object, profile: Profile, examples: Examples | None) -> None:
    facts = profile.operations.get(operation["operationId"], OperationFacts())
    declared = [_resolve(parameter, components) for parameter in operation.pop("parameters", [])]
    parameters = [with_bounds(parameter, profile.search) for parameter in declared]
    if operation["x-idempotency"] == "required":
        parameters += idempotency_parameters(profile.idempotency)
    parameters += header_parameters(facts.headers)
    if parameters:
        operation["parameters"] = parameters
    bodies = [_with_key(body, profile) for body in (facts.body, *facts.bodies) if body is not None]
    if examples is None:
        names = (f"stated_{number + 1}" for number in range(max(1, len(bodies))))
        examples = {name: partial(stated_values, profile, f"{operation['operationId']} {name}") for name in names}
    query = {**(profile.search.query if operation["operationId"] == _SEARCH else {}), **facts.query}
    for number, (name, make_scope) in enumerate(examples.items()):
        scope = make_scope()
        _put_example(operation, name, scope, {"path": facts.path, "query": query})
        if bodies and "requestBody" in operation:
            content = operation["requestBody"]["content"][_MEDIA_TYPE]
            _put(content, name, bodies[number % len(bodies)], scope)


def _with_key(body: Any, profile: Profile) -> Any:
    """The body with the idempotency key in it, where that is its carrier."""
    place = profile.idempotency.place if profile.idempotency else ""
    return pointer.put(body, place, f"{{{KEY}}}") if place else body


def _put_example(operation: Object, name: str, scope: Scope, values: Mapping[str, Mapping[str, Any]]) -> None:
    """The values of one call, by place: the same name in every parameter."""
    for parameter in operation.get("parameters", []):
        template = values.get(parameter["in"], {}).get(parameter["name"])
        if parameter.get("x-idempotency-key"):
            template = f"{{{KEY}}}"
        if template is not None:
            _put(parameter, name, template, scope)


def _put(holder: Object, name: str, template: Any, scope: Scope) -> None:
    """An example, unless a placeholder of it is unknown."""
    try:
        value = render(template, scope)
    except UnknownPlaceholder:
        return
    holder.setdefault("examples", {})[name] = {"value": value}


def _resolve(value: Mapping[str, Any], components: Mapping[str, Any]) -> Object:
    """A copy of a parameter; a reference is replaced by its target."""
    if "$ref" not in value:
        return dict(value)
    return dict(components["parameters"][value["$ref"].rpartition("/")[2]])
