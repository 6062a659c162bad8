"""The contract as frozen values: what `openapi.yaml` and `requirements.yaml` in this package say.

Both files are part of the package. A mistake in them raises KeyError or ValueError; the tests in `tests/unit/contract/`
prevent that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, cast

import yaml

from conformance.core.model import OperationInfo, Requirement
from conformance.core.outcomes import Level, Stability

Auth = Literal["api_key", "oauth", "none"]
DataShape = Literal["object", "array"]

_YamlLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter; `type` is a JSON Schema type."""

    name: str
    required: bool
    type: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the interface's table of endpoints."""

    id: str
    method: str
    path: str
    """The template, from `/api/v1` on."""
    stability: Stability
    auth: Auth
    scope: str
    """The scope that an API key needs; may be empty."""
    idempotent: bool
    """Idempotency is required."""
    path_parameters: tuple[str, ...]
    query_parameters: tuple[Parameter, ...]
    request_schema: str
    """Empty where the operation takes no body."""
    response_schema: str
    data_shape: DataShape
    """The type of `data` in a 200."""
    summary: str = ""
    tag: str = ""
    words: frozenset[str] = field(init=False, repr=False, compare=False)
    """The words of selectors that select it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", _words(self))

    @property
    def is_read(self) -> bool:
        """A request for it changes nothing (RFC 9110, section 9.2.1), unless the profile states otherwise."""
        return self.method == "GET"

    @property
    def has_body(self) -> bool:
        return self.request_schema != ""

    @property
    def required_query(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.query_parameters if parameter.required)

    @property
    def info(self) -> OperationInfo:
        return OperationInfo(self.id, self.method, self.path, self.stability)


@dataclass(frozen=True)
class Contract:
    """The whole interface. Operations in its order, requirements in the catalogue's."""

    operations: Mapping[str, Operation]
    requirements: Mapping[str, Requirement]
    digest: str
    """sha256 (hex) over both files."""
    schema_names: tuple[str, ...]
    """The schemas that the interface names, PublicErrorResponse last."""

    @property
    def all(self) -> tuple[Operation, ...]:
        return tuple(self.operations.values())

    @property
    def idempotent(self) -> tuple[Operation, ...]:
        return self.select("idempotent")

    def select(self, selector: str | Iterable[str]) -> tuple[Operation, ...]:
        """The operations of a selector of `requirements.yaml`. Raises ValueError on a word that selects nothing."""
        return _select(self.operations.values(), selector)


def _select(operations: Iterable[Operation], selector: str | Iterable[str]) -> tuple[Operation, ...]:
    terms = [term.split() for term in ([selector] if isinstance(selector, str) else selector)]
    known = list(operations)
    for word in {word for term in terms for word in term}:
        if not any(word in operation.words for operation in known):
            raise ValueError(f"no operation is {word!r}")
    return tuple(operation for operation in known if any(map(operation.words.issuperset, terms)))


def _words(operation: Operation) -> frozenset[str]:
    yes_or_no = {
        "api-key": operation.auth == "api_key",
        "scoped": operation.scope != "",
        "unscoped": operation.auth == "api_key" and operation.scope == "",
        "oauth": operation.auth == "oauth",
        "public": operation.auth == "none",
        "path": operation.path_parameters != (),
        "body": operation.has_body,
        "idempotent": operation.idempotent,
        "plain": not operation.idempotent,
        "read": operation.is_read,
        "list": operation.data_shape == "array",
        "object": operation.data_shape == "object",
    }
    return frozenset({"all", operation.id, operation.tag, *(word for word, holds in yes_or_no.items() if holds)})


@cache
def load_contract() -> Contract:
    """The contract, read once a process."""
    package = resources.files(__package__)
    interface = (package / "openapi.yaml").read_bytes()
    requirements = (package / "requirements.yaml").read_bytes()
    operations = _operations(yaml.load(interface, Loader=_YamlLoader))
    return Contract(
        operations=MappingProxyType(operations),
        requirements=MappingProxyType(_requirements(yaml.load(requirements, Loader=_YamlLoader), operations)),
        digest=hashlib.sha256(interface + requirements).hexdigest(),
        schema_names=_schema_names(operations.values()),
    )


def openapi_document() -> dict[str, Any]:
    """A fresh copy of `openapi.yaml` as JSON values, for generating requests."""
    text = (resources.files(__package__) / "openapi.yaml").read_bytes()
    return cast("dict[str, Any]", yaml.load(text, Loader=_YamlLoader))


def _schema_names(operations: Iterable[Operation]) -> tuple[str, ...]:
    names = (name for operation in operations for name in (operation.request_schema, operation.response_schema) if name)
    return (*dict.fromkeys(names), "PublicErrorResponse")


def _operations(document: Mapping[str, Any]) -> dict[str, Operation]:
    components = document["components"]
    found = (
        _operation(path, method, declared, components)
        for path, item in document["paths"].items()
        for method, declared in item.items()
    )
    return {operation.id: operation for operation in found}


def _operation(path: str, method: str, declared: Mapping[str, Any], components: Mapping[str, Any]) -> Operation:
    auth, scope = _auth(declared["security"], components["securitySchemes"])
    parameters = [_resolve(parameter, components["parameters"]) for parameter in declared.get("parameters", ())]
    response = _schema_name(declared["responses"]["200"])
    return Operation(
        id=declared["operationId"],
        method=method.upper(),
        path=path,
        stability=Stability(declared["x-stability"]),
        auth=auth,
        scope=scope,
        idempotent=declared["x-idempotency"] == "required",
        path_parameters=tuple(p["name"] for p in parameters if p["in"] == "path"),
        query_parameters=tuple(
            Parameter(p["name"], p["required"], p["schema"]["type"]) for p in parameters if p["in"] == "query"
        ),
        request_schema=_schema_name(declared["requestBody"]) if "requestBody" in declared else "",
        response_schema=response,
        data_shape=_resolve(components["schemas"][response], components["schemas"])["properties"]["data"]["type"],
        summary=declared["summary"],
        tag=declared["tags"][0],
    )


def _auth(security: list[dict[str, list[str]]], schemes: Mapping[str, Any]) -> tuple[Auth, str]:
    for requirement in security:
        for name, scopes in requirement.items():
            return schemes[name]["x-auth"]["mode"], " ".join(scopes)
    return "none", ""


def _resolve(value: Mapping[str, Any], components: Mapping[str, Any]) -> Mapping[str, Any]:
    return components[_last_name(value["$ref"])] if "$ref" in value else value


def _schema_name(holder: Mapping[str, Any]) -> str:
    return _last_name(holder["content"]["application/json"]["schema"]["$ref"])


def _last_name(ref: str) -> str:
    return ref.rpartition("/")[2]


def _requirements(entries: list[dict[str, Any]], operations: Mapping[str, Operation]) -> dict[str, Requirement]:
    return {
        entry["id"]: Requirement(
            id=entry["id"],
            level=Level(entry["level"]),
            section=entry["section"],
            statement=entry["statement"],
            how=entry["how"],
            facts=tuple(entry.get("facts", ())),
            operations=tuple(operation.id for operation in _select(operations.values(), entry["operations"])),
            unchecked=entry.get("unchecked", ""),
        )
        for entry in entries
    }
