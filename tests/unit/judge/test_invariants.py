"""What each invariant says of an answer: nothing of a conforming one, and of a defect exactly one thing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.core.model import STATUSES
from conformance.core.outcomes import Level
from conformance.judge.invariant_results import BESIDE_CHECKS, INVARIANTS
from conformance.judge.invariants import Invariants
from conformance.judge.leaks import find_leaks
from conformance.judge.validators import Validators
from conformance.profile.behavior import Answers, Authorization
from conformance.profile.model import Profile, Schemas
from conformance.profile.resources import OperationFacts

OPERATIONS = load_contract().operations
OBJECT = Request(OPERATIONS["getApiKeyIdentity"])
ARRAY = Request(OPERATIONS["searchPublicProducts"])
HOSTED = Request(
    OPERATIONS["consumeHostedCheckoutBrowserTicket"],
    body={"ticket": "ticket-0123456789"},
    scope={"session.ticket": "ticket-0123456789", "session.id": "session-1"},
)
KEY = "sk_live_0123456789"
SCHEMAS = {
    "ApiKeyIdentityResponse": {
        "type": "object",
        "required": ["data"],
        "properties": {"data": {"type": "object", "required": ["scopes"], "properties": {"n": {"maximum": 5}}}},
    },
    "PublicErrorResponse": {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}},
}


def judge(
    status: int | None = 200,
    body: Any = b'{"data": {}}',
    *,
    request: Request = OBJECT,
    headers: dict[str, str] | None = None,
    schemas: Any = None,
    meta_null: bool = False,
    **changes: Any,
) -> dict[str, str]:
    """requirement -> code of every finding but the shapes of errors, which judge nothing."""
    told = {"Content-Type": "application/json"} if headers is None else headers
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    url = changes.pop("url", "http://t/a")
    answer = Answer(
        "x1",
        request,
        url,
        changes.pop("sent_headers", ()),
        changes.pop("sent_body", b""),
        status,
        tuple(told.items()),
        content,
        **changes,
    )
    declared = Schemas(schemas or {}, meta_null)
    profile = Profile("p", "http://t", Authorization("Bearer {key}"), schemas=declared)
    judged, findings = Invariants(profile, Validators(declared)).judge(answer)
    assert {finding.requirement for finding in findings} <= set(judged) <= {*INVARIANTS, *BESIDE_CHECKS}
    assert len({f.requirement for f in findings}) == len(findings)
    return {finding.requirement: finding.code for finding in findings if finding.level is not Level.OBSERVED}


CONFORMING: dict[str, dict[str, Any]] = {
    "plain": {},
    "charset": {"headers": {"Content-Type": "application/json; charset=utf-8"}},
    "upper case": {"headers": {"content-type": "Application/JSON;charset=UTF-8"}},
    "blanks": {"headers": {"Content-Type": " application/json ; charset=utf-8"}},
    "+json": {"headers": {"Content-Type": "application/vnd.shop.v1+json"}},
    "problem+json": {
        "status": 404,
        "body": {"title": "no"},
        "headers": {"Content-Type": "application/problem+json"},
    },
    "empty object": {"body": {"data": {}}},
    "extra members": {"body": {"data": {}, "meta": 1, "links": [], "requestId": "r"}},
    "white space": {"body": b'\r\n\t {"data" : { } } \n'},
    "nested data": {"body": {"data": {"data": [None, True, 1e300, -0.0, "\u0000\U0001f600"]}}},
    "duplicate members": {"body": b'{"data": {"a": 1, "a": 2}}'},
    "lone surrogate escaped": {"body": b'{"data": {"a": "\\ud800"}}'},
    "huge numbers": {"body": b'{"data": {"a": 1e400, "b": ' + b"9" * 5000 + b"}}"},
    "deep": {"body": b'{"data": {"a": ' + b"[" * 600 + b"]" * 600 + b"}}"},
    "empty array": {"request": ARRAY, "body": {"data": []}},
    "meta": {"request": ARRAY, "body": {"data": [{}], "meta": {"total": 1}}},
    "meta absent": {"request": ARRAY, "body": {"data": [1, "a", None]}},
    "meta null where declared": {"request": ARRAY, "body": {"data": [], "meta": None}, "meta_null": True},
    "meta on an object": {"body": {"data": {}, "meta": None}},
    "any error object": {"status": 400, "body": {"anything": None}},
    "429 without Retry-After": {"status": 429, "body": {"code": "c"}},
    "429 with seconds": {
        "status": 429,
        "body": {"code": "c"},
        "headers": {"Content-Type": "application/json", "Retry-After": "120"},
    },
    "429 with a date": {
        "status": 429,
        "body": {"code": "c"},
        "headers": {"Content-Type": "application/json", "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"},
    },
    "Retry-After elsewhere": {"headers": {"Content-Type": "application/json", "Retry-After": "soon"}},
    "413 on oversize": {"status": 413, "body": {"code": "c"}, "sent_body": b"a" * 70_000},
    "431 on oversize": {"status": 431, "body": {"code": "c"}, "url": "http://t/" + "a" * 70_000},
    "gateway 502": {"status": 502, "body": b"<html>Bad Gateway"},
    "gateway 503": {"status": 503, "body": b""},
    "gateway 504": {"status": 504, "body": b"{}"},
    "no answer": {"status": None, "body": b"", "trouble": "reset"},
    "schema": {"body": {"data": {"scopes": [], "n": 5}}, "schemas": SCHEMAS},
    "schema of errors": {"status": 409, "body": {"code": "c", "more": 1}, "schemas": SCHEMAS},
    "schema and a number beyond floats": {
        "body": b'{"data": {"scopes": [], "n": -1e400}}',
        "schemas": {"ApiKeyIdentityResponse": {"properties": {"data": {"properties": {"n": {"type": "number"}}}}}},
    },
    "echo of a path that was sent": {
        "status": 400,
        "body": {"message": "bad path /var/www/html/index"},
        "sent_body": b'{"a": "/var/www/html/index"}',
    },
    "the service's own paths": {"status": 404, "body": {"instance": "/api/v1/open/webhooks/endpoints/wh_1"}},
    "a URL": {"status": 404, "body": {"type": "https://docs.example/var/lib/errors"}},
    "words that look like SQL": {"status": 400, "body": {"message": "select a date from the list and update it"}},
    "a short credential": {
        "status": 401,
        "body": {"message": "Bearer abc"},
        "request": OBJECT.with_authorization("Bearer abc"),
    },
    "the session's id": {"status": 409, "body": {"session": "session-1"}, "request": HOSTED},
    "the ticket in a 200": {"body": {"data": {"ticket": "ticket-0123456789"}}, "request": HOSTED},
}


@pytest.mark.parametrize("name", CONFORMING)
def test_a_conforming_answer_violates_nothing(name: str) -> None:
    """However an implementation fills in what the interface leaves open, no invariant says a word."""
    assert judge(**CONFORMING[name]) == {}


DEFECTS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "201": ({"status": 201}, {"STA-2": "status:201"}),
    "204": ({"status": 204, "body": b"", "headers": {}}, {"STA-2": "status:204"}),
    "206": ({"status": 206}, {"STA-2": "status:206"}),
    "422": ({"status": 422, "body": {"code": "c"}}, {"STA-1": "status:422"}),
    "500": ({"status": 500, "body": {"code": "c"}}, {"STA-1": "status:500"}),
    "301": ({"status": 301, "body": {"code": "c"}}, {"STA-1": "status:301"}),
    "101": ({"status": 101, "body": {"code": "c"}}, {"STA-1": "status:101"}),
    "413 on a small request": ({"status": 413, "body": {"code": "c"}}, {"STA-1": "status:413"}),
    "500 with HTML": ({"status": 500, "body": b"<html>"}, {"STA-1": "status:500", "ERR-1": "not-json:500"}),
    "HTML": ({"body": b"<html>", "headers": {"Content-Type": "text/html"}}, {"ENV-1": "not-json"}),
    "no body": ({"body": b""}, {"ENV-1": "not-json"}),
    "cut off": ({"body": b'{"data": {'}, {"ENV-1": "not-json"}),
    "two values": ({"body": b'{"data": {}}{}'}, {"ENV-1": "not-json"}),
    "Latin-1": ({"body": b'{"data": {"a": "\xe9"}}'}, {"ENV-1": "not-json"}),
    "UTF-16": ({"body": '{"data": {}}'.encode("utf-16")}, {"ENV-1": "not-json"}),
    "byte order mark": ({"body": b'\xef\xbb\xbf{"data": {}}'}, {"ENV-1": "not-strict"}),
    "NaN": ({"body": b'{"data": {"a": NaN}}'}, {"ENV-1": "not-strict"}),
    "NaN in an error": ({"status": 400, "body": b'{"a": NaN}'}, {"ENV-1": "not-strict"}),
    "text/plain": ({"headers": {"Content-Type": "text/plain"}}, {"ENV-1": "media-type"}),
    "text/json": ({"headers": {"Content-Type": "text/json"}}, {"ENV-1": "text-json"}),
    "jsonp": ({"headers": {"Content-Type": "application/jsonp"}}, {"ENV-1": "media-type"}),
    "an error as HTML type": (
        {"status": 404, "body": {"code": "c"}, "headers": {"Content-Type": "text/html"}},
        {"ENV-1": "media-type"},
    ),
    "no media type": ({"headers": {}}, {"ENV-1": "no-media-type"}),
    "bare": ({"body": {"id": 1}}, {"ENV-2": "no-data"}),
    "an array at the top": ({"body": [{}]}, {"ENV-2": "envelope"}),
    "null at the top": ({"body": None}, {"ENV-2": "envelope"}),
    "data is an array": ({"body": {"data": []}}, {"ENV-2": "data"}),
    "data is null": ({"body": {"data": None}}, {"ENV-2": "data"}),
    "data is text": ({"body": {"data": "{}"}}, {"ENV-2": "data"}),
    "Data": ({"body": {"Data": {}}}, {"ENV-2": "no-data"}),
    "a list's data is an object": ({"request": ARRAY, "body": {"data": {}}}, {"ENV-3": "data"}),
    "a list without data": ({"request": ARRAY, "body": {"items": []}}, {"ENV-3": "no-data"}),
    "a bare list": ({"request": ARRAY, "body": []}, {"ENV-3": "envelope"}),
    "meta is an array": ({"request": ARRAY, "body": {"data": [], "meta": []}}, {"ENV-3": "meta"}),
    "meta is null": ({"request": ARRAY, "body": {"data": [], "meta": None}}, {"ENV-3": "meta"}),
    "schema": ({"body": {"data": {"n": 5}}, "schemas": SCHEMAS}, {"ENV-4": "schema"}),
    "schema, another": ({"body": {"data": {"scopes": [], "n": 6}}, "schemas": SCHEMAS}, {"ENV-4": "schema"}),
    "schema, but no envelope": ({"body": {"n": 1}, "schemas": SCHEMAS}, {"ENV-2": "no-data"}),
    "schema, but no strict JSON": ({"body": b'{"data": {"n": NaN}}', "schemas": SCHEMAS}, {"ENV-1": "not-strict"}),
    "an empty error": ({"status": 404, "body": b"", "headers": {}}, {"ERR-1": "empty:404"}),
    "a blank error": ({"status": 404, "body": b" \n"}, {"ERR-1": "empty:404"}),
    "an error as text": (
        {"status": 404, "body": b"Not Found", "headers": {"Content-Type": "text/plain"}},
        {"ERR-1": "not-json:404"},
    ),
    "an error as array": ({"status": 404, "body": [{"code": "c"}]}, {"ERR-1": "not-object:404"}),
    "an error as string": ({"status": 404, "body": "Not Found"}, {"ERR-1": "not-object:404"}),
    "an error as {}": ({"status": 404, "body": {}}, {"ERR-1": "not-object:404"}),
    "an error against its schema": ({"status": 404, "body": {"code": 1}, "schemas": SCHEMAS}, {"ERR-1": "schema:404"}),
    "a stack trace": ({"status": 400, "body": {"m": 'File "/a/b.py", line 3'}}, {"ERR-2": "stack-trace"}),
    "frames in a JSON text": (
        {"status": 400, "body": {"m": "x\n\tat com.shop.Cart.quote(Cart.java:42)"}},
        {"ERR-2": "stack-trace"},
    ),
    "SQL": ({"status": 400, "body": {"m": "SQLSTATE[23000]"}}, {"ERR-2": "sql"}),
    "a path": ({"status": 400, "body": {"m": "cannot open /srv/shop/secrets.json"}}, {"ERR-2": "file-path"}),
    "the key in an error": (
        {"status": 401, "body": {"m": f"key {KEY} is unknown"}, "request": OBJECT.with_authorization(f"Bearer {KEY}")},
        {"ERR-2": "credential"},
    ),
    "the key in a 200": (
        {"body": {"data": {"k": KEY}}, "request": OBJECT.with_authorization(f"Bearer {KEY}")},
        {"ERR-2": "credential"},
    ),
    "the key in a header": (
        {
            "headers": {"Content-Type": "application/json", "X-Key": KEY},
            "request": OBJECT.with_authorization(f"Bearer {KEY}"),
        },
        {"ERR-2": "credential"},
    ),
    "the ticket in an error": (
        {"status": 409, "body": {"m": "ticket-0123456789"}, "request": HOSTED},
        {"ERR-2": "secret"},
    ),
    "Retry-After in words": (
        {"status": 429, "body": {"code": "c"}, "headers": {"Content-Type": "application/json", "Retry-After": "soon"}},
        {"RATE-2": "retry-after"},
    ),
    "negative Retry-After": (
        {"status": 429, "body": {"code": "c"}, "headers": {"Content-Type": "application/json", "Retry-After": "-1"}},
        {"RATE-2": "retry-after"},
    ),
    "fractional Retry-After": (
        {"status": 429, "body": {"code": "c"}, "headers": {"Content-Type": "application/json", "Retry-After": "1.5"}},
        {"RATE-2": "retry-after"},
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_one_defect_is_one_requirements(name: str) -> None:
    """Each defect is found, by the one requirement that owns it (a 500 as HTML is two defects)."""
    told, expected = DEFECTS[name]
    assert judge(**told) == expected


@pytest.mark.parametrize("status", [200, 204, 301, 404, 422, 500])
@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"[]", b'{"data": null}', b"\xff"])
def test_one_answer_makes_at_most_three_rows_red(status: int, body: bytes) -> None:
    """Whatever an answer is, its status, its body's form and what it says are each counted once at most."""
    found = judge(status, body)
    assert len({"STA-1", "STA-2"} & found.keys()) <= 1
    assert len({"ENV-1", "ENV-2", "ERR-1"} & found.keys()) <= 1


