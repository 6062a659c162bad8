"""The contract as a careful user would hand it to a peer: schemas filled in, the idempotency key, and living examples.

What the interface does not show comes from the reference's own profile and schemas; things to work on are made through
the control app of the very target, so that each peer's run has fresh ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import tomllib
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import yaml

from conformance.contract import openapi_document
from conformance.reference.base import BASE
from conformance.runner import embedded_reference as embedded
from tests.benchmarks.common import PROFILE

EXAMPLES: Final = 4
"""Of each operation; each has things of its own, so that no example spoils another."""
LAST_PAGE: Final = 999_999_999
"""The reference reads integers of up to nine digits."""
FOUND, UNKNOWN = "FOUND", "UNKNOWN"
_MISSING: Final = {"error": {"code": "not_found", "message": "Public resource not found"}, "requestId": "req_1"}
_NAME: Final = re.compile(r"\{([^{}]+)\}")

Things = Callable[[str], Mapping[str, Any]]
"""A fresh thing by its kind, `cart.open`, as the control app tells of it."""


@cache
def reference_document() -> dict[str, Any]:
    return tomllib.loads(PROFILE.read_text(encoding="utf-8"))


def made(control_url: str) -> Things:
    """Makes things through a target's control app."""

    def thing(kind: str) -> Mapping[str, Any]:
        fixture = reference_document()["fixtures"]
        for part in kind.split("."):
            fixture = fixture[part]
        verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(verifier.encode()).digest()
        oauth = reference_document()["oauth"]
        known = {
            "var.control": control_url,
            "oauth.client_id": oauth["client_id"],
            "oauth.redirect_uri": oauth["redirect_uri"],
            "pkce.challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "pkce.method": "S256",
            "oauth.code_age_s": "0",
        }
        http = _filled(fixture["http"], known.__getitem__)
        url = http["url"].replace("?count=20", "")
        return {**_posted(url, http.get("json")), "verifier": verifier}

    return thing


def stand_in(kind: str) -> Mapping[str, Any]:
    """A thing that is nowhere: for looking at the document without a service."""
    names = ("id", "lineId", "ticket", "slug", "code")
    return {name: f"{kind}-{name}" for name in names} | {"verifier": "v" * 43}


