"""Faults that show with headers and parameters which clients add by themselves: STA-1, STA-2, ENV-1."""

from __future__ import annotations

import json
import re

from sqlalchemy import Connection

from conformance.reference.call import Call, Refusal, Reply
from conformance.reference.policy import Policy, before_work, evolve, with_stage, with_status, with_wire
from conformance.reference.registry import fault

_DELIVERIES = "listInstallationWebhookDeliveries"
_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")


@fault(
    "F649",
    requirement="ERR-1",
    title="errors are HTML for a client that prefers it",
    source="error pages by the Accept header: Spring Boot's whitelabel page, Laravel's expectsJson()",
)
def html_where_accepted(policy: Policy) -> Policy:
    def change(call: Call, reply: Reply) -> Reply:
        if reply.status == 200 or "text/html" not in call.request.first_header(b"accept"):
            return reply
        body = f"<!doctype html><title>{reply.status}</title><h1>Error {reply.status}</h1>".encode()
        headers = tuple(pair for pair in reply.headers if pair[0].lower() != "content-type")
        return Reply(reply.status, (("content-type", "text/html; charset=utf-8"), *headers), body)

    return with_wire(policy, change)


@fault(
    "F650",
    requirement="STA-2",
    title="Prefer: return=minimal is answered 204",
    source="RFC 7240, as in PostgREST and OData",
)
def minimal(policy: Policy) -> Policy:
    def change(call: Call, reply: Reply) -> Reply:
        if (
            reply.status != 200
            or call.request.method == "GET"
            or "return=minimal" not in call.request.first_header(b"prefer")
        ):
            return reply
        return Reply(204, (), b"")

    return with_wire(policy, change)


@fault(
    "F651",
    requirement="ERR-1",
    title="errors in another language are not UTF-8",
    source="messages in a properties file of Latin-1, chosen by Accept-Language",
)
def latin_messages(policy: Policy) -> Policy:
    def change(call: Call, reply: Reply) -> Reply:
        if reply.status == 200 or not re.match("fr|de|es", call.request.first_header(b"accept-language")):
            return reply
        text = json.loads(reply.body)
        text["error"]["message"] = "Requête refusée."
        return evolve(reply, body=json.dumps(text, ensure_ascii=False).encode("latin-1"))

    return with_wire(policy, change)


@fault(
    "F652",
    requirement="STA-1",
    title="a cookie that cannot be parsed ends in 500",
    source="the session middleware of a framework, in front of every operation",
)
def odd_cookie(policy: Policy) -> Policy:
    def look(call: Call) -> None:
        cookie = call.request.first_header(b"cookie")
        if cookie and "=" not in cookie:
            raise ValueError("not enough values to unpack")

    return with_stage(policy, look)


@fault(
    "F654",
    requirement="STA-1",
    title="a limit that is not a number ends the list of deliveries in 500",
    operations=(_DELIVERIES,),
    source="an undocumented parameter of the handler: int(request.args.get('limit', 50))",
)
def limit_of_deliveries(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        for part in call.request.query.decode("latin-1").split("&"):
            name, _, value = part.partition("=")
            if name == "limit":
                int(value)

    return before_work(policy, look, _DELIVERIES)


@fault(
    "F854",
    requirement="STA-1",
    title="Expect: 100-continue is answered 417",
    source="a server that knows no expectation: lighttpd before 1.4.21, and gateways of that age",
)
def no_expectation(policy: Policy) -> Policy:
    def look(call: Call) -> None:
        if call.request.header_values(b"expect"):
            raise Refusal("expectation", "The expectation cannot be met.")

    return with_stage(with_status(policy, "expectation", 417), look)


@fault(
    "X43",
    requirement="STA-1",
    title="a client that accepts XML alone is answered 406",
    source="content negotiation: HttpMediaTypeNotAcceptableException of Spring, NotAcceptable of Django REST framework",
)
def not_acceptable(policy: Policy) -> Policy:
    def look(call: Call) -> None:
        accept = call.request.first_header(b"accept")
        if accept and not any(part in accept for part in ("json", "*/*", "application/*")):
            raise Refusal("not_acceptable", "No representation suits the header Accept.")

    return with_stage(with_status(policy, "not_acceptable", 406), look)
