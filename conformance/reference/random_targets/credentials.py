"""How a random target receives idempotency keys and API keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from conformance.reference.authentication import require_active
from conformance.reference.call import Call, Caller, Headers, JsonValue, Refusal
from conformance.reference.random_targets.boundary import tokens
from conformance.reference.random_targets.choices import RandomTarget

_FORMATS = {"uuid": "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", "any": r"[!-~][ -~]{0,254}"}
_VALUE = "([A-Za-z0-9._~+/=-]+)"


def key_reader(target: RandomTarget, parse: Callable[[Call, bytes], JsonValue]) -> Callable[[Call], str | None]:
    """Builds `IdempotencyRules.key`; an empty key counts as absent. `parse` reads bodies, which may carry the key."""
    prefix, suffix = map(re.escape, target.key_written.split("{key}"))
    form = re.compile(f"{prefix}({_FORMATS.get(target.key_format, target.key_format)}){suffix}")
    name = target.key_name

    def key_values(call: Call) -> list[Any]:
        if target.carrier == "header":
            return list(call.request.header_values(name.lower().encode()))
        if target.carrier == "query":
            pairs = parse_qsl(call.request.query.decode("latin-1"), keep_blank_values=True)
            return [value for parameter, value in pairs if parameter == name]
        if not call.request.body or len(call.request.body) > call.policy.reading.max_bytes:
            return []
        return _values_at(parse(call, call.request.body), target.key_pointer)

    def key(call: Call) -> str | None:
        values = key_values(call)
        if values in ([], [""]):
            if target.missing_key == "accepted":
                return None
            raise Refusal("missing_key", "An idempotency key is required.")
        match = form.fullmatch(values[0]) if len(values) == 1 and isinstance(values[0], str) else None
        if match is None:
            raise Refusal("bad_key", "The idempotency key is malformed.")
        return match[1].lower() if target.key_case == "insensitive" else match[1]

    return key


def _values_at(value: JsonValue, pointer: str) -> list[Any]:
    for name in tokens(pointer):
        if not isinstance(value, dict) or name not in value:
            return []
        value = value[name]
    return [value]


def without_key(target: RandomTarget, value: JsonValue) -> JsonValue:
    """A body without the member of the idempotency key."""
    if target.carrier != "body" or not isinstance(value, dict):
        return value
    first = tokens(target.key_pointer)[0]
    return {name: item for name, item in value.items() if name != first}


def key_schema(target: RandomTarget) -> tuple[str, Mapping[str, Any]]:
    """The top-level member of the idempotency key, and its JSON Schema."""
    first, *members = tokens(target.key_pointer)
    schema: dict[str, Any] = {"type": "string", "minLength": 1}
    for name in reversed(members):
        schema = {"type": "object", "properties": {name: schema}, "required": [name]}
    return first, schema


def has_scheme(target: RandomTarget) -> bool:
    """Whether a blank separates a scheme from the key in the Authorization header."""
    return " " in target.authorization.partition("{key}")[0]


def authenticator(target: RandomTarget) -> Callable[[Call], Caller]:
    """Builds `Policy.authenticate` for one format of the Authorization header."""
    prefix, _, suffix = target.authorization.partition("{key}")
    scheme, blank, parameters = prefix.partition(" ")
    word = f"(?i:{re.escape(scheme)})" if target.any_case_scheme and blank else re.escape(scheme)
    form = re.compile(word + re.escape(blank + parameters) + _VALUE + re.escape(suffix))
    bare = re.compile(_VALUE if target.scheme == "optional" and has_scheme(target) else "(?!)")
    headers: Headers = (("WWW-Authenticate", f'{scheme or "Key"} realm="shop"'),) if target.challenge else ()

    def authenticate(call: Call) -> Caller:
        values = call.request.header_values(b"authorization")
        if not values:
            raise Refusal("no_credential", "An API key is required.", headers=headers)
        value = values[0].strip() if len(values) == 1 else ""
        match = form.fullmatch(value) or bare.fullmatch(value)
        try:
            key = match[1].lower() if match and target.any_case_keys else match and match[1]
            return require_active(call.keys.by_secret(key) if key else None)
        except Refusal as refusal:
            raise Refusal(refusal.kind, refusal.message, headers=headers) from None

    return authenticate
