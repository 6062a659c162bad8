"""Each variant shows its reading, and is otherwise as good a service as the reference."""

from __future__ import annotations

import csv
import gzip
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance.reference import registry
from conformance.reference.variants.reads import LAG_S
from tests.support import observations as look
from tests.support import token_observations as tokens
from tests.support.reference_api import OPERATIONS, QUERY, VERIFIER, Api, P, proof

T = "exchangeOAuthToken"


ASKED = {"D20": {"page": "0"}, "V220": {"pageSize": "5"}, "V221": {"pageSize": "3"}, "V543": {"pageSize": "10"}}
"""By variant: what its search accepts where the reference's query is refused."""


def send_patiently(api: Api, operation: str) -> httpx.Response:
    """Waits out a 429, and answers a nonce challenge, as a client must."""
    query = next((asked for name, asked in ASKED.items() if api.target.startswith(name)), {})
    ready = api.prepare(operation, **({"query": {**QUERY, **query}} if query else {}))
    answer = api.raw(operation, **ready)
    if answer.status_code == 429:
        answer = api.raw(operation, **ready)
    if "dpop-nonce" in answer.headers:
        ready["dpop"] = proof(f"{api.base}{P}/oauth/token", nonce=answer.headers["dpop-nonce"])
        answer = api.raw(operation, **ready)
    return answer


@pytest.mark.parametrize(
    "variant", [name for name in registry.variants() if name not in ("D33", "V315", "V317", "V331", "V654")]
)
def test_every_operation_works_in_every_variant(api_of: Callable[[str], Api], variant: str) -> None:
    api = api_of(variant)
    for operation in OPERATIONS:
        answer = send_patiently(api, operation)
        assert (operation, answer.status_code) == (operation, 200), answer.text
        assert "data" in answer.json()


def keys_on_two_operations(api: Api) -> int:
    key, cart = str(uuid.uuid4()), api.make("cart", "open")["id"]
    assert api.status("quotePublicCart", id=cart, key=key) == 200
    return api.status("revokePublicCart", id=cart, key=key)


def replay_members(api: Api) -> tuple[bool, bool]:
    one, two = api.twice("revokePublicCart")
    return list(one.json()["data"]) == list(two.json()["data"]), one.json()["data"] == two.json()["data"]


def version_at_once(api: Api) -> int:
    """What a read shows right after the write that changed it: a machine that is slower than the lag tries again."""
    for _ in range(20):
        cart = api.make("cart", "open")["id"]
        began = time.monotonic()
        assert api.status("quotePublicCart", id=cart) == 200
        version = int(api.send("quotePublicCartCheckout", id=cart).json()["data"]["version"])
        if time.monotonic() - began < LAG_S:
            return version
    raise AssertionError(f"a write and a read took more than {LAG_S} s in each of 20 trials")


def challenge(api: Api) -> str:
    return str(api.http.get(f"{api.base}{P}/open/identity").headers["www-authenticate"])


def latest_state(api: Api) -> str:
    ready = api.prepare("quotePublicCart")
    api.raw("quotePublicCart", **ready)
    api.send("revokePublicCart", id=ready["id"])
    return str(api.raw("quotePublicCart", **ready).json()["data"]["state"])


def replay_of_invalid(api: Api) -> int:
    ready = api.prepare("checkoutPublicCart")
    api.raw("checkoutPublicCart", **{**ready, "body": {}})
    return api.raw("checkoutPublicCart", **ready).status_code


def statuses_of_duplicates(api: Api) -> set[int]:
    answers = api.parallel("createInstallationWebhook", 6, one_key=True)
    assert api.effects("createInstallationWebhook") == 1
    return {answer.status_code for answer in answers}


def same_value_other_bytes(api: Api) -> int:
    return api.twice("quotePublicCart", {"content": b'{ "reason" : "a" }'}, body={"reason": "a"})[1].status_code


def limited_before_authentication(api: Api) -> int:
    api.http.post(f"{api.control}/rate-limit", json={"limit": 0, "window_s": 60})
    return api.status("getApiKeyIdentity", caller=None)


def limited_or_not(api: Api) -> tuple[int, bool]:
    api.http.post(f"{api.control}/rate-limit", json={"limit": 0, "window_s": 60})
    answer = api.send("getApiKeyIdentity")
    return answer.status_code, "retry-after" in answer.headers


def options_status(api: Api) -> tuple[int, int]:
    url = f"{api.base}{P}/search"
    return api.http.options(url).status_code, api.http.put(url).status_code


def lower_case_scheme(api: Api) -> int:
    headers = {"Authorization": f"bearer {api.server.credentials['full']}"}
    return api.status("getApiKeyIdentity", caller=None, headers=headers)


def key_alone(api: Api) -> int:
    headers = {"Authorization": api.server.credentials["full"]}
    return api.status("getApiKeyIdentity", caller=None, headers=headers)


def after_wrong_verifier(api: Api) -> int:
    body = api.grant()
    assert api.status(T, body={**body, "codeVerifier": "x" * 50}) == 400
    return api.status(T, body=body)


def unauthenticated_unknown(api: Api) -> int:
    return api.status("quotePublicCartCheckout", id="cart_x", caller=None)


def one_in_five(api: Api) -> int:
    return [api.status("getPublicRuntimeConfig") for _ in range(10)].count(429)