def document(base_url: str, things: Things, answers: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """OpenAPI 3.1: `openapi.yaml` with all that the target's owner would add.

    `answers`: a 200's body by operation, an example of what comes back.
    """
    told = openapi_document()
    schemas = yaml.safe_load(
        (embedded.bundled_profiles() / reference_document()["schemas"]["file"]).read_text(encoding="utf-8")
    )
    told["components"]["schemas"].update(schemas["components"]["schemas"])
    for unused in ("ObjectEnvelope", "ListEnvelope"):
        del told["components"]["schemas"][unused]
    _told_apart(told["components"]["schemas"])
    told["servers"] = [{"url": base_url}]
    for path in told["paths"].values():
        for operation in path.values():
            _completed(operation, told["components"], things)
            if answers:
                _answered(operation, answers)
    return told


def answers(base_url: str, told: Mapping[str, Any], headers: Mapping[str, Callable[[], str]]) -> dict[str, Any]:
    """What a sound service answers to the first example of each operation of a document. Spends those examples."""
    found: dict[str, Any] = {}
    for template, path in told["paths"].items():
        for method, operation in path.items():
            schemes = [scheme for choice in operation.get("security", []) for scheme in choice]
            found[operation["operationId"]] = _called(
                base_url, template, method, operation, {name: headers[name]() for name in schemes}
            )
    return found


def _called(base_url: str, url: str, method: str, operation: Mapping[str, Any], schemes: Mapping[str, str]) -> Any:
    sent = {"Content-Type": "application/json"}
    sent.update({"Authorization" if scheme == "ApiKey" else scheme: text for scheme, text in schemes.items()})
    query: dict[str, Any] = {}
    for parameter in operation.get("parameters", []):
        value = parameter["examples"][f"{FOUND}_1"]["value"] if "examples" in parameter else None
        if parameter["in"] == "path":
            url = url.replace("{" + parameter["name"] + "}", value)
        elif value is not None:
            (sent if parameter["in"] == "header" else query)[parameter["name"]] = value
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("examples", {})
    data = json.dumps(body[f"{FOUND}_1"]["value"]).encode() if body else None
    url = base_url + url + ("?" + urllib.parse.urlencode(query) if query else "")
    with urllib.request.urlopen(urllib.request.Request(url, data, sent, method=method.upper()), timeout=30) as answer:
        return json.load(answer)


def _told_apart(value: Any) -> None:
    """Names what is required as a property too, which Specmatic insists on; it means the same."""
    if isinstance(value, list):
        for item in value:
            _told_apart(item)
    if isinstance(value, dict):
        if value.get("type") == "object" and isinstance(value.get("required"), list):
            unnamed = set(value["required"]) - value.setdefault("properties", {}).keys()
            value["properties"].update({name: {} for name in sorted(unnamed)})
            if unnamed:
                value.setdefault("additionalProperties", True)
        for item in value.values():
            _told_apart(item)


def _answered(operation: dict[str, Any], answers: Mapping[str, Any]) -> None:
    example = {"value": answers[operation["operationId"]]}
    # Specmatic sends one and the same proof, which is good once
    count = 1 if {"DPoP": []} in operation["security"] else EXAMPLES
    names = [f"{FOUND}_{number + 1}" for number in range(count)]
    operation["responses"]["200"]["content"]["application/json"]["examples"] = dict.fromkeys(names, example)


def _completed(operation: dict[str, Any], components: Mapping[str, Any], things: Things) -> None:
    given = reference_document()["operations"].get(operation["operationId"], {})
    parameters = [_bounded(_resolved(parameter, components)) for parameter in operation.get("parameters", [])]
    if operation["x-idempotency"] == "required":
        parameters.append(_idempotency_key())
    bodies = [body for body in (given.get("body"), *given.get("bodies", ())) if body is not None]
    for number in range(EXAMPLES):
        value = _values(things)
        body = bodies[number % len(bodies)] if bodies else None
        path = {name: _filled(text, value) for name, text in given.get("path", {}).items()}
        _example(operation, parameters, f"{FOUND}_{number + 1}", path, _filled(body, value))
    if "unknown" in given:
        body = _filled(bodies[0], _values(things)) if bodies else None
        _example(operation, parameters, UNKNOWN, given["unknown"], body)
        operation["responses"]["404"] = _refusal(operation["responses"]["404"], components)
    if parameters:
        operation["parameters"] = parameters


def _example(operation: dict[str, Any], parameters: list[dict[str, Any]], name: str, path: Any, body: Any) -> None:
    """One call that belongs together: the same name in every parameter and in the body."""
    query = reference_document()["search"]["query"]
    for parameter in parameters:
        values = {**path, **query} if parameter["in"] != "header" else {parameter["name"]: str(uuid.uuid4())}
        if parameter["name"] in values:
            parameter.setdefault("examples", {})[name] = {"value": values[parameter["name"]]}
    if body is not None:
        content = operation["requestBody"]["content"]["application/json"]
        content.setdefault("examples", {})[name] = {"value": body}


def _refusal(response: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(_resolved(response, components)))
    found["content"]["application/json"]["examples"] = {UNKNOWN: {"value": _MISSING}}
    return found


def _bounded(parameter: dict[str, Any]) -> dict[str, Any]:
    """What the reference asks of a search's parameters beyond their types."""
    rules = BASE.search
    bounds: dict[str, dict[str, Any]] = {
        "q": {"pattern": r"\S"},
        "locale": {"enum": list(rules.locales)},
        "market": {"enum": list(rules.markets)},
        "sort": {"enum": list(rules.sorts)},
        "page": {"minimum": rules.page_base, "maximum": LAST_PAGE},
        "pageSize": {"minimum": 1, "maximum": rules.page_size_max},
    }
    return {**parameter, "schema": {**parameter["schema"], **bounds.get(parameter["name"], {})}}


def _idempotency_key() -> dict[str, Any]:
    key = reference_document()["idempotency"]
    schema = {"type": "string", "format": key["format"]}
    return {"name": key["name"], "in": key["carrier"], "required": True, "schema": schema}


def _resolved(value: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """A copy, a reference replaced by what it means: each operation has its own examples."""
    if "$ref" not in value:
        return dict(value)
    _, _, group, name = value["$ref"].split("/")
    return dict(components[group][name])


def _values(things: Things) -> Callable[[str], str]:
    """What the names in a profile's template mean, for one call."""
    met: dict[str, Mapping[str, Any]] = {}
    states = {"webhook": "active", "order": "eligible", "session": "open", "merchant": "stocked", "oauth": "code"}
    plain = {
        "unique": secrets.token_hex(8),
        "oauth.code_age_s": 0,
        **{f"oauth.{name}": value for name, value in reference_document()["oauth"].items()},
    }

    def value(name: str) -> str:
        if name in plain and name != "oauth.code":
            return str(plain[name])
        kind, _, member = name.rpartition(".")
        kind, member = ("oauth", "verifier") if kind == "pkce" else (kind, member)
        kind = kind if "." in kind else f"{kind}.{states[kind]}"
        if kind not in met:
            met[kind] = things(kind)
        return str(met[kind][member])

    return value


def _filled(value: Any, known: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return _NAME.sub(lambda found: known(found[1]), value)
    if isinstance(value, list):
        return [_filled(item, known) for item in value]
    if isinstance(value, dict):
        return {name: _filled(item, known) for name, item in value.items()}
    return value


def _posted(url: str, body: Any) -> dict[str, Any]:
    data = json.dumps(body).encode() if body is not None else b""
    with urllib.request.urlopen(urllib.request.Request(url, data, method="POST"), timeout=30) as answer:
        told: dict[str, Any] = json.load(answer)
        return told
