"""The token exchange: PKCE (RFC 7636), DPoP proofs (RFC 9449 section 4.3, conditions 1 to 11), codes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.support.reference_api import CLIENT, KEY, VERIFIER, Api, P, fresh, over_public_key, proof, resigned, s256

TOKEN = "exchangeOAuthToken"


@pytest.fixture
def url(api: Api) -> str:
    return f"{api.base}{P}/oauth/token"


def test_a_token_is_bound_to_the_key_and_must_not_be_cached(api: Api) -> None:
    answer = api.send(TOKEN)
    data = answer.json()["data"]
    assert (answer.headers["cache-control"], data["tokenType"]) == ("no-store", "DPoP")
    assert data["cnf"]["jkt"] == KEY.thumbprint()


DEFECTS: dict[str, Any] = {
    "1 no header": lambda url: None,
    "2 no JWT": lambda url: "abc",
    "2 two dots, no JSON": lambda url: "YQ.YQ.YQ",
    "2 an array": lambda url: "W10.W10.YQ",
    "2 padded": lambda url: proof(url) + "=",
    "3 no jti": lambda url: proof(url, jti=None),
    "3 no htm": lambda url: proof(url, htm=None),
    "3 no htu": lambda url: proof(url, htu=None),
    "3 no iat": lambda url: proof(url, iat=None),
    "3 iat is text": lambda url: proof(url, iat="now"),
    "3 jti is a number": lambda url: proof(url, jti=7),
    "4 typ JWT": lambda url: proof(url, header={"typ": "JWT"}),
    "4 no typ": lambda url: proof(url, header={"typ": None}),
    "5 alg none": lambda url: resigned(url, "none"),
    "5 alg HS256 over the public key": over_public_key,
    "5 alg unknown": lambda url: resigned(url, "XS256"),
    "6 signature of another key": lambda url: proof(
        url, header={"jwk": ECKey.generate_key("P-256").as_dict(private=False)}
    ),
    "6 signature cut": lambda url: proof(url)[:-4],
    "6 signature of other claims": lambda url: ".".join([*proof(url).split(".")[:2], proof(url).split(".")[2]]),
    "6 no jwk": lambda url: proof(url, header={"jwk": None}),
    "6 jwk of another kind": lambda url: proof(
        url, header={"jwk": {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}}
    ),
    "7 private key": lambda url: proof(url, header={"jwk": KEY.as_dict(private=True)}),
    "8 htm GET": lambda url: proof(url, htm="GET"),
    "8 htm post": lambda url: proof(url, htm="post"),
    "9 other path": lambda url: proof(url + "x"),
    "9 prefix": lambda url: proof(url[:-1]),
    "9 other host": lambda url: proof(url.replace("127.0.0.1", "localhost")),
    "9 other scheme": lambda url: proof(url.replace("http:", "https:")),
    "11 an hour old": lambda url: proof(url, iat=int(time.time()) - 3600),
    "11 an hour ahead": lambda url: proof(url, iat=int(time.time()) + 3600),
    "11 iat without end": lambda url: proof(url, iat=1e308),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defective_proof_is_refused_and_does_not_spend_the_code(api: Api, url: str, defect: str) -> None:
    ready = api.prepare(TOKEN)
    assert api.raw(TOKEN, **{**ready, "dpop": DEFECTS[defect](url)}).status_code == 401
    assert api.raw(TOKEN, **ready).status_code == 200


def test_two_proofs_are_refused(api: Api, url: str) -> None:
    ready = api.prepare(TOKEN)
    headers = [("DPoP", proof(url)), ("DPoP", proof(url)), ("Idempotency-Key", fresh())]
    assert api.http.post(url, headers=headers, json=ready["body"]).status_code == 401


@pytest.mark.parametrize("drift", [-50, -10, 10, 25])
def test_a_clock_may_be_off_a_little(api: Api, url: str, drift: int) -> None:
    assert api.status(TOKEN, dpop=proof(url, iat=int(time.time()) + drift)) == 200


def test_htu_is_compared_after_normalisation(api: Api, url: str) -> None:
    assert api.status(TOKEN, dpop=proof(url.replace("http:", "HTTP:") + "?a=b#c")) == 200


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (ECKey.generate_key("P-384"), "ES384"),
        (RSAKey.generate_key(2048), "PS256"),
        (OKPKey.generate_key("Ed25519"), "Ed25519"),
    ],
    ids=["ES384", "PS256", "Ed25519"],
)
def test_other_algorithms_are_accepted(api: Api, url: str, key: Any, algorithm: str) -> None:
    header = {"typ": "dpop+jwt", "alg": algorithm, "jwk": key.as_dict(private=False)}
    claims = json.dumps({"jti": fresh(), "htm": "POST", "htu": url, "iat": int(time.time())})
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    registry.max_header_length = 8192
    answer = api.send(TOKEN, dpop=jws.serialize_compact(header, claims, key, registry=registry))
    assert (answer.status_code, answer.json()["data"]["cnf"]["jkt"]) == (200, key.thumbprint())


def test_a_proof_is_good_for_one_exchange(api: Api, url: str) -> None:
    used = proof(url)
    assert [api.status(TOKEN, dpop=used), api.status(TOKEN, dpop=used)] == [200, 401]


@pytest.mark.parametrize(
    "verifier", [None, "", VERIFIER[:-1], VERIFIER + "a", VERIFIER.swapcase(), s256(VERIFIER), "a" * 129, "ä" * 50, 7]
)
def test_the_verifier_is_enforced(api: Api, verifier: Any) -> None:
    body = {name: value for name, value in api.grant(codeVerifier=verifier).items() if value is not None}
    assert api.status(TOKEN, body=body) == 400
    assert api.status(TOKEN, body={**body, "codeVerifier": VERIFIER}) == 200, "a failure does not spend the code"


def test_only_s256_is_accepted(api: Api) -> None:
    plain = api.code(code_challenge=VERIFIER, code_challenge_method="plain")
    none = api.code(code_challenge="", code_challenge_method="")
    assert [api.status(TOKEN, body=api.grant(code=code)) for code in (plain, none)] == [400, 400]


def test_a_code_is_good_once_even_in_parallel(api: Api, url: str) -> None:
    body = api.grant()
    assert [api.status(TOKEN, body=body), api.status(TOKEN, body=body)] == [200, 400]


@pytest.mark.parametrize(
    "change",
    [{"clientId": "conformance-2"}, {"redirectUri": "https://client.example/other"}, {"code": "code_unknown"}],
    ids=lambda change: next(iter(change)),
)
def test_a_code_is_bound_to_client_and_redirect_uri(api: Api, change: dict[str, str]) -> None:
    assert api.status(TOKEN, body={**api.grant(), **change}) == 400


def test_a_code_may_be_bound_to_a_key(api: Api) -> None:
    bound = api.code(dpop_jkt=KEY.thumbprint())
    other = api.code(dpop_jkt="x" * 43)
    assert [api.status(TOKEN, body=api.grant(code=code)) for code in (bound, other)] == [200, 401]


def test_a_code_needs_a_registered_client(api: Api) -> None:
    options = {**CLIENT, "client_id": "nobody", "code_challenge": "x", "code_challenge_method": "S256"}
    assert api.http.post(f"{api.control}/fixtures/oauth/code", json=options).status_code == 400
