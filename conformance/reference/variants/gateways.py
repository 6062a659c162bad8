"""Legitimate frameworks and gateways: texts without outer white space, sizes, resources in use, wrong tickets."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, JsonValue, Refusal, Reply
from conformance.reference.dpop import Proof, bad_proof, normalize
from conformance.reference.policy import (
    Handler,
    Policy,
    before_work,
    with_handlers,
    with_proof,
    with_reading,
    with_shape,
    with_stage,
    with_wire,
)
from conformance.reference.registry import variant

_LARGEST_BODY = 8_000
_LONGEST_URL = 2_000
_CARTS = ("quotePublicCart", "removePublicCartPromotion", "checkoutPublicCart", "revokePublicCart")
_UPDATE = "updateInstallationWebhook"
_IN_USE_S = 0.3
_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")


def _trim(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [_trim(item) for item in value]
    if isinstance(value, dict):
        return {name: _trim(item) for name, item in value.items()}
    return value


@variant(
    "V510",
    requirement="OA-2",
    title="every text of a body is trimmed, and the host is the one that a proxy names",
)
def trimmed_texts(policy: Policy) -> Policy:
    parse = policy.reading.parse

    def parse_and_trim(call: Call, text: bytes) -> JsonValue:
        return _trim(parse(call, text))

    def check_url(call: Call, proof: Proof) -> None:
        host = call.request.first_header(b"x-forwarded-host")
        parts = urlsplit(call.request.url)
        url = parts._replace(netloc=host).geturl() if host else call.request.url
        if normalize(str(proof.claims.get("htu"))) != normalize(url):
            raise bad_proof("The proof's htu is another URL.")

    return with_proof(with_reading(policy, parse=parse_and_trim), url=check_url)


@variant(
    "V511",
    requirement="STA-1",
    title="a gateway refuses URLs of more than 2,000 and bodies of more than 8,000 bytes with 414, 413 and no JSON",
    profile={"bodies": {"max_bytes": {"none": "the gateway's limit"}}},
)
def limited_sizes(policy: Policy) -> Policy:
    def status_of(call: Call) -> int:
        if len(call.request.body) > _LARGEST_BODY:
            return 413
        return 414 if len(call.request.path) + len(call.request.query) > _LONGEST_URL else 0

    def refuse(call: Call) -> None:
        if status_of(call):
            raise Refusal("invalid_query", "It is too long.")

    def hook(call: Call, reply: Reply) -> Reply:
        status = status_of(call)
        return Reply(status, (("content-type", "text/html"),), b"<h1>Too long</h1>") if status else reply

    return with_wire(with_stage(policy, refuse), hook)


@variant(
    "V512",
    requirement="CONF-1",
    title="a cart is in use for 0.3 seconds after a call on it",
)
def carts_in_use(policy: Policy) -> Policy:
    until: dict[str, float] = {}

    def look(call: Call, _db: Connection) -> None:
        if time.monotonic() < until.get(call.path["cartId"], 0.0):
            raise Refusal("state_conflict", "The cart is in use.")

    def shape(call: Call, answer: Answer) -> Answer:
        if answer.status == 200:
            until[call.path["cartId"]] = time.monotonic() + _IN_USE_S
        return answer

    return with_shape(before_work(policy, look, *_CARTS), shape, *_CARTS)


@variant(
    "V513",
    requirement="HO-3",
    title="a wrong ticket ends its session, which is then answered as a used one",
)
def ended_sessions(policy: Policy) -> Policy:
    ended: set[str] = set()

    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            if call.path["sessionId"] in ended:
                raise Refusal("state_conflict", "The session is not open.")
            try:
                return inner(call, db)
            except Refusal as refusal:
                if refusal.kind == "bad_ticket":
                    ended.add(call.path["sessionId"])
                raise

        return act

    return with_handlers(policy, _HOSTED, wrap)
