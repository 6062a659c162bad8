"""What a check meant is what arrives: requests as the bytes that a real socket receives."""

from __future__ import annotations

import asyncio
import re
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.client.request import NO_BODY, RawBody, Request, Wire, new_key
from conformance.client.transport import Transport
from conformance.contract import load_contract
from conformance.profile.behavior import Idempotency
from tests.support.values import replace

OPERATIONS = load_contract().operations
CREATE = Request(OPERATIONS["createInstallationWebhook"], body={"url": "https://hooks.example/é"})
UPDATE = Request(OPERATIONS["updateInstallationWebhook"], path={"id": "wh_1"}, body={})
SEARCH = Request(OPERATIONS["searchPublicProducts"], query=(("q", "gift"), ("page", "1")))
REMOVE = Request(OPERATIONS["removePublicCartPromotion"], path={"cartId": "c1"}, body={"reason": "x"})
IDENTITY = Request(OPERATIONS["getApiKeyIdentity"])


def deliver(scripted: Any, *requests: Request | Wire, base: str = "", timeout_s: float = 5) -> list[Any]:
    """What arrives of some requests, sent one after the other below a base path."""

    async def main() -> list[Any]:
        async with scripted() as target, Transport(target.url + base, timeout_s=timeout_s) as transport:
            for request in requests:
                raw = await transport.send(request if isinstance(request, Wire) else request.wire(transport.prefix))
                assert raw.status == 200, raw
            return list(target.arrived)

    return asyncio.run(main())


RAW = ("%00", "%zz", "%", "%ff", "%C3%a9", "a+b")


@pytest.mark.parametrize("raw", RAW)
def test_a_raw_query_value_arrives_as_it_was_written(scripted: Any, raw: str) -> None:
    """In place of the parameter's own value, behind the others, whose values are encoded."""
    named = replace(SEARCH, query=(*SEARCH.query, ("sort", "à b")))
    (arrived,) = deliver(scripted, named.with_raw_query("q", raw))
    assert arrived.target == f"/api/v1/search?page=1&sort=%C3%A0%20b&q={raw}"


ODD_TARGETS = [
    "/a/..%2fb",
    "/a/%2e%2e/b",
    "/a/../b",
    "/a/./b",
    "/..",
    "/a/%zz",
    "/a?q=%ff",
    "/a?q=%C3%A9&q=%c3%a9",
    "/a?q=a+b&r=a%20b",
    "/a?",
    "/a?b",
    "/a?b&c=&=d",
    "/a?b?c#d",
    "//",
    "//a//b",
    "/a;b=c",
    "/a|b^c`d{e}",
    "/a'b\"c<d>",
    "/a%00b",
    "/a%",
    "/a:b@c,d!e$f&g(h)i*j",
    "*",
    "/" + "a" * 8000,
]


@pytest.mark.parametrize("target", ODD_TARGETS, ids=lambda target: target[:30])
def test_odd_targets_arrive_byte_for_byte(scripted: Any, target: str) -> None:
    """A request target is neither normalized nor encoded again."""
    (arrived,) = deliver(scripted, Wire("GET", target, (), None))
    assert arrived.head.split(b"\r\n")[0] == b"GET " + target.encode("latin-1") + b" HTTP/1.1"


@pytest.mark.parametrize(
    "value", ["a/b", "..", ".", "a b", "%2f", "é", "a?b=c", "a#b", "", "ü/../x", "a//b", "~", "a:b"]
)
def test_path_values_are_one_segment(scripted: Any, value: str) -> None:
    """A path value is percent-encoded into its one segment, whatever characters it has."""
    request = UPDATE.with_path(id=value)
    (arrived,) = deliver(scripted, request)
    encoded = "".join(
        c if re.match(r"[\w.~-]", c, re.ASCII) else "".join(f"%{b:02X}" for b in c.encode()) for c in value
    )
    assert arrived.target == f"/api/v1/open/webhooks/endpoints/{encoded}"


@pytest.mark.parametrize(("value", "shown"), [(7, "7"), ("7", "7"), (True, "True"), (2**70, str(2**70))])
def test_ids_of_any_type_go_into_paths(scripted: Any, value: Any, shown: str) -> None:
    """An integer id is written in digits."""
    (arrived,) = deliver(scripted, replace(UPDATE, path={"id": value}))
    assert arrived.target.endswith(f"/{shown}")


