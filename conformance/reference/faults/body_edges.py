"""Faults at the edges of valid bodies: what a schema just allows (BODY-4), JSON in an unusual notation (BODY-2), and
names and brackets that mean nothing where they stand (BODY-9)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeGuard

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, JsonObject, JsonValue, Refusal
from conformance.reference.policy import Handler, Policy, Schema, with_handler, with_reading
from conformance.reference.registry import fault

_CHECKOUT = "checkoutPublicCart"
Change = Callable[[Schema, JsonValue], JsonValue]


def _change_parts(schema: Schema, value: JsonValue, change: Change) -> JsonValue:
    """A copy of a body whose parts are changed, each with its schema."""
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        value = {name: _change_parts(parts.get(name, {}), item, change) for name, item in value.items()}
    elif isinstance(value, list):
        value = [_change_parts(schema.get("items", {}), item, change) for item in value]
    return change(schema, value)


def _validating(policy: Policy, change: Change) -> Policy:
    """The changed copy is validated instead of the body."""

    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        policy.reading.validate(call, schema, _change_parts(schema, value, change))
        assert isinstance(value, dict)
        return value

    return with_reading(policy, validate=validate)


def _parsing(policy: Policy, is_refused: Callable[[bytes], Any], kind: str = "malformed") -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        if is_refused(body):
            raise Refusal(kind, "The request body is not JSON.")
        return policy.reading.parse(call, body)

    return with_reading(policy, parse=parse)


@fault(
    "F792",
    requirement="BODY-4",
    title="of an array of objects only the first one is validated",
    source="a validator that takes items for prefixItems",
)
def first_item_validated(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        of_objects = isinstance(value, list) and value and schema.get("items", {}).get("type") == "object"
        return [value[0]] * len(value) if of_objects else value

    return _validating(policy, change)


@fault(
    "F793",
    requirement="BODY-4",
    title="lengths of texts are counted in UTF-16 units",
    source="String.length of Java, C# and JavaScript; JSON Schema counts characters (validation, section 6.3.1)",
)
def utf_16_units_counted(policy: Policy) -> Policy:
    def change(_schema: Schema, value: JsonValue) -> JsonValue:
        return re.sub("[\U00010000-\U0010ffff]", "xx", value) if isinstance(value, str) else value

    return _validating(policy, change)


@fault(
    "X251",
    requirement="BODY-4",
    title="the shortest length of a text is counted in bytes",
    source="strlen() of PHP, len() of Go; JSON Schema counts characters (validation, section 6.3.2)",
)
def shortest_length_in_bytes(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        if not isinstance(value, str) or "pattern" in schema:
            return value
        missing = schema.get("minLength", 0) - len(value)
        return (
            f"{value}{'x' * missing}"
            if 0 < missing <= len(value.encode("utf-8", "surrogatepass")) - len(value)
            else value
        )

    return _validating(policy, change)


@fault(
    "F794",
    requirement="BODY-4",
    title="an integer above 2^31-1 is refused",
    source="Int of GraphQL and of a column, where the schema says integer",
)
def integer_of_32_bits(policy: Policy) -> Policy:
    def change(_schema: Schema, value: JsonValue) -> JsonValue:
        return 10**15 if type(value) is int and value > 2**31 - 1 else value

    return _validating(policy, change)


@fault(
    "F795",
    requirement="BODY-4",
    title="an array with as many items as are allowed is refused",
    source=">= for > in a hand-written check",
)
def one_item_less(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        is_full = isinstance(value, list) and len(value) == schema.get("maxItems")
        return [*value, value[0]] if is_full else value

    return _validating(policy, change)


@fault(
    "F796",
    requirement="BODY-4",
    title="an empty object, which the schema allows, counts as no body",
    source="if not request.json: in Python, where an empty object is false",
)
def empty_object_is_no_body(policy: Policy) -> Policy:
    return _parsing(policy, lambda body: not body.strip(b" \t\r\n{}"), "missing_body")


@fault(
    "F797",
    requirement="BODY-4",
    title="an empty text, which the schema allows, is refused",
    source="if not value: for a member that is absent",
)
def empty_text_refused(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        return None if value == "" and schema.get("minLength") == 0 else value

    return _validating(policy, change)


@fault(
    "F798",
    requirement="BODY-4",
    title="an empty array, which the schema allows, is refused",
    source="if not value: for a member that is absent",
)
def empty_array_refused(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        return None if value == [] and schema.get("minItems") == 0 else value

    return _validating(policy, change)


@fault(
    "F960",
    requirement="BODY-4",
    title="a pattern holds from the start of any line",
    source="^ and $ of Ruby, or a flag for many lines; CWE-777, regular expression without anchors",
)
def pattern_of_lines(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        found = re.search(schema["pattern"], value, re.MULTILINE) if "pattern" in schema and _is_text(value) else None
        return value[found.start() :] if found else value

    return _validating(policy, change)


@fault(
    "F961",
    requirement="BODY-4",
    title="the values of an enum count in any case",
    source="Enum.TryParse of .NET with ignoreCase, ACCEPT_CASE_INSENSITIVE_ENUMS of Jackson",
)
def enum_in_any_case(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        values = schema.get("enum", ()) if _is_text(value) else ()
        return next((listed for listed in values if listed.casefold() == value.casefold()), value)

    return _validating(policy, change)


@fault(
    "F896",
    requirement="BODY-4",
    title="true is any value of an enum",
    source="in_array() of PHP without its third argument, by which true equals any text",
)
def enum_compared_loosely(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        return schema["enum"][0] if value is True and "enum" in schema else value

    return _validating(policy, change)


def _is_text(value: JsonValue) -> TypeGuard[str]:
    return isinstance(value, str)


@fault(
    "F799",
    requirement="BODY-9",
    title="a checkout takes its totals from an unknown member",
    operations=(_CHECKOUT,),
    source="OWASP API3:2023, mass assignment: {**totals, **body}",
)
def totals_of_the_client(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            answer, sent = inner(call, db), call.body.get("totals")
            if isinstance(sent, dict):
                totals = answer.value["data"]["totals"]
                totals.update({name: item for name, item in sent.items() if type(item) is type(totals.get(name))})
            return answer

        return act

    return with_handler(policy, _CHECKOUT, wrap)


@fault(
    "F800",
    requirement="BODY-2",
    title="white space before the JSON text is refused",
    source="body.startswith('{') before the parser; RFC 8259 section 2 allows white space there",
)
def white_space_refused(policy: Policy) -> Policy:
    return _parsing(policy, lambda body: body[:1] in b" \t\r\n")


@fault(
    "F801",
    requirement="BODY-2",
    title="an escaped surrogate pair is refused",
    source="a check for lone surrogates that looks at each escape by itself; RFC 8259 section 7",
)
def escaped_pair_refused(policy: Policy) -> Policy:
    return _parsing(policy, lambda body: re.search(rb"\\u[dD][89abAB]", body), "unstorable")


@fault(
    "F802",
    requirement="BODY-2",
    title="the escaped name of a member is not recognised",
    source="names that are compared before they are unescaped; RFC 8259 section 8.3",
)
def escaped_name_refused(policy: Policy) -> Policy:
    return _parsing(policy, lambda body: re.search(rb'\\u[0-9a-fA-F]{4}[^",:{}\[\]]*"\s*:', body))


@fault(
    "F803",
    requirement="BODY-9",
    title="brackets within texts count as nesting",
    source="a gateway that counts brackets instead of parsing",
)
def brackets_counted(policy: Policy) -> Policy:
    return _parsing(policy, lambda body: len(re.findall(rb"[\[{]", body)) > 64 < _bracket_depth(body), "too_deep")


def _bracket_depth(body: bytes) -> int:
    depth = deepest = 0
    for byte in body:
        depth += (byte in b"[{") - (byte in b"]}")
        deepest = max(deepest, depth)
    return deepest


@fault(
    "F996",
    requirement="BODY-4",
    title="a text of exactly its greatest length is refused",
    source="< for <= in a hand-written check, or a column that keeps a place for the end of the text",
)
def longest_text_refused(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        is_longest = isinstance(value, str) and "pattern" not in schema and len(value) == schema.get("maxLength")
        return f"{value}x" if is_longest else value

    return _validating(policy, change)


def _with_mended_bodies(policy: Policy, mend: Callable[[bytes], bytes]) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        return policy.reading.parse(call, mend(body))

    return with_reading(policy, parse=parse)


@fault(
    "X59",
    requirement="BODY-2",
    title="a comma after the last member is accepted",
    source="a parser of JSON5, which reads a comma behind the last member",
)
def trailing_comma(policy: Policy) -> Policy:
    return _with_mended_bodies(policy, lambda body: re.sub(rb",(\s*[}\]])", rb"\1", body))


@fault(
    "X201",
    requirement="BODY-2",
    title="NaN in a body is read as 0",
    source="a parser that knows the constants of JavaScript, as Python's does; RFC 8259, section 6 has none",
)
def constants_of_javascript(policy: Policy) -> Policy:
    return _with_mended_bodies(policy, lambda body: re.sub(rb"(?<=[:,\[])(\s*)NaN\b", rb"\g<1>0", body))


@fault(
    "X202",
    requirement="BODY-2",
    title="a tab within a text of a body is read",
    source="a parser that is not strict about control characters, which RFC 8259, section 7 wants escaped",
)
def tabs_within_texts(policy: Policy) -> Policy:
    return _with_mended_bodies(policy, lambda body: body.replace(b"\t", b" "))


@fault(
    "X33",
    requirement="BODY-4",
    title="an empty list is read as an object, and an object with numbers for names as a list",
    source="json_decode of PHP with associative arrays, where both are one type",
)
def lists_are_objects(policy: Policy) -> Policy:
    def change(schema: Schema, value: JsonValue) -> JsonValue:
        if value == [] and schema.get("type") == "object":
            return {}
        is_list = isinstance(value, dict) and [*value] == [str(number) for number in range(len(value))]
        return [*value.values()] if isinstance(value, dict) and is_list and schema.get("type") == "array" else value

    return _validating(policy, change)
