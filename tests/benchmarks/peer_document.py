"""The contract as a careful user would hand it to a peer: that of `conformance openapi`, with living examples.

Things to work on are made through the control app of the very target, so that each peer's run has fresh ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import tomllib
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

from conformance.profile.filled_contract import KEY, filled_contract
from conformance.profile.loader import load_profile
from conformance.profile.render import Scope, render
from tests.benchmarks.common import PROFILE

EXAMPLES: Final = 4
"""Of each operation; each has things of its own, so that no example spoils another."""
LAST_PAGE: Final = 999_999_999
"""The reference reads integers of up to nine digits."""
FOUND, UNKNOWN = "FOUND", "UNKNOWN"
_MISSING: Final = {"error": {"code": "not_found", "message": "Public resource not found"}, "requestId": "req_1"}

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
        http = render(fixture["http"], known)
        url = http["url"].replace("?count=20", "")
        return {**_posted(url, http.get("json")), "verifier": verifier}

    return thing


def stand_in(kind: str) -> Mapping[str, Any]:
    """A thing that is nowhere: for looking at the document without a service."""
    names = ("id", "lineId", "ticket", "slug", "code")
    return {name: f"{kind}-{name}" for name in names} | {"verifier": "v" * 43}


def document(base_url: str, things: Things, answers: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What `conformance openapi` writes for the reference, with things that exist in its examples, and one 404.

    `answers`: a 200's body by operation, an example of what comes back.
    """
    profile = load_profile(PROFILE, base_url=base_url)
    told = filled_contract(profile, {f"{FOUND}_{number + 1}": partial(_values, things) for number in range(EXAMPLES)})
    for path in told["paths"].values():
        for operation in path.values():
            _bounded(operation)
            facts = profile.operations.get(operation["operationId"])
            if facts is not None and facts.unknown:
                _unknown(operation, facts.unknown, told["components"])
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


def _answered(operation: dict[str, Any], answers: Mapping[str, Any]) -> None:
    example = {"value": answers[operation["operationId"]]}
    # Specmatic sends one and the same proof, which is good once
    count = 1 if {"DPoP": []} in operation["security"] else EXAMPLES
    names = [f"{FOUND}_{number + 1}" for number in range(count)]
    operation["responses"]["200"]["content"]["application/json"]["examples"] = dict.fromkeys(names, example)


def _unknown(operation: dict[str, Any], unknown: Mapping[str, str], components: Mapping[str, Any]) -> None:
    """A call of something that does not exist, and its answer."""
    for parameter in operation["parameters"]:
        value = unknown.get(parameter["name"]) if parameter["in"] == "path" else str(uuid.uuid4())
        parameter["examples"][UNKNOWN] = {"value": value}
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content:
        content["examples"][UNKNOWN] = content["examples"][f"{FOUND}_1"]
    _, _, group, name = operation["responses"]["404"]["$ref"].split("/")
    refusal = json.loads(json.dumps(components[group][name]))
    refusal["content"]["application/json"]["examples"] = {UNKNOWN: {"value": _MISSING}}
    operation["responses"]["404"] = refusal


def _bounded(operation: dict[str, Any]) -> None:
    """What the reference asks of a page's number beyond what its profile can state."""
    for parameter in operation.get("parameters", []):
        if parameter["name"] == "page":
            parameter["schema"]["maximum"] = LAST_PAGE


def _values(things: Things) -> Scope:
    """What the names in a profile's template mean, for one call."""
    met: dict[str, Mapping[str, Any]] = {}
    states = {"webhook": "active", "order": "eligible", "session": "open", "merchant": "stocked", "oauth": "code"}
    plain = {
        KEY: str(uuid.uuid4()),
        "unique": secrets.token_hex(8),
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


def _posted(url: str, body: Any) -> dict[str, Any]:
    data = json.dumps(body).encode() if body is not None else b""
    with urllib.request.urlopen(urllib.request.Request(url, data, method="POST"), timeout=30) as answer:
        told: dict[str, Any] = json.load(answer)
        return told
