"""Whatever comes in: declared statuses, strict JSON, bounded time, no stack traces."""

from __future__ import annotations

import json
import os
import random
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.paths import SHARED
from tests.support.reference_api import OPERATIONS, WRITES, Api, P, client, fresh, proof

DECLARED = {200, 400, 401, 403, 404, 409, 429}


def corpus() -> list[Path]:
    """The JSON parsing corpus beside the repository."""
    return sorted((SHARED / "json-parsing" / "test_parsing").glob("*"))


def judge(answer: httpx.Response, about: object) -> None:
    assert answer.status_code in DECLARED, (about, answer.status_code, answer.text[:200])
    assert answer.headers["content-type"] == "application/json"
    value = json.loads(answer.content.decode(), parse_constant=lambda text: pytest.fail(f"{about}: {text}"))
    assert ("data" in value) == (answer.status_code == 200)
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("operation", WRITES)
def test_every_file_of_the_parsing_corpus_gets_a_declared_answer(api: Api, operation: str) -> None:
    files = corpus()
    if not files:
        assert not os.environ.get("CI"), "the corpus shared/json-parsing is required in CI"
        pytest.skip("no folder shared/json-parsing beside the repository")
    ready = api.prepare(operation)
    for file in files:
        answer = api.raw(operation, **{**ready, "content": file.read_bytes() or b" ", "key": fresh(), "body": None})
        judge(answer, file.name)
        if file.name.startswith("n_"):
            assert answer.status_code in (400, 401), file.name


HOSTILE = {
    "doubled members": b'{"reason":"a","reason":"b"}',
    "deep arrays": b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "nested to the bound of the decoder": b'{"a":' + b"[" * 900 + b"]" * 900 + b"}",
    "wide arrays": b'{"a":[' + b"0," * 10_000 + b"0]}",
    "1e400": b'{"a":1e400,"priority":1}',
    "-1e400": b'{"priority":-1e400}',
    "40 digits": b'{"priority":' + b"9" * 40 + b"}",
    "unknown 40 digits": b'{"a":' + b"9" * 40 + b"}",
    "10,000 digits": b'{"a":' + b"9" * 10_000 + b"}",
    "NUL": b'{"reason":"\\u0000"}',
    "raw NUL": b'{"reason":"\x00"}',
    "lone surrogate": b'{"reason":"\\ud800"}',
    "reversed surrogates": b'{"reason":"\\udc00\\ud800"}',
    "a name that is a surrogate": b'{"\\ud800":1}',
    "a surrogate pair": b'{"reason":"\\ud83d\\ude00"}',
    "invalid UTF-8": b'{"reason":"\xff\xfe"}',
    "overlong UTF-8": b'{"reason":"\xc0\xaf"}',
    "BOM": b'\xef\xbb\xbf{"reason":"a"}',
    "UTF-16": '{"reason":"a"}'.encode("utf-16"),
    "1 MiB of text": b'{"reason":"' + b"a" * (1 << 20) + b'"}',
    "1 MiB of unknown text": b'{"other":"' + b"a" * (1 << 20) + b'"}',
    "5 MiB of text": b'{"reason":"' + b"a" * (5 << 20) + b'"}',
    "a name of 1 MiB": b'{"' + b"a" * (1 << 20) + b'":1}',
    "prototype": b'{"__proto__":{"x":1},"constructor":{"prototype":{}}}',
    "bidirectional text": '{"reason":"\u202e\u2066\u200b"}'.encode(),
    "true is a number": b'{"priority":true}',
    "a float for an integer": b'{"priority":1.0}',
    "minus zero": b'{"priority":-0}',
    "a huge exponent": b'{"priority":1E+2}',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_bodies(api: Api, kind: str) -> None:
    started = time.monotonic()
    for operation in ("quotePublicCart", "createInstallationWebhook", "exchangeOAuthToken"):
        judge(api.send(operation, content=HOSTILE[kind]), (operation, kind))
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("operation", [name for name, known in OPERATIONS.items() if known.fixture])
def test_hostile_ids(api: Api, operation: str) -> None:
    ready = api.prepare(operation)
    for sent in (
        "%2f",
        "..%2f..",
        "%2e%2e%2f",
        "a" * 5000,
        "%",
        "%zz",
        "%c0%af",
        "%00",
        "%ed%a0%80",
        "*",
        "%0d%0a",
        ";",
        "//",
        "'--",
    ):
        judge(api.raw(operation, **{**ready, "id": sent}), sent)


def raw(api: Api, data: bytes) -> bytes:
    """What comes back for these bytes, until the other side closes."""
    parts = urlsplit(api.server.base_url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as connection:
        connection.sendall(data)
        received = b""
        while True:
            try:
                block = connection.recv(65536)
            except ConnectionResetError:
                return received
            if not block:
                return received
            received += block


CLOSE = b"Connection: close\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"POST /api/v1/oauth/token HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/v1/oauth/token HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: nonsense\r\n\r\n",
        b"GET /" + b"a" * 600_000 + b" HTTP/1.1\r\n" + CLOSE + b"\r\n",
        b"GET /api/v1/search?q=%ff&page=%00 HTTP/1.1\r\n" + CLOSE + b"\r\n",
        b"GET /api/v1/search?" + b"a=b&" * 5000 + b" HTTP/1.1\r\n" + CLOSE + b"\r\n",
        b"GET /api/v1/../v1/runtime-config HTTP/1.1\r\n" + CLOSE + b"\r\n",
        b"GET //api/v1/runtime-config HTTP/1.1\r\n" + CLOSE + b"\r\n",
        b"GET /F999/api/v1/runtime-config HTTP/1.1\r\n" + CLOSE + b"\r\n",
        b"GET /reference~" + b"x" * 500 + b"/api/v1/runtime-config HTTP/1.1\r\n" + CLOSE + b"\r\n",
        b"GET /api/v1/open/identity HTTP/1.1\r\nAuthorization: Bearer \xff\xfe\r\n" + CLOSE + b"\r\n",
        b"GET /api/v1/open/identity HTTP/1.1\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n"
        + CLOSE
        + b"\r\n",
        b"BREW /api/v1/search HTTP/1.1\r\n" + CLOSE + b"\r\n",
    ],
    ids=lambda data: data[:40].decode("latin-1").strip(),
)
def test_what_no_client_sends(api: Api, data: bytes) -> None:
    head, _, body = raw(api, data).partition(b"\r\n\r\n")
    assert int(head.split(b" ")[1]) in {400, 401, 404}
    assert b"content-type: application/json" in head.lower()
    assert json.loads(body).keys() == {"error", "requestId"}


