"""Faults that show with headers and parameters which clients add by themselves: STA-1, STA-2, ENV-1."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, Reply
from conformance.reference.policy import (
    Handler,
    Policy,
    Stage,
    evolve,
    with_handlers,
    with_wire,
)
from conformance.reference.registry import fault

_DELIVERIES = "listInstallationWebhookDeliveries"
_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")


def _header(call: Call, name: bytes = b"authorization") -> str:
    values = call.request.header_values(name)
    return values[0] if values else ""


def _before(policy: Policy, look: Callable[[Call, Connection], Call | None], *operations: str) -> Policy:
    """Looks at each call before its work, and may replace it."""

    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            return inner(look(call, db) or call, db)

        return act

    return with_handlers(policy, operations, wrap)


def _with_stage(policy: Policy, stage: Stage, before: Stage | None = None) -> Policy:
    """A further stage, the first one or before another."""
    stages = list(policy.stages)
    stages.insert(stages.index(before) if before else 0, stage)
    return evolve(policy, stages=tuple(stages))


@fault(
    "F649",
    requirement="ERR-1",
    title="errors are HTML for a client that prefers it",
    source="error pages by the Accept header: Spring Boot's whitelabel page, Laravel's expectsJson()",
)
def html_where_accepted(policy: Policy) -> Policy:
    def change(call: Call, reply: Reply) -> Reply:
        if reply.status == 200 or "text/html" not in _header(call, b"accept"):
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
        if reply.status != 200 or call.request.method == "GET" or "return=minimal" not in _header(call, b"prefer"):
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
        if reply.status == 200 or not re.match("fr|de|es", _header(call, b"accept-language")):
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
        cookie = _header(call, b"cookie")
        if cookie and "=" not in cookie:
            raise ValueError("not enough values to unpack")

    return _with_stage(policy, look)


@fault(
    "F654",
    requirement="STA-1",
    title="a limit that is no number ends the list of deliveries in 500",
    operations=(_DELIVERIES,),
    source="an undocumented parameter of the handler: int(request.args.get('limit', 50))",
)
def limit_of_deliveries(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        for part in call.request.query.decode("latin-1").split("&"):
            name, _, value = part.partition("=")
            if name == "limit":
                int(value)

    return _before(policy, look, _DELIVERIES)