def test_another_method_or_path_is_judged_by_nobody() -> None:
    """What went to no declared operation is outside the interface."""
    assert judge(500, b"<html>", request=Request(OBJECT.operation, method="PUT")) == {}
    assert judge(500, b"<html>", request=Request(OPERATIONS["updateInstallationWebhook"], raw_path={"id": ".."})) == {}


@given(st.sampled_from(STATUSES), st.binary(max_size=60) | st.sampled_from([b"[" * 2000, b'{"data":', b"\xef\xbb\xbf"]))
@settings(max_examples=50)
def test_no_answer_breaks_the_judge(status: int, body: bytes) -> None:
    """Whatever bytes come back, judging ends, with findings of known requirements."""
    for request in (OBJECT, ARRAY, HOSTED):
        judge(status, body, request=request, schemas=SCHEMAS)


LEAKING = [
    'Traceback (most recent call last):\n  File "app.py", line 3, in view',
    "   at com.shop.Cart.quote(Cart.java:42)",
    "at Object.<anonymous> (/usr/src/app/index.js:10:5)",
    "goroutine 12 [running]:",
    "panic: runtime error: index out of range",
    "ORA-00942: table or view does not exist",
    'syntax error at or near "WHERE"',
    "sqlalchemy.exc.IntegrityError",
    "SELECT id, name FROM users WHERE id = 1",
    "INSERT INTO carts VALUES (1)",
    "open /etc/shop/config.yml: no such file",
    r"C:\\inetpub\\wwwroot",
]
HARMLESS = [
    "The quantity must be at least 1",
    "Please select an item from the cart",
    "Update failed: delete the promotion first",
    "https://example.com/usr/bin/thing",
    "/api/v1/home/var",
    "see /docs/errors#home",
    "at line 3, column 5",
    "2026-01-02T03:04:05Z",
    "insert into the field",
    "Order SELECTED FROM list",
]