def test_a_request_that_is_cut_short_harms_nobody(api: Api) -> None:
    parts = urlsplit(api.server.base_url)
    for cut in (b"POST /api/v1/oau", b"POST /api/v1/oauth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"):
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as connection:
            connection.sendall(cut)
    assert api.status("getPublicRuntimeConfig") == 200


JWKS: list[object] = [
    {},
    [],
    7,
    {"kty": "RSA", "n": "AQ", "e": "AQ"},
    {"kty": "EC", "crv": "P-256", "x": "a" * 9999},
    {"kty": ["EC"]},
    {"kty": "oct", "k": "YQ"},
    {"kty": "OKP", "crv": "Ed25519", "x": "\u00e4"},
]


@pytest.mark.parametrize("jwk", JWKS, ids=lambda jwk: str(jwk)[:30])
def test_hostile_keys_in_proofs(api: Api, jwk: object) -> None:
    judge(api.send("exchangeOAuthToken", dpop=proof(f"{api.base}{P}/oauth/token", header={"jwk": jwk})), jwk)


CLAIMS: list[dict[str, object]] = [
    {"iat": True},
    {"iat": 10**400},
    {"iat": []},
    {"htu": "http://["},
    {"htu": "\ud800"},
    {"htm": {}},
    {"jti": "\u0000"},
    {"jti": "x" * 6000},
    {"htu": "http://x:99999/"},
]


@pytest.mark.parametrize("claims", CLAIMS, ids=lambda claims: ascii(claims)[:30])
def test_hostile_claims_in_proofs(api: Api, claims: dict[str, object]) -> None:
    judge(api.send("exchangeOAuthToken", dpop=proof(f"{api.base}{P}/oauth/token", **claims)), claims)


@pytest.mark.parametrize("target", ["reference", "D04"])
def test_fifty_clients_at_once_see_only_declared_answers(api_of: Callable[[str], Api], target: str) -> None:
    shared = api_of(target)
    cart, endpoint = shared.make("cart", "promoted")["id"], shared.make("webhook", "active")["id"]
    keys = [fresh() for _ in range(20)]

    def requests(number: int) -> int:
        choose, sent = random.Random(number), 0
        with client() as http:
            own = Api(shared.server, shared.target, http)
            while sent < 10:
                operation = choose.choice(sorted(OPERATIONS))
                changes: dict[str, object] = {"key": choose.choice(keys)}
                if "/carts/" in OPERATIONS[operation].path:
                    changes["id"] = cart
                if "/endpoints/" in OPERATIONS[operation].path:
                    changes["id"] = endpoint
                judge(own.send(operation, **changes), operation)
                sent += 1
        return sent

    with ThreadPoolExecutor(50) as pool:
        assert sum(pool.map(requests, range(50))) == 500
