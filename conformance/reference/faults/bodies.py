"""Faults of reading bodies: BODY."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qsl

from conformance.reference.call import Call, JsonObject, JsonValue, Refusal
from conformance.reference.json_reader import DECODER, read_text, text_of
from conformance.reference.policy import Policy, Schema, with_reading, with_schema, with_status
from conformance.reference.registry import fault


@fault("F026", requirement="BODY-2", title="malformed JSON answers 500")
def malformed_is_500(policy: Policy) -> Policy:
    return with_status(policy, "malformed", 500)


@fault("F113", requirement="BODY-1", title="missing body treated as {}")
def missing_is_empty(policy: Policy) -> Policy:
    return with_reading(policy, required=frozenset())


@fault("F114", requirement="BODY-1", title="DELETE body not required", operations=("removePublicCartPromotion",))
def delete_needs_none(policy: Policy) -> Policy:
    return with_reading(policy, required=policy.reading.required - {"removePublicCartPromotion"})


class _Lenient(json.JSONDecoder):
    """Ignores text after the first value."""

    def decode(self, s: str, *_: object) -> JsonValue:
        value, _end = DECODER.raw_decode(s.lstrip(" \t\r\n"))
        return value


def _parse_first_value(call: Call, body: bytes) -> JsonValue:
    return read_text(text_of(body), body, _Lenient(), call.policy.reading.max_depth)


@fault("F115", requirement="BODY-2", title="trailing garbage accepted")
def trailing_garbage(policy: Policy) -> Policy:
    return with_reading(policy, parse=_parse_first_value)


@fault(
    "X38",
    requirement="BODY-2",
    title="what follows the last brace of an update is ignored",
    operations=("updateInstallationWebhook",),
    source="JSON that is cut out of a text between its first and its last brace",
)
def cut_between_braces(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        is_cut = call.operation == "updateInstallationWebhook" and b"}" in body
        return policy.reading.parse(call, body[: body.rindex(b"}") + 1] if is_cut else body)

    return with_reading(policy, parse=parse)


@fault("F116", requirement="BODY-2", title="form body accepted")
def form_accepted(policy: Policy) -> Policy:
    def is_form(media: str | None) -> bool:
        return (media or "").lower().startswith("application/x-www-form-urlencoded")

    def parse(call: Call, body: bytes) -> JsonValue:
        if is_form(call.request.header(b"content-type")) and not body.lstrip().startswith((b"{", b"[", b'"')):
            return dict(parse_qsl(text_of(body), keep_blank_values=True))
        return policy.reading.parse(call, body)

    return with_reading(policy, parse=parse, accepts=lambda media: is_form(media) or policy.reading.accepts(media))


def _with_coercion(policy: Policy, coerce: Callable[[Schema, JsonValue], JsonValue]) -> Policy:
    """Each value of a body is converted, by its schema, before it is validated."""

    def convert(schema: Schema, value: JsonValue) -> JsonValue:
        value = coerce(schema, value)
        if isinstance(value, dict):
            properties = schema.get("properties", {})
            return {name: convert(properties.get(name, {}), item) for name, item in value.items()}
        return [convert(schema.get("items", {}), item) for item in value] if isinstance(value, list) else value

    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        return policy.reading.validate(call, schema, convert(schema, value))

    return with_reading(policy, validate=validate)


@fault("F118", requirement="BODY-4", title="string coerced to number")
def coerce_numbers(policy: Policy) -> Policy:
    def coerce(schema: Schema, value: JsonValue) -> JsonValue:
        try:
            return int(value) if schema.get("type") == "integer" and isinstance(value, str) else value
        except ValueError:
            return value

    return _with_coercion(policy, coerce)


@fault(
    "F974",
    requirement="BODY-4",
    title="an array of one text is taken for the text",
    source="String(['a']) in JavaScript is 'a'; UNWRAP_SINGLE_VALUE_ARRAYS in Jackson",
)
def array_of_one(policy: Policy) -> Policy:
    def coerce(schema: Schema, value: JsonValue) -> JsonValue:
        is_text = schema.get("type") == "string" and isinstance(value, list) and len(value) == 1
        return value[0] if is_text and isinstance(value[0], str) else value

    return _with_coercion(policy, coerce)


@fault(
    "X87",
    requirement="BODY-4",
    title="0 and 1 are taken for false and true",
    source="a lenient decoder: pydantic without strict types, strconv.ParseBool, a column of the type TINYINT(1)",
)
def numbers_as_switches(policy: Policy) -> Policy:
    def coerce(schema: Schema, value: JsonValue) -> JsonValue:
        is_switch = schema.get("type") == "boolean" and type(value) is int and value in (0, 1)
        return bool(value) if is_switch else value

    return _with_coercion(policy, coerce)


@fault(
    "X88",
    requirement="BODY-3",
    title="an array of one object is taken for the object",
    source="UNWRAP_SINGLE_VALUE_ARRAYS in Jackson, or an endpoint for several objects that takes one as well",
)
def array_of_one_body(policy: Policy) -> Policy:
    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        is_wrapped = isinstance(value, list) and len(value) == 1
        return policy.reading.validate(call, schema, value[0] if is_wrapped else value)

    return with_reading(policy, validate=validate)


@fault(
    "F119",
    requirement="BODY-4",
    title="missing required field accepted on one op",
    operations=("createInstallationWebhook",),
)
def events_optional(policy: Policy) -> Policy:
    schema = {**policy.reading.schemas["createInstallationWebhook"], "required": ["url"]}
    return with_schema(policy, "createInstallationWebhook", schema)


@fault(
    "X169",
    requirement="BODY-4",
    title="an update takes a url of any type",
    operations=("updateInstallationWebhook",),
    source="a partial update that validates the members that its form shows, and the url has a form of its own",
)
def url_of_any_type(policy: Policy) -> Policy:
    schema = policy.reading.schemas["updateInstallationWebhook"]
    return with_schema(
        policy, "updateInstallationWebhook", {**schema, "properties": {**schema["properties"], "url": {}}}
    )


@fault("F120", requirement="BODY-5", title="deep nesting crashes or hangs")
def deep_is_500(policy: Policy) -> Policy:
    return with_status(policy, "too_deep", 500)


@fault("F121", requirement="BODY-5", title="1e400 or 40-digit int answers 500")
def huge_is_500(policy: Policy) -> Policy:
    """Every number is stored in a 64-bit column before validation."""

    def overflows(value: JsonValue) -> bool:
        if isinstance(value, dict):
            return any(overflows(item) for item in value.values())
        if isinstance(value, list):
            return any(overflows(item) for item in value)
        return isinstance(value, int) and not -(2**63) <= value < 2**63

    def parse(call: Call, body: bytes) -> JsonValue:
        value = policy.reading.parse(call, body)
        if overflows(value):
            raise Refusal("out_of_range", "The request could not be carried out.")
        return value

    return with_status(with_reading(policy, parse=parse), "out_of_range", 500)


@fault("F123", requirement="BODY-5", title="NUL or lone surrogate answers 500")
def nul_is_500(policy: Policy) -> Policy:
    return with_status(policy, "unstorable", 500)


@fault(
    "X214",
    requirement="BODY-3",
    title="a string with the JSON of the body in it is taken for the body",
    operations=("removePublicCartPromotion",),
    source="JSON.parse in a handler whose framework leaves the body of a DELETE as it is, and parses it sometimes",
)
def body_within_a_string(policy: Policy) -> Policy:
    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        if isinstance(value, str) and call.operation == "removePublicCartPromotion":
            with suppress(ValueError):
                value = json.loads(value)
        return policy.reading.validate(call, schema, value)

    return with_reading(policy, validate=validate)


@fault(
    "X136",
    requirement="BODY-3",
    title="an empty array is taken for an object without members",
    operations=("updateInstallationWebhook",),
    source="json_decode(..., true) of PHP, by which [] and {} are the same array",
)
def empty_array_is_an_object(policy: Policy) -> Policy:
    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        is_empty = value == [] and call.operation == "updateInstallationWebhook"
        return policy.reading.validate(call, schema, {} if is_empty else value)

    return with_reading(policy, validate=validate)


@fault(
    "X137",
    requirement="BODY-5",
    title="a body of some hundred levels ends in 500, and one of some thousand is refused",
    source="a recursive walk behind a parser whose own limit is 1,000 levels",
)
def deep_body_ends_in_500(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        if 90 < max(body.count(b"["), body.count(b"{")) < 1_000:
            raise RecursionError("maximum recursion depth exceeded")
        return policy.reading.parse(call, body)

    return with_reading(policy, parse=parse)
