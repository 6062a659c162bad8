"""Faults of a media type's letters and of what a text holds: BODY-5, BODY-9, ERR-3, ENV-1, STA-1."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

from sqlalchemy import Connection

from conformance.reference.call import Call, JsonValue, Refusal, Reply, dumps
from conformance.reference.policy import Policy, before_work, evolve, with_reading, with_stage, with_wire
from conformance.reference.registry import fault

_UPDATE = "updateInstallationWebhook"
_CREATE = "createInstallationWebhook"


@fault(
    "F655",
    requirement="BODY-9",
    title="a media type in capitals is refused",
    source="a media type compared with ==; RFC 9110 section 8.3.1: types are case-insensitive",
)
def media_type_in_capitals(policy: Policy) -> Policy:
    def accepts(media: str | None) -> bool:
        kind = (media or "").partition(";")[0]
        return kind == kind.lower() and policy.reading.accepts(media)

    return with_reading(policy, accepts=accepts)


@fault(
    "F656",
    requirement="ERR-3",
    title="a body with markup is answered 403",
    source="a web application firewall with its default rules",
)
def firewall(policy: Policy) -> Policy:
    def look(call: Call) -> None:
        if re.search(rb"<\s*script|union\s+select|\.\./\.\.", call.request.body + call.request.query, re.IGNORECASE):
            raise Refusal("forbidden", "The request was blocked.")

    return with_stage(policy, look)


@fault(
    "F657",
    requirement="ENV-1",
    title="a description is cut to 100 bytes within a character",
    operations=(_CREATE, _UPDATE),
    source="a column, or a buffer, of bytes",
)
def cut_in_a_character(policy: Policy) -> Policy:
    def change(_call: Call, reply: Reply) -> Reply:
        if reply.status != 200:
            return reply
        text = json.loads(reply.body)["data"]["description"].encode("utf-8", "surrogatepass")
        if len(text) <= 100:
            return reply
        whole = dumps(json.loads(reply.body)["data"]["description"])
        return evolve(reply, body=reply.body.replace(whole, b'"' + text[:100] + b'"'))

    return with_wire(policy, change, _CREATE, _UPDATE)


@fault(
    "F804",
    requirement="ENV-1",
    title="an answer with accented letters is sent in Latin-1",
    source="getBytes() or a servlet's writer in the platform's charset; what it lacks falls back to UTF-8",
)
def latin_1(policy: Policy) -> Policy:
    def change(_call: Call, reply: Reply) -> Reply:
        try:
            return evolve(reply, body=reply.body.decode().encode("latin-1"))
        except UnicodeError:
            return reply

    return with_wire(policy, change)


@fault(
    "F965",
    requirement="BODY-5",
    title="an endpoint's URL with an open bracket or a port above 65535 gives 500",
    operations=(_CREATE, _UPDATE),
    source="urlsplit of Python, new URL of JavaScript, URI.create of Java: errors of texts that a pattern lets pass",
)
def unparsable_url_crashes(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        try:
            _ = urlsplit(call.body.get("url", "")).port
        except ValueError:
            raise _crash() from None

    return before_work(policy, look, _CREATE, _UPDATE)


@fault(
    "F966",
    requirement="STA-1",
    title="a body in a character set that does not exist gives 500",
    source="LookupError of Python, UnsupportedCharsetException of Java",
)
def unknown_charset_crashes(policy: Policy) -> Policy:
    def accepts(media: str | None) -> bool:
        found = re.search(r"charset=\"?([^\s;\"]+)", media or "", re.IGNORECASE)
        try:
            "".encode(found[1] if found else "utf-8")
        except LookupError:
            raise _crash() from None
        return policy.reading.accepts(media)

    return with_reading(policy, accepts=accepts)


@fault(
    "F967",
    requirement="STA-1",
    title="a body with %s gives 500",
    source="CWE-134: a text of a client that is formatted once more, as in a log",
)
def format_string_crashes(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        if re.search(rb"%[sdn]", body):
            raise _crash()
        return policy.reading.parse(call, body)

    return with_reading(policy, parse=parse)


def _crash() -> Refusal:
    return Refusal("internal", "The request could not be carried out.")


@fault(
    "X184",
    requirement="BODY-5",
    title="an endpoint whose description has NUL cannot be created: 500",
    operations=(_CREATE,),
    source="PostgreSQL refuses NUL in a text: an error of the driver that nothing catches",
)
def nul_in_a_description(policy: Policy) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        try:
            return policy.reading.parse(call, body)
        except Refusal as refusal:
            if refusal.kind == "unstorable" and call.operation == _CREATE and "\0" in _description(body):
                raise ValueError("unsupported Unicode escape sequence") from refusal
            raise

    return with_reading(policy, parse=parse)


def _description(body: bytes) -> str:
    value = json.loads(body)
    return str(value.get("description", "")) if isinstance(value, dict) else ""


@fault(
    "X216",
    requirement="ENV-1",
    title="an update's answer repeats quotation marks as they are",
    operations=(_UPDATE,),
    source="an answer from a template of text, which escapes for HTML and not for JSON",
)
def quotation_marks_as_they_are(policy: Policy) -> Policy:
    def change(call: Call, reply: Reply) -> Reply:
        is_text = call.operation == _UPDATE and reply.status == 200
        return evolve(reply, body=reply.body.replace(b'\\"', b'"')) if is_text else reply

    return with_wire(policy, change)