SHOWN: dict[str, tuple[Callable[[Api], Any], Any, Any]] = {
    "D02": (unauthenticated_unknown, 401, 404),
    "D05": (same_value_other_bytes, 200, 409),
    "D07": (replay_of_invalid, 200, 409),
    "D09": (keys_on_two_operations, 200, 409),
    "D11": (replay_members, (True, True), (False, True)),
    "D12": (latest_state, "quoted", "revoked"),
    "D13": (limited_before_authentication, 401, 429),
    "D14": (one_in_five, 0, 2),
    "D15": (limited_or_not, (429, True), (200, False)),
    "D16": (limited_or_not, (429, True), (429, False)),
    "D17": (look.media("getApiKeyIdentity", caller=None), "application/json", "application/problem+json"),
    "D18": (look.has("listPublicMerchantProducts", "meta"), True, False),
    "D19": (look.has("getApiKeyIdentity", "links"), False, True),
    "D20": (look.searched(page="0", pageSize="9999"), 400, 200),
    "D21": (look.status("quotePublicCart", body={"actor": {"other": 1}}), 200, 400),
    "D22": (look.status("getPublicRuntimeConfig", headers={"Authorization": "nonsense"}), 200, 401),
    "D24": (look.foreign("quotePublicCartCheckout", "cart"), 404, 403),
    "D25": (look.status("quotePublicCartCheckout", id="x"), 404, 400),
    "D26": (look.status("quotePublicCart", content=b'\xef\xbb\xbf{"a":1e400}'), 400, 200),
    "D27": (options_status, (404, 404), (204, 405)),
    "D28": (look.status(T), 200, 400),
    "D29": (tokens.same_proof, (200, 401), (200, 200)),
    "D30": (after_wrong_verifier, 200, 400),
    "D32": (lower_case_scheme, 200, 401),
    "D34": (look.after("checkoutPublicCart", "checkoutPublicCart", "quoted"), 409, 404),
    "V330": (key_alone, 401, 200),
    "V331": (key_alone, 401, 200),
    "V332": (look.status("quotePublicCart", content=b"{}" + b" " * 65_536), 200, 400),
    "V333": (look.status("quotePublicCart", media="application/x+json"), 200, 400),
    "V334": (look.after("revokePublicCart", "quotePublicCart", "open"), 409, 400),
    "V250": (version_at_once, 2, 1),
    "V251": (version_at_once, 2, 1),
    "V553": (look.after("quotePublicCartCheckout", "checkoutPublicCart", "open"), 409, 200),
    "V252": (challenge, 'Bearer realm="commerce"', 'Commerce-Key realm="commerce-public-interface"'),
    "V220": (look.searched(pageSize="4"), 200, 400),
    "V221": (look.searched(pageSize="4"), 200, 400),
    "V222": (look.scopes_type, "list of str", "list of dict"),
    "V223": (look.scopes_type, "list of str", "str"),
    "V224": (look.scopes_type, "list of str", "list of dict"),
    "V225": (look.identity_has("allowed"), False, True),
    "V227": (look.status("getPublicRuntimeConfig", query={"x": "a" * 3000}), 200, 414),
    "V228": (look.status("getPublicRuntimeConfig", query={"x": "\x00"}), 200, 400),
    "V226": (look.identity_has("available"), False, True),
    "V200": (look.beside_a_limited_one(), 200, 429),
    "V201": (look.beside_a_limited_one(), 200, 429),
    "V202": (look.beside_a_limited_one("getPublicRuntimeConfig", ""), 200, 429),
    "V203": (look.retry_after, True, False),
    "V204": (look.refilled_early, False, True),
    "V205": (look.recovers_while_asked, True, False),
}


@pytest.mark.parametrize("variant", SHOWN)
def test_a_variant_differs_from_the_reference_where_it_says(api_of: Callable[[str], Api], variant: str) -> None:
    looks, base, other = SHOWN[variant]
    assert looks(api_of("reference")) == base
    assert looks(api_of(variant)) == other


@pytest.mark.parametrize("variant", ["D01", "D03", "D06", "D08", "D10", "D23", "D31"])
def test_a_variant_that_the_reference_follows_already(api_of: Callable[[str], Api], variant: str) -> None:
    api = api_of(variant)
    assert unauthenticated_unknown(api) == 401
    assert statuses_of_duplicates(api) == {200}
    assert same_value_other_bytes(api) == 200
    assert keys_on_two_operations(api) == 200
    assert api.send("listPublicMerchantProducts", id="vacant").json()["data"] == []


def test_duplicates_in_flight_conflict_at_once(api_of: Callable[[str], Api]) -> None:
    assert statuses_of_duplicates(api_of("D04")) == {200, 409}


def test_answers_may_travel_in_chunks_zipped_and_with_an_end(api_of: Callable[[str], Api]) -> None:
    api = api_of("D33")
    with api.http.stream("GET", f"{api.base}{P}/runtime-config") as answer:
        zipped = b"".join(answer.iter_raw())
    assert (answer.headers["transfer-encoding"], answer.headers["connection"]) == ("chunked", "close")
    assert gzip.decompress(zipped).startswith(b'{"data":')


def test_the_variants_are_those_of_the_catalogue() -> None:
    with (Path(__file__).parent / "variants.tsv").open(encoding="utf-8") as file:
        rows = [tuple(row) for row in csv.reader(file, delimiter="\t")][1:]
    found = [(v.id, v.title, v.requirement) for v in registry.variants().values() if v.id.startswith("D")]
    assert found == rows
    assert len(VERIFIER) >= 43