@pytest.mark.parametrize("text", LEAKING)
def test_internals_are_recognized(text: str) -> None:
    """Stack frames, SQL and file paths of several platforms."""
    assert find_leaks(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_words_are_no_internals(text: str) -> None:
    """An error message in plain words, a URL, a path of the interface."""
    assert find_leaks(text) == []


@pytest.mark.parametrize("status", [413, 414, 431])
@pytest.mark.parametrize(
    "size",
    [{"url": f"http://t/{'a' * 2000}"}, {"sent_body": b"a" * 8_100}, {"sent_headers": (("A", "b" * 4_000),)}],
    ids=["url", "body", "headers"],
)
def test_what_is_too_large_may_be_refused_before_the_service_sees_it(status: int, size: dict[str, Any]) -> None:
    """In whatever words; the same answer to an ordinary request breaks two rules."""
    assert judge(status, b"<h1>too large</h1>", **size) == {}
    assert judge(status, b"<h1>too large</h1>").keys() == {"STA-1", "ERR-1"}
    assert judge(500, b"<h1>oops</h1>", **size).keys() == {"STA-1", "ERR-1"}


@pytest.mark.parametrize(
    "malformed",
    [
        {"url": "http://t/search?q=%zz"},
        {"url": "http://t/search?q=%"},
        {"sent_headers": (("Authorization", "a\u00e9"),)},
    ],
)
def test_what_is_no_http_may_be_refused_before_the_service_sees_it(malformed: dict[str, Any]) -> None:
    """With 400, in whatever words."""
    assert judge(400, b"<h1>bad request</h1>", **malformed) == {}
    assert judge(400, b"<h1>bad request</h1>", url="http://t/search?q=%c3%a9").keys() == {"ERR-1"}
    assert judge(500, b"<h1>oops</h1>", **malformed).keys() == {"STA-1", "ERR-1"}


@pytest.mark.parametrize("status", [411, 501])
def test_a_body_in_chunks_may_be_refused_for_its_missing_length(status: int) -> None:
    """RFC 9110 section 15.5.12; no other status is excused, and no other request."""
    chunked = OBJECT.with_header("Transfer-Encoding", "chunked")
    assert judge(status, b"<h1>length required</h1>", request=chunked) == {}
    assert judge(status, b"<h1>length required</h1>").keys() == {"STA-1", "ERR-1"}
    assert judge(500, b"<h1>oops</h1>", request=chunked).keys() == {"STA-1", "ERR-1"}


def _findings(facts: Answers, *answers: Answer) -> list[str]:
    """The codes of all findings, in the order of the answers; the schemas are `SCHEMAS`."""
    declared = Schemas(SCHEMAS)
    invariants = Invariants(
        Profile("p", "http://t", Authorization("Bearer {key}"), schemas=declared, answers=facts), Validators(declared)
    )
    return [finding.code for answer in answers for finding in invariants.judge(answer)[1] if finding.code != "shape"]


IDENTITY = {"data": {"scopes": []}}


def _answer(number: int, status: int, body: Any, **headers: str) -> Answer:
    told = (("Content-Type", "application/json"), *headers.items())
    return Answer(f"x{number}", OBJECT, "http://t/a", (), b"", status, told, json.dumps(body).encode())


def test_a_header_that_is_new_in_each_answer_is_there_and_new() -> None:
    """Its case does not count; the answer of a gateway needs none."""
    good = [_answer(1, 200, IDENTITY, Trace="a"), _answer(2, 404, {"code": "no"}, trace="b")]
    facts = Answers(fresh_headers=("trace",))
    assert _findings(facts, *good, Answer("x3", OBJECT, "http://t/a", (), b"", 503)) == []
    assert _findings(facts, good[0], _answer(2, 404, {"code": "no"}, trace="a")) == ["repeated:trace"]
    assert _findings(facts, _answer(1, 404, {"code": "no"}), _answer(2, 200, IDENTITY, trace="")) == [
        "missing:trace",
        "missing:trace",
    ]


def test_a_member_that_no_schema_names_is_found_where_the_profile_says_never() -> None:
    """In errors too; what is allowed, or not stated, is not looked at."""
    answers = [_answer(1, 200, {"data": {"scopes": [], "m": 1}, "more": 1}), _answer(2, 404, {"code": "no", "at": 1})]
    assert _findings(Answers(further_members="never"), *answers) == ["member:/data/m", "member:/at"]
    assert _findings(Answers(further_members="allowed"), *answers) == _findings(Answers(), *answers) == []


@pytest.mark.parametrize("sent", [{}, {"pass": "PASS-0123456789"}], ids=["not sent", "sent in the other case"])
def test_an_error_reveals_what_was_not_sent(sent: dict[str, str]) -> None:
    """The body's fixture value by any name; what was sent may come back as the service has normalized it."""
    scope = {"session.pass": "pass-0123456789", "session.id": "session-0123456789"}
    operation = OPERATIONS["consumeHostedCheckoutBrowserTicket"]
    facts = OperationFacts(body={"pass": "{session.pass}"}, path={"sessionId": "{session.id}"})
    known = {"operations": {operation.id: facts}, "fixtures": {"session": {}}}
    profile = Profile("p", "http://t", Authorization("Bearer {key}"), **known)
    told, body = (("Content-Type", "application/json"),), b'{"m": "want pass-0123456789 of session-0123456789"}'
    request = Request(operation, body=sent, scope=scope)
    answer = Answer("x1", request, "http://t/a", (), json.dumps(sent).encode(), 403, told, body)
    findings = Invariants(profile, Validators(profile.schemas)).judge(answer)[1]
    assert [f.code for f in findings if f.requirement == "ERR-2"] == ([] if sent else ["secret"])
