"""Faults in what HTTP itself defines: percent-encoding, codings of bodies, media types, cookies and languages."""

from __future__ import annotations

import zlib

from sqlalchemy import Connection

from conformance.reference import pipeline
from conformance.reference.call import Answer, Call, JsonObject, JsonValue, Refusal, Reply
from conformance.reference.policy import (
    Policy,
    before_work,
    evolve,
    with_reading,
    with_shape,
    with_stage,
    with_wire,
)
from conformance.reference.registry import fault

_SEARCH = "searchPublicProducts"
_PRODUCTS = "listPublicMerchantProducts"
_CONFIG = "getPublicRuntimeConfig"
_QUOTE = "quotePublicCartCheckout"
_CART_QUOTE = "quotePublicCart"


@fault(
    "F732",
    requirement="NF-1",
    title="an id with a percent-encoded letter answered 404",
    operations=(_QUOTE,),
    source="a router that passes the raw path on",
)
def raw_id(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if b"%" in call.request.path:
            raise Refusal("not_found", "There is no such resource.")

    return before_work(policy, look, _QUOTE)


@fault(
    "F735",
    requirement="BODY-1",
    title="a chunked body taken for a missing one",
    source="WSGI, where a body without CONTENT_LENGTH is empty",
)
def chunked_is_missing(policy: Policy) -> Policy:
    def stage(call: Call) -> None:
        if call.request.header_values(b"transfer-encoding") and call.operation in policy.reading.required:
            raise Refusal("missing_body", "A JSON body is required.")

    return with_stage(policy, stage, pipeline.read_body)


@fault(
    "X215",
    requirement="BODY-1",
    title="a quote's chunked body is taken for a missing one",
    operations=(_CART_QUOTE,),
    source="a handler that reads as many bytes as Content-Length says",
)
def chunked_quote_is_missing(policy: Policy) -> Policy:
    def stage(call: Call) -> None:
        if call.request.header_values(b"transfer-encoding") and call.operation == _CART_QUOTE:
            raise Refusal("missing_body", "A JSON body is required.")

    return with_stage(policy, stage, pipeline.read_body)


@fault(
    "F736",
    requirement="BODY-9",
    title="a chunked body has no largest size",
    source="a limit that is compared with Content-Length",
)
def chunked_has_no_limit(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        if call.request.header_values(b"content-length") and len(body) > policy.reading.max_bytes:
            raise Refusal("too_large", "The request body is too large.")
        return policy.reading.parse(call, body)

    return with_reading(policy, parse=parse, max_bytes=8 * policy.reading.max_bytes)


@fault(
    "F737",
    requirement="BODY-9",
    title="a charset between quotes refused",
    source="a media type that is compared as text",
)
def quoted_charset(policy: Policy) -> Policy:
    return with_reading(policy, accepts=lambda media: '"' not in (media or "") and policy.reading.accepts(media))


@fault(
    "F738",
    requirement="ENV-1",
    title="with Accept-Encoding deflate an answer is compressed and does not say so",
    source="middleware that loses a header",
)
def silent_deflate(policy: Policy) -> Policy:
    def hook(call: Call, reply: Reply) -> Reply:
        if call.request.first_header(b"accept-encoding").strip() != "deflate":
            return reply
        return evolve(reply, body=zlib.compress(reply.body))

    return with_wire(policy, hook)


def _german(item: JsonObject) -> JsonObject:
    amount = f"{item['price']['amount']:.2f}".replace(".", ",")
    return {**item, "price": {**item["price"], "amount": amount}}


@fault(
    "F739",
    requirement="ENV-4",
    title="with Accept-Language de prices are texts",
    operations=(_SEARCH, _PRODUCTS),
    source="numbers that are written for the reader's language",
)
def german_prices(policy: Policy) -> Policy:
    def shape(call: Call, answer: Answer) -> Answer:
        if answer.status != 200 or not call.request.first_header(b"accept-language").startswith("de"):
            return answer
        return evolve(answer, value={**answer.value, "data": [_german(item) for item in answer.value["data"]]})

    return with_shape(policy, shape, _SEARCH, _PRODUCTS)


@fault(
    "F740",
    requirement="PUB-1",
    title="the runtime configuration refuses the cookie of an unknown session",
    operations=(_CONFIG,),
    source="session middleware in front of every route",
)
def unknown_session(policy: Policy) -> Policy:
    def stage(call: Call) -> None:
        if call.operation == _CONFIG and "session=" in call.request.first_header(b"cookie"):
            raise Refusal("no_credential", "The session has ended.")

    return with_stage(policy, stage)


@fault(
    "F898",
    requirement="STA-2",
    title="without Accept a good call is answered 400",
    source="content negotiation that takes an absent header for one that names nothing",
)
def accept_is_needed(policy: Policy) -> Policy:
    def stage(call: Call) -> None:
        if not call.request.header_values(b"accept"):
            raise Refusal("invalid", "No media type of the Accept header is available.")

    return with_stage(policy, stage)
