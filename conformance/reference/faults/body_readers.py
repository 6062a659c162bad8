"""Faults of one operation that reads its body by itself, without what all others have: BODY-2, BODY-3 and BODY-9."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

from conformance.reference.call import Call, JsonValue, Refusal
from conformance.reference.json_reader import DECODER, text_of
from conformance.reference.policy import Policy, with_reading
from conformance.reference.registry import fault

_WHITE_SPACE = " \t\r\n"
_AFTER_SALES = "requestStorefrontOrderAfterSales"
_CHECKOUT = "checkoutPublicCart"
_QUOTE = "quotePublicCart"
_REVOKE = "revokePublicCart"
_CANCEL = "cancelHostedCheckoutBrowser"
_TICKET = "consumeHostedCheckoutBrowserTicket"
Parser = Callable[[Call, bytes], JsonValue]


def _on(policy: Policy, operation: str, parse: Parser) -> Policy:
    """One operation has another parser."""

    def parse_one(call: Call, body: bytes) -> JsonValue:
        return (parse if call.operation == operation else policy.reading.parse)(call, body)

    return with_reading(policy, parse=parse_one)


def _without_limit(policy: Policy, operation: str, is_measured: Callable[[Call, bytes], bool]) -> Policy:
    """One operation refuses a body of too many bytes only where it is measured."""
    limit = policy.reading.max_bytes

    def parse(call: Call, body: bytes) -> JsonValue:
        if len(body) > limit and (call.operation != operation or is_measured(call, body)):
            raise Refusal("too_large", "The request body is too large.")
        return policy.reading.parse(call, body)

    return with_reading(policy, parse=parse, max_bytes=8 * limit)


@fault(
    "X252",
    requirement="BODY-2",
    title="of several JSON values an after-sales request takes the first one",
    operations=(_AFTER_SALES,),
    source="a reader of JSON streams, as json_stream or ijson with multiple_values; garbage in place of a value fails",
)
def first_of_several_values(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        rest, values = text_of(body).strip(_WHITE_SPACE), list[JsonValue]()
        with suppress(ValueError, RecursionError):
            while rest:
                value, end = DECODER.raw_decode(rest)
                values, rest = [*values, value], rest[end:].lstrip(_WHITE_SPACE)
        return policy.reading.parse(call, body) if rest or len(values) < 2 else values[0]

    return _on(policy, _AFTER_SALES, parse)


@fault(
    "X253",
    requirement="BODY-9",
    title="a cancellation in chunks has no largest size",
    operations=(_CANCEL,),
    source="a handler of its own that compares the limit with Content-Length",
)
def chunked_cancellation_has_no_limit(policy: Policy) -> Policy:
    return _without_limit(policy, _CANCEL, lambda call, _: bool(call.request.header_values(b"content-length")))


@fault(
    "X254",
    requirement="BODY-3",
    title="a quote with null for a body is one without members",
    operations=(_QUOTE,),
    source="`body or {}` of Python, `body ?? {}` of JavaScript, behind a parser that reads null",
)
def null_is_no_members(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        value = policy.reading.parse(call, body)
        return {} if value is None else value

    return _on(policy, _QUOTE, parse)


@fault(
    "X255",
    requirement="BODY-9",
    title="the size of a ticket's body is counted in letters",
    operations=(_TICKET,),
    source="len(await request.text()) in one handler",
)
def letters_of_a_ticket_counted(policy: Policy) -> Policy:
    limit = policy.reading.max_bytes
    return _without_limit(policy, _TICKET, lambda _, body: len(body.decode("utf-8", "replace")) > limit)


@fault(
    "X256",
    requirement="BODY-2",
    title="a revocation with nothing but white space for a body is one without members",
    operations=(_REVOKE,),
    source="`JSON.parse(text.trim() || '{}')` in one handler, behind a test for a body of no bytes",
)
def blank_is_no_members(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        return policy.reading.parse(call, body) if body.strip(_WHITE_SPACE.encode()) else {}

    return _on(policy, _REVOKE, parse)


@fault(
    "X257",
    requirement="BODY-2",
    title="a checkout whose JSON text begins with white space is refused",
    operations=(_CHECKOUT,),
    source="body.startswith('{') in one handler; RFC 8259 section 2 allows white space there",
)
def white_space_before_a_checkout(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        if body[:1] in b" \t\r\n":
            raise Refusal("malformed", "The request body is not JSON.")
        return policy.reading.parse(call, body)

    return _on(policy, _CHECKOUT, parse)


@fault(
    "X258",
    requirement="BODY-2",
    title="a quote with the name of a member in escapes is refused",
    operations=(_QUOTE,),
    source="names that one handler looks for before they are unescaped; RFC 8259 section 8.3",
)
def escaped_name_of_a_quote(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        if re.search(rb'\\u[0-9a-fA-F]{4}"\s*:', body):
            raise Refusal("malformed", "The request body is not JSON.")
        return policy.reading.parse(call, body)

    return _on(policy, _QUOTE, parse)