@pytest.mark.parametrize("raw", ["..%2fb", "%2e%2e", "..", "a/b", "%zz", "a%00"])
def test_raw_path_values_stay_as_they_are(scripted: Any, raw: str) -> None:
    """What a check writes into the path itself arrives untouched."""
    (arrived,) = deliver(scripted, replace(UPDATE, raw_path={"id": raw}))
    assert arrived.target == f"/api/v1/open/webhooks/endpoints/{raw}"


@pytest.mark.parametrize("base", ["", "/", "/prefix", "/deep/er/", "/caf%C3%A9", "/café"])
def test_the_base_urls_path_goes_before(scripted: Any, base: str) -> None:
    """A path prefix of the base URL is kept, its trailing slash is not."""
    (arrived,) = deliver(scripted, IDENTITY, base=base)
    assert arrived.target == f"{base.rstrip('/').replace('é', '%C3%A9')}/api/v1/open/identity"


@pytest.mark.parametrize(
    ("values", "sent"),
    [
        ((), []),
        (("",), [""]),
        (("Bearer a",), ["Bearer a"]),
        (("Bearer a", "Bearer b"), ["Bearer a", "Bearer b"]),
        (("Bearer a", "Bearer a"), ["Bearer a", "Bearer a"]),
        (("Bearer \xe9",), ["Bearer \xe9"]),
        (("Bearer €",), ["Bearer €".encode().decode("latin-1")]),
        (('Bearer a,b;c="d"',), ['Bearer a,b;c="d"']),
        (("Bearer  two blanks",), ["Bearer  two blanks"]),
        (("Bearer\ttab",), ["Bearer\ttab"]),
    ],
)
def test_authorization_arrives_as_often_as_it_was_given(
    scripted: Any, values: tuple[str, ...], sent: list[str]
) -> None:
    """None, one, an empty one, two: each Authorization value is a header line of its own."""
    (arrived,) = deliver(scripted, IDENTITY.with_authorization(*values))
    assert [value.strip(" ") for value in arrived.all("Authorization")] == sent


def test_a_header_given_twice_arrives_twice(scripted: Any) -> None:
    """Two headers of one name are two lines, not one joined by a comma, whatever their case."""
    (arrived,) = deliver(scripted, IDENTITY.with_header("X-Twice", "a").with_header("x-twice", "b"))
    assert arrived.all("X-Twice") == ["a", "b"]


def test_an_accept_header_of_a_check_stands_alone() -> None:
    """The suite's own, which asks for JSON, does not go beside it: the first of two would count for some servers."""
    request = IDENTITY.with_header("Accept", "text/html,*/*;q=0.8")
    values = [value for name, value in request.wire("").headers if name == "Accept"]
    assert values == ["text/html,*/*;q=0.8"]
    assert ("Accept", "application/json") in IDENTITY.wire("").headers


def test_a_minimal_client_sends_lower_case_names_and_no_accept(scripted: Any) -> None:
    """Names of headers have no case (RFC 9110, section 5.1), and who sends no Accept accepts any media type."""
    (arrived,) = deliver(scripted, replace(CREATE.with_authorization("Bearer k").with_key("one"), is_minimal=True))
    names = {name for name, _ in arrived.headers}
    assert {"authorization", "content-type"} <= names
    assert not names & {"Accept", "accept", "Authorization", "Content-Type"}
    assert arrived.all("authorization") == ["Bearer k"]


def test_nothing_is_added_that_nobody_asked_for(scripted: Any) -> None:
    """A request has the headers it was given, Host, Content-Length, and two that the suite always sends; no others."""
    (arrived,) = deliver(scripted, CREATE.with_authorization("Bearer k"))
    names = sorted(name.lower() for name, _ in arrived.headers)
    known = "accept accept-encoding authorization content-length content-type host user-agent"
    assert names == known.split()


