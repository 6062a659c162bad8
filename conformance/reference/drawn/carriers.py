"""How a drawn target is given idempotency keys and API keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from conformance.reference.authentication import active
from conformance.reference.call import Call, Caller, Headers, JsonValue, Refusal
from conformance.reference.drawn.boundary import tokens
from conformance.reference.drawn.choices import Drawn

_FORMATS = {"uuid": "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", "any": r"[!-~][ -~]{0,254}"}
_VALUE = "([A-Za-z0-9._~+/=-]+)"


def key_reader(drawn: Drawn, parse: Callable[[Call, bytes], JsonValue]) -> Callable[[Call], str | None]:
    """`IdempotencyRules.key`; an empty key is none. `parse` reads bodies, of which one may carry it."""
    form = re.compile(_FORMATS.get(drawn.key_format, drawn.key_format))
    name = drawn.key_name

    def given(call: Call) -> list[Any]:
        if drawn.carrier == "header":
            return list(call.request.all(name.lower().encode()))
        if drawn.carrier == "query":
            pairs = parse_qsl(call.request.query.decode("latin-1"), keep_blank_values=True)
            return [value for known, value in pairs if known == name]
        if not call.request.body or len(call.request.body) > call.policy.reading.max_bytes:
            return []
        return _found(parse(call, call.request.body), drawn.key_pointer)

    def key(call: Call) -> str | None:
        values = given(call)
        if values in ([], [""]):
            if drawn.missing_key == "accepted":
                return None
            raise Refusal("missing_key", "An idempotency key is required.")
        if len(values) > 1 or not isinstance(values[0], str) or not form.fullmatch(values[0]):
            raise Refusal("bad_key", "The idempotency key is malformed.")
        return values[0]

    return key


def _found(value: JsonValue, pointer: str) -> list[Any]:
    for name in tokens(pointer):
        if not isinstance(value, dict) or name not in value:
            return []
        value = value[name]
    return [value]


def without_key(drawn: Drawn, value: JsonValue) -> JsonValue:
    """A body without its envelope of the key, which is none of the payload."""
    if drawn.carrier != "body" or not isinstance(value, dict):
        return value
    first = tokens(drawn.key_pointer)[0]
    return {name: item for name, item in value.items() if name != first}


def key_schema(drawn: Drawn) -> tuple[str, Mapping[str, Any]]:
    """The member of a body that leads to the key, and its JSON Schema."""
    first, *rest = tokens(drawn.key_pointer)
    schema: dict[str, Any] = {"type": "string", "minLength": 1}
    for name in reversed(rest):
        schema = {"type": "object", "properties": {name: schema}, "required": [name]}
    return first, schema


def authenticator(drawn: Drawn) -> Callable[[Call], Caller]:
    """`Policy.authenticate` for one way to write a key in the Authorization header."""
    before, _, after = drawn.authorization.partition("{key}")
    scheme, blank, rest = before.partition(" ")
    word = f"(?i:{re.escape(scheme)})" if drawn.any_case_scheme and blank else re.escape(scheme)
    form = re.compile(word + re.escape(blank + rest) + _VALUE + re.escape(after))
    headers: Headers = (("WWW-Authenticate", f'{scheme or "Key"} realm="shop"'),) if drawn.challenge else ()

    def authenticate(call: Call) -> Caller:
        values = call.request.all(b"authorization")
        if not values:
            raise Refusal("no_credential", "An API key is required.", headers=headers)
        found = form.fullmatch(values[0].strip()) if len(values) == 1 else None
        try:
            return active(call.keys.by_secret(found[1]) if found else None)
        except Refusal as refusal:
            raise Refusal(refusal.kind, refusal.message, headers=headers) from None

    return authenticate