@pytest.mark.parametrize("request_of", [CREATE, REMOVE], ids=["POST", "DELETE"])
def test_no_body_and_an_empty_one(scripted: Any, request_of: Request) -> None:
    """Without a body there is no Content-Type; an empty body has both a type and the length zero."""
    absent, empty = deliver(scripted, request_of.without_body(), request_of.with_raw_body(b""))
    assert absent.all("Content-Type") == []
    assert absent.all("Content-Length") in ([], ["0"])
    assert absent.all("Transfer-Encoding") == []
    assert (empty.all("Content-Type"), empty.all("Content-Length")) == (["application/json"], ["0"])


@pytest.mark.parametrize(
    "content",
    [b"{}", b'{"a":', b"\xff\xfe", b"\xef\xbb\xbf{}", b"\0", b"{} ", b"a" * 1_000_000, b'"\\ud800"', b"0\r\n\r\n"],
)
@pytest.mark.parametrize("media_type", ["application/json", "text/plain; charset=utf-16", None])
def test_raw_bodies_are_untouched(scripted: Any, content: bytes, media_type: str | None) -> None:
    """The bytes that a check wrote are the bytes that arrive, under the media type it said, or none."""
    (arrived,) = deliver(scripted, CREATE.with_raw_body(content, media_type))
    assert arrived.body == content
    assert arrived.all("Content-Type") == ([] if media_type is None else [media_type])
    assert arrived.all("Content-Length") == [str(len(content))]


@pytest.mark.parametrize("request_of", [CREATE, REMOVE], ids=["POST", "DELETE"])
@pytest.mark.parametrize("body", [{"a": [1, 1.5, None, True, "é\u2028\U0001f600"]}, [], "text", 0, None, {}, False])
def test_documents_arrive_as_json(scripted: Any, request_of: Request, body: Any) -> None:
    """A JSON value is sent as UTF-8 JSON, null and false too, on DELETE too."""
    (arrived,) = deliver(scripted, request_of.with_body(body))
    assert arrived.json == body
    assert arrived.all("Content-Type") == ["application/json"]


def test_a_long_document_arrives(scripted: Any) -> None:
    """Two megabytes of ordinary JSON are not trouble."""
    body = {"text": "a" * 2_000_000}
    (arrived,) = deliver(scripted, CREATE.with_body(body))
    assert arrived.json == body


def test_another_method_is_sent_as_it_is(scripted: Any) -> None:
    """A check may ask with a method that the operation does not have."""
    for method in ("PUT", "OPTIONS", "PROPFIND"):
        (arrived,) = deliver(scripted, replace(IDENTITY, method=method))
        assert arrived.method == method


KEY = "k-1"


@pytest.mark.parametrize(
    ("idempotency", "key", "where"),
    [
        (Idempotency("header", name="Idempotency-Key"), KEY, {"header": [KEY]}),
        (Idempotency("header", name="Idempotency-Key"), "", {"header": [""]}),
        (Idempotency("header", name="Idempotency-Key"), '"k"', {"header": ['"k"']}),
        (Idempotency("header", name="Idempotency-Key"), None, {"header": []}),
        (Idempotency("query", name="idem"), KEY, {"target": f"?idem={KEY}"}),
        (Idempotency("query", name="idem"), "a b&c", {"target": "?idem=a%20b%26c"}),
        (Idempotency("query", name="idem"), None, {"target": "endpoints"}),
        (Idempotency("body", pointer="/key"), KEY, {"body": {"url": "u", "key": KEY}}),
        (Idempotency("body", pointer="/meta/inner/key"), KEY, {"body": {"url": "u", "meta": {"inner": {"key": KEY}}}}),
        (Idempotency("body", pointer="/a~1b"), KEY, {"body": {"url": "u", "a/b": KEY}}),
        (Idempotency("body", pointer="/key"), None, {"body": {"url": "u"}}),
    ],
)
def test_the_idempotency_key_is_where_the_profile_says(
    scripted: Any, idempotency: Idempotency, key: str | None, where: dict[str, Any]
) -> None:
    """In a header, the query or the body, encoded as it must be there; without a key it is nowhere."""
    request = replace(CREATE, body={"url": "u"}, idempotency=idempotency, key=key)
    (arrived,) = deliver(scripted, request)
    assert [value.strip() for value in arrived.all("Idempotency-Key")] == where.get("header", [])
    assert arrived.target.endswith(where.get("target", "endpoints"))
    assert arrived.json == where.get("body", {"url": "u"})
    assert request.body == {"url": "u"}


def test_a_key_carried_in_the_body_leaves_other_bodies_alone() -> None:
    """No body, raw bytes and what is not an object have no place for a key: they stay as they are."""
    keyed = replace(CREATE, idempotency=Idempotency("body", pointer="/key"), key=KEY)
    for body in (NO_BODY, RawBody(b"x"), [1], "text", None):
        assert keyed.with_body(body).document is body


def test_a_body_that_lost_the_place_of_its_key_is_sent_as_it_is() -> None:
    """Where a check gives another type to the object that carries the key, that is the defect, and no error."""
    keyed = replace(CREATE, idempotency=Idempotency("body", pointer="/context/key"), key=KEY)
    for body in ({"context": "12345"}, {"context": [1]}, {"context": None}):
        assert keyed.with_body(body).document is body
    assert keyed.with_body({"context": {"a": 1}}).document == {"context": {"a": 1, "key": KEY}}


def test_fresh_keys_have_the_profiles_format() -> None:
    """A key is a new UUID, or matches the pattern; each is another."""
    pattern = Idempotency("header", name="K", format="pattern", pattern=r"k_[a-z0-9]{20}")
    keys = {new_key(pattern) for _ in range(50)}
    assert len(keys) == 50
    assert all(re.fullmatch(pattern.pattern, key) for key in keys)
    assert {uuid.UUID(new_key(Idempotency("header", name="K", format=form))).version for form in ("any", "uuid")} == {4}
    assert CREATE.with_fresh_key() is CREATE


pieces = st.sampled_from(
    [*"abcXYZ019._~=&,:+-!$'()*;@", "%20", "%2f", "%2F", "%2e", "%zz", "%", "%C3%a9", "%00", "%25"]
)
segments = st.lists(st.lists(pieces, min_size=1, max_size=6).map("".join), min_size=1, max_size=4)
pairs = st.lists(st.tuples(st.text("abz09-_", min_size=1, max_size=4), st.text(max_size=5)), max_size=3)


@given(st.lists(st.tuples(segments, pairs), min_size=8, max_size=8))
@settings(max_examples=30)
def test_an_ordinary_request_arrives_as_it_was_written(scripted: Any, drawn: Any) -> None:
    """The target is neither normalized nor encoded again, and no header is changed."""

    async def main() -> None:
        async with scripted() as target, Transport(target.url, timeout_s=5) as transport:
            for path, query in drawn:
                request = replace(
                    SEARCH, operation=replace(SEARCH.operation, path="/" + "/".join(path)), query=tuple(query)
                )
                wire = request.wire("")
                assert (await transport.send(wire)).status == 200
                arrived = target.arrived[-1]
                assert arrived.target == wire.target
                assert set(wire.headers) <= set(arrived.headers)

    asyncio.run(main())


def test_a_request_is_shown_without_its_secrets() -> None:
    """In an error or a log, neither its key nor its body is repeated."""
    shown = repr(replace(CREATE, authorization=("Bearer sk_very_secret",), body={"ticket": "t_secret"}))
    assert "secret" not in shown
    assert CREATE.operation.id in shown


def test_changes_leave_the_original_alone() -> None:
    """Each change gives another request that differs in just that."""
    base = replace(SEARCH, path={"id": "1"})
    assert base.with_query(q="x", new="y").query == (("page", "1"), ("q", "x"), ("new", "y"))
    assert base.without_query("q").query == (("page", "1"),)
    assert base.with_path(id="2").path == {"id": "2"}
    assert base.with_header("A", "b").headers == (("A", "b"),)
    assert base == replace(SEARCH, path={"id": "1"})


def test_without_a_key_no_body_carries_one() -> None:
    """A body of the profile, or one made from a schema, may hold a key of its own: it goes, and the rest stays."""
    idempotency = Idempotency(carrier="body", pointer="/context/key")
    body = {"a": 1, "context": {"key": "from an example", "b": 2}}
    request = replace(CREATE, idempotency=idempotency, body=body)
    assert request.with_key(None).document == {"a": 1, "context": {"b": 2}}
    assert request.with_key("k").document == {"a": 1, "context": {"key": "k", "b": 2}}
    assert replace(request, body={"a": 1}).with_key(None).document == {"a": 1}
