"""Drawn targets: every choice shows in some answer, in the profile or in the schemas, and none is left untested."""

from __future__ import annotations

import itertools
import json
import time
import tomllib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import yaml

from conformance.core.errors import UsageError
from conformance.reference.random_targets.choices import REFERENCE, target_from
from conformance.reference.random_targets.legitimate_values import CHOICES, SUBSETS
from conformance.reference.random_targets.profile_writer import profile_of, schemas_of
from conformance.reference.server import ReferenceServer
from tests.support import observations as look
from tests.support import token_observations as tokens
from tests.support.limit_observations import burst, run_limited
from tests.support.paths import PROFILES
from tests.support.reference_api import CHECKOUT, Api, P, client, fresh, proof

PROFILE = tomllib.loads((PROFILES / "reference.toml").read_text(encoding="utf-8"))
SCHEMAS = yaml.safe_load((PROFILES / "reference.schemas.yaml").read_text(encoding="utf-8"))
QUOTE, CREATE = "quotePublicCart", "createInstallationWebhook"
TOKEN, READ = "exchangeOAuthToken", "quotePublicCartCheckout"
Look = Callable[[Api], Any]
_numbers = itertools.count(1)


@pytest.fixture
def drawn_api(server: ReferenceServer, http: httpx.Client) -> Callable[..., Api]:
    """A target of these choices, registered as the matrix does it."""

    def make(**choices: Any) -> Api:
        name = f"R{next(_numbers)}"
        told = http.put(f"{server.control_url}/targets/{name}", json=choices)
        assert told.status_code == 201, told.text
        return Api(server, name, http)

    return make


def error_code(api: Api, **changes: Any) -> str:
    """The kind of refusal of a request that has every defect at once."""
    bad = {"id": "cart_x", "caller": None, "key": None, "content": b"{", **changes}
    return str(api.send(QUOTE, **bad).json()["error"]["code"])


def authorized(form: str) -> Look:
    def status(api: Api) -> int:
        value = form.replace("{key}", api.server.credentials["full"])
        return api.status("getApiKeyIdentity", caller=None, headers={"Authorization": value})

    return status


def with_key_in_capitals(api: Api) -> int:
    value = f"Bearer {api.server.credentials['full'].upper()}"
    return api.status("getApiKeyIdentity", caller=None, headers={"Authorization": value})


def keyed(place: dict[str, Any]) -> Look:
    """The status with a key in that place alone."""
    return lambda api: api.status(QUOTE, key=None, **place)


def by_header(name: str, key: str = "6b1f7c0e-7d3c-4a52-9b0e-3f5d3c1a2b4d") -> Look:
    return keyed({"headers": {name: key}})


def with_id(api: Api) -> Any:
    return api.make("cart", "quoted")["id"]


def on_id(api: Api) -> int:
    """The id that a fixture shows is found under its own name."""
    shown = with_id(api)
    answer = api.send(READ, id=quote(str(shown), safe=""))
    return answer.status_code if answer.json()["data"]["id"] == shown else 0


def code_statuses(api: Api) -> int:
    return api.status(TOKEN, body=api.grant(code="code_unknown"))


def two_jti(api: Api) -> int:
    same = proof(f"{api.base}{P}/oauth/token")
    return 0 if api.status(TOKEN, dpop=same) != 200 else api.status(TOKEN, dpop=same)


def limited(api: Api) -> dict[str, str]:
    api.http.post(f"{api.control}/rate-limit", json={"limit": 0, "window_s": 60})
    headers = api.send("getApiKeyIdentity").headers
    return {name: value for name, value in headers.items() if name.startswith(("retry-", "ratelimit-"))}


def after_effect(operation: str, first: str, kind: str, state: str) -> Look:
    """The status of one operation after another on the same fixture."""

    def status(api: Api) -> int:
        made = api.make(kind, state)
        body = {"body": {"ticket": made["ticket"]}} if kind == "session" else {}
        assert api.status(first, id=made["id"], **body) == 200
        return api.status(operation, id=made["id"], **body)

    return status


def seconds(api: Api) -> bool:
    """Whether any three requests take 25 ms, and not only while the machine does something else."""

    def three() -> float:
        started = time.monotonic()
        for _ in range(3):
            api.send("getPublicRuntimeConfig")
        return time.monotonic() - started

    return all(three() > 0.025 for _ in range(20))


def raw_json(api: Api) -> str:
    return api.send("getApiKeyIdentity").text


def meta_of(api: Api) -> list[bool]:
    return ["meta" in api.send(name).json() for name in look.LISTS]


def proof_aged(age_s: int) -> Look:
    return lambda api: api.status(TOKEN, dpop=proof(f"{api.base}{P}/oauth/token", iat=int(time.time()) - age_s))


def replayed(api: Api) -> tuple[bool, bool]:
    """Whether a replay has the same members in the same order, and whether it tells the state of today."""
    ready = api.prepare(QUOTE)
    one = api.raw(QUOTE, **ready)
    api.send("revokePublicCart", id=ready["id"])
    two = api.raw(QUOTE, **ready)
    return list(one.json()["data"]) == list(two.json()["data"]), two.json()["data"]["state"] == "revoked"


def key_elsewhere(api: Api) -> tuple[int, int]:
    """A key that was used on a cart: on another cart, and on another operation of its cart."""
    key, cart = fresh(), api.make("cart", "open")["id"]
    assert api.status(QUOTE, id=cart, key=key) == 200
    return api.status(QUOTE, key=key), api.status("revokePublicCart", id=cart, key=key)


def spent(api: Api) -> int:
    made = api.make("session", "open")
    return api.status("consumeHostedCheckoutBrowserTicket", id=made["id"], body={"ticket": "no-such-ticket"})


def twice_at_once(api: Api) -> set[int]:
    return {answer.status_code for answer in api.parallel(CREATE, 4, one_key=True)}


def burnt(api: Api) -> int:
    body = api.grant()
    assert api.status(TOKEN, body={**body, "codeVerifier": "x" * 50}) == 400
    return api.status(TOKEN, body=body)


def nonce_status(api: Api) -> int:
    return api.status(TOKEN)


def header_of(name: str, operation: str = "getPublicRuntimeConfig", **changes: Any) -> Look:
    return lambda api: api.send(operation, **changes).headers.get(name)


WITH_BODY_KEY = {"carrier": "body"}
SHOWN: list[tuple[str, dict[str, Any], Look, Any, Any]] = [
    # the choice, what it needs beside itself, where to look, what the reference shows, what the choice shows
    *(("authorization", {"authorization": form}, authorized(form), 401, 200) for form in CHOICES["authorization"][1:]),
    ("scheme", {"scheme": "optional"}, authorized("{key}"), 401, 200),
    ("any_case_scheme", {"any_case_scheme": False}, authorized("bearer {key}"), 200, 401),
    ("any_case_keys", {"any_case_keys": True}, with_key_in_capitals, 401, 200),
    ("challenge", {"challenge": False}, header_of("www-authenticate", "getApiKeyIdentity", caller=None),
     'Bearer realm="shop"', None),
    ("public_strict", {"public_strict": True},
     look.status("getPublicRuntimeConfig", headers={"Authorization": "nonsense"}), 200, 401),
    ("unseen", {"unseen": "foreign"}, look.foreign(READ, "cart"), 404, 403),
    ("stages", {"stages": ["read_key", "read_body", "authenticate", "authorize", "limit"]}, error_code,
     "no_credential", "missing_key"),
    ("stages", {"stages": ["read_body", "read_key", "authenticate", "authorize", "limit"]}, error_code,
     "no_credential", "malformed"),
    ("stages", {"stages": ["locate", "authenticate", "authorize", "limit", "read_key", "read_body"]}, error_code,
     "no_credential", "not_found"),
    ("carrier", {"carrier": "query", "key_name": "key"}, keyed({"query": {"key": fresh()}}), 400, 200),
    *(("key_pointer", {**WITH_BODY_KEY, "key_pointer": where}, keyed({"body": body}), 400, 200)
      for where, body in (("/idempotencyKey", {"idempotencyKey": fresh()}),
                          ("/context/key", {"context": {"key": fresh()}}),
                          ("/call/idempotency/key~1id", {"call": {"idempotency": {"key/id": fresh()}}}),
                          ("/_key", {"_key": fresh()}))),
    *(("key_name", {"key_name": name}, by_header(name), 400, 200) for name in CHOICES["key_name"][1:]),
    *(("key_format", {"key_format": form}, by_header("Idempotency-Key", key), 400, 200)
      for form, key in (("any", "short key"), ("[a-z0-9]{16,64}", "a1" * 8), ("[A-Z]{3}-[0-9]{12}", "ABC-123456789012"),
                        ("idem_[0-9a-f]{24}", "idem_" + "0a" * 12), ("[0-9]{18,20}", "1" * 19))),
    ("missing_key", {"missing_key": "accepted"}, look.status(QUOTE, key=None), 400, 200),
    ("fingerprint", {"fingerprint": "bytes"},
     lambda api: api.twice(QUOTE, {"content": b'{ "reason" : "a" }'}, body={"reason": "a"})[1].status_code, 200, 409),
    *(("namespace", {"namespace": name}, key_elsewhere, (200, 200), shown) for name, shown in
      zip(("operation", "credential", "installation", "global"), [(409, 200)] * 2 + [(409, 409)] * 2, strict=True)),
    ("namespace", {"namespace": "caller"}, look.key_again(caller="webhooks-write"), 409, 200),
    ("key_case", {"key_case": "insensitive"}, look.key_again(capitals=True), 200, 409),
    ("key_written", {"key_written": "key={key}"}, by_header("Idempotency-Key", f"key={fresh()}"), 400, 200),
    ("key_written", {"key_written": '"{key}"'}, by_header("Idempotency-Key", f'"{fresh()}"'), 400, 200),
    ("remembers", {"remembers": "refusals"},
     lambda api: api.twice("checkoutPublicCart", {"body": CHECKOUT}, body={})[1].status_code, 200, 409),
    ("replay", {"replay": "rewritten"}, replayed, (True, False), (False, False)),
    ("replay", {"replay": "latest"}, replayed, (True, False), (True, True)),
    *(("work_ms", {"work_ms": ms, "on_flight": "conflict"}, twice_at_once, {200}, {200, 409})
      for ms in CHOICES["work_ms"] if ms > 5),
    *(("style", {"style": style}, lambda api, name=name: name in tokens.members(api), False, True)
      for style, name in (("snake", "key_id"), ("kebab", "key-id"), ("pascal", "KeyId"), ("dotted", "key.id"),
                          ("slashed", "key/id"))),
    ("vocabulary", {"vocabulary": "other"}, lambda api: "ref" in api.make("cart", "open"), False, True),
    ("vocabulary", {"vocabulary": "opaque"}, lambda api: "keyId" in tokens.members(api), True, False),
    *(("error", {"error": shape}, lambda api: set(api.send("getApiKeyIdentity", caller=None).json()),
       {"error", "requestId"}, names)
      for shape, names in (("flat", {"status", "code", "message", "servedAt"}), ("terse", {"error"}),
                           ("problem", {"type", "title", "status", "instance"}), ("listed", {"errors", "context"}))),
    ("meta", {"meta": "search"}, meta_of, [True, True, True], [True, False, False]),
    ("meta", {"meta": "none"}, meta_of, [True, True, True], [False, False, False]),
    ("extra_members", {"extra_members": True}, look.has("getApiKeyIdentity", "links"), False, True),
    *(("fresh_header", {"fresh_header": name},
       lambda api, name=name: (name or "X-Request-Id") in api.send("getApiKeyIdentity").headers, not name, bool(name))
      for name in CHOICES["fresh_header"][1:]),
    *(("media_type", {"media_type": kind}, look.media("getApiKeyIdentity"), "application/json", kind)
      for kind in CHOICES["media_type"][1:]),
    ("json_text", {"json_text": "pretty"}, lambda api: "\n" in raw_json(api), False, True),
    ("json_text", {"json_text": "escaped"},
     lambda api: "\\/" in api.send(CREATE, body={"url": "https://a.example/b", "events": ["x"]}).text,
     False, True),
    ("other_methods", {"other_methods": True},
     lambda api: api.http.options(f"{api.base}{P}/search").status_code, 404, 204),
    *(("id_look", {"id_look": name}, on_id, 200, 200) for name in CHOICES["id_look"][1:]),
    *(("id_start", {"id_look": "number", "id_start": start},
       lambda api, start=start: with_id(api) == start, False, True) for start in CHOICES["id_start"]),
    ("id_grammar", {"id_grammar": True}, look.status(READ, id="x"), 404, 400),
    ("id_status", {"id_grammar": True, "id_status": 404}, look.status(READ, id="x"), 404, 404),
    ("unknown_members", {"unknown_members": "refused"}, look.status(QUOTE, body={"actor": {"other": 1}}), 200, 400),
    ("json_edges", {"json_edges": "lenient"}, look.status(QUOTE, content=b'\xef\xbb\xbf{"a":1e400}'), 400, 200),
    ("untyped_body", {"untyped_body": "refused"}, look.status(QUOTE, media=None), 200, 400),
    ("body_types", {"body_types": "json"}, look.status(QUOTE, media="application/x+json"), 200, 400),
    ("max_bytes", {"max_bytes": 100_000}, look.status(QUOTE, content=b"{}" + b" " * 100_000), 200, 400),
    *(("max_depth", {"max_depth": depth}, look.status(QUOTE, content=b'{"x":' + b"[" * levels + b"]" * levels + b"}"),
       one, two) for depth, levels, one, two in ((20, 30, 200, 400), (101, 90, 400, 200))),
    ("unknown_members", {"unknown_members": "kept"},
     lambda api: "colour" in api.send(CREATE, body={"url": "https://a.example", "events": ["x"], "colour": 1}).text,
     False, True),
    ("page_base", {"page_base": 0}, look.searched(page="0"), 400, 200),
    *(("scopes_form", {"scopes_form": form}, look.scopes_type, "list of str", shown)
      for form, shown in (("objects", "list of dict"), ("text", "str"), ("flags", "list of dict"),
                          ("members", "dict"))),
    ("page_size_min", {"page_size_min": 5}, look.searched(pageSize="4"), 200, 400),
    ("page_size_max", {"page_size_max": 10}, look.searched(pageSize="11"), 200, 400),
    ("page_size_max", {"page_size_max": 200}, look.searched(pageSize="51"), 400, 200),
    *(("empty_q", {"empty_q": empty_q}, look.searched(q=""), 400, 200) for empty_q in ("everything", "nothing")),
    *(("q_max", {"q_max": q_max}, look.searched(q="a" * (q_max + 1)), 200, 400) for q_max in (100, 31)),
    *((f"unknown_{name}", {f"unknown_{name}": word}, look.searched_items(**{name: "unknown"}), (200, 0), found)
      for name in ("category", "merchant")
      for word, found in (("refused", (400, None)), ("not_found", (404, None)), ("ignored", (200, 3)))),
    ("unlisted", {"unlisted": "ignored"}, look.searched(market="unknown"), 400, 200),
    *(("past_the_end", {"past_the_end": word}, look.searched(page="1000"), 200, status)
      for word, status in (("refused", 400), ("not_found", 404))),
    *(("cursor", {"cursor": name}, look.cursor_of(place), None, cursor)
      for name, place, cursor in (("meta", "meta.next", str), ("beside", "paging.after", str),
                                  ("number", "meta.next", int), ("bound", "paging.after", str))),
    ("page_size_out", {"page_size_out": "clamped"}, look.searched(pageSize="9999"), 400, 200),
    ("limiter", {"limiter": "steady"}, burst, False, True),
    ("limiter", {"limiter": "never"}, lambda api: bool(limited(api)), True, False),
    *(("chance_429", {"chance_429": every}, lambda api, every=every: [api.status("getApiKeyIdentity")
                                                                     for _ in range(every)].count(429), 0, 1)
      for every in CHOICES["chance_429"][1:]),
    *(("limit_per", {"limit_per": per}, look.beside_a_limited_one(), 200, 429)
      for per in ("installation", "operation")),
    ("limit_per", {"limit_per": "address"}, look.beside_a_limited_one("getPublicRuntimeConfig", ""), 200, 429),
    *(("run_limit", {"run_limit": True, "limit_per": per}, run_limited, False, True)
      for per in ("key", "operation")),
    ("retry_after", {"retry_after": "date"}, lambda api: limited(api)["retry-after"].endswith("GMT"), False, True),
    ("retry_after", {"retry_after": "fields"}, lambda api: "ratelimit-remaining" in limited(api), False, True),
    ("retry_after", {"retry_after": "none"}, lambda api: bool(limited(api)), True, False),
    ("nonce", {"nonce": True}, nonce_status, 200, 401),
    ("nonce_status", {"nonce": True, "nonce_status": 400}, nonce_status, 200, 400),
    ("proof_reuse", {"proof_reuse": "accepted"}, two_jti, 401, 200),
    ("proof_reuse", {"proof_reuse": "refused"}, tokens.retried_proof, 200, 401),
    ("failure_burns", {"failure_burns": True}, burnt, 200, 400),
    ("clock_s", {"clock_s": 5}, proof_aged(30), 200, 401),
    ("clock_s", {"clock_s": 300}, proof_aged(200), 401, 200),
    *(("clock_ahead_s", {"clock_ahead_s": ahead_s}, proof_aged(age_s), one, other)
      for ahead_s, age_s, one, other in ((3, -15, 200, 401), (300, -200, 401, 200))),
    ("code_lifetime_s", {"code_lifetime_s": 60}, tokens.code_aged(100), 200, 400),
    ("token_lifetime_s", {"token_lifetime_s": 900}, tokens.expires_in, 3600, 900),
    ("client_status", {"client_status": 401}, tokens.token(clientId="nobody"), 400, 401),
    ("missing_proof_status", {"missing_proof_status": 400}, look.status(TOKEN, dpop=None), 401, 400),
    ("grant_status", {"grant_status": 401}, code_statuses, 400, 401),
    ("proof_status", {"proof_status": 400}, look.status(TOKEN, dpop="none"), 401, 400),
    ("token_type", {"token_type": "dpop"}, lambda api: api.send(TOKEN).json()["data"]["tokenType"], "DPoP", "dpop"),
    *(("counters", {"counters": form}, look.effects_of(TOKEN), '{"count":0}', text)
      for form, text in (("absent", "{}"), ("not_found", '{"error":"no such counter"}'), ("log", '{"events":[]}'))),
    ("algorithms", {"algorithms": ["Ed25519"]}, look.status(TOKEN), 200, 401),
    *(("ticket_status", {"ticket_status": status}, spent, 404, status) for status in CHOICES["ticket_status"][1:]),
    ("chunked", {"chunked": True}, header_of("transfer-encoding"), None, "chunked"),
    ("gzip", {"gzip": True}, header_of("content-encoding"), None, "gzip"),
    ("close", {"close": True}, header_of("connection"), None, "close"),
    ("latency_ms", {"latency_ms": 30}, seconds, False, True),
    ("latency_every", {"latency_ms": 30, "latency_every": 3}, seconds, False, True),
    ("gone", {"not_found_states": ["cart.checked_out"]},
     after_effect(QUOTE, "checkoutPublicCart", "cart", "quoted"), 409, 404),
    ("gone", {"not_found_states": ["cart.revoked"]}, after_effect(QUOTE, "revokePublicCart", "cart", "open"), 409, 404),
    *(("gone", {"not_found_states": [f"session.{state}"]}, after_effect(one, two, "session", "open"), 409, 404)
      for state, one, two in (("consumed", "cancelHostedCheckoutBrowser", "consumeHostedCheckoutBrowserTicket"),
                              ("cancelled", "consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser"))),
    ("gone", {"not_found_states": ["order.requested"]},
     after_effect(*["requestStorefrontOrderAfterSales"] * 2, "order", "eligible"), 409, 404),
    ("lenient", {"lenient": ["checkoutPublicCart.open"]},
     lambda api: api.status("checkoutPublicCart", id=api.make("cart", "open")["id"]), 409, 200),
    ("lenient", {"lenient": ["removePublicCartPromotion.unpromoted"]},
     after_effect(*["removePublicCartPromotion"] * 2, "cart", "promoted"), 404, 200),
    *(("lenient", {"lenient": [f"{operation}.{state}"]}, after_effect(operation, operation, kind, first), 409, 200)
      for operation, state, kind, first in (
          ("revokePublicCart", "revoked", "cart", "open"),
          ("requestStorefrontOrderAfterSales", "requested", "order", "eligible"),
          ("consumeHostedCheckoutBrowserTicket", "consumed", "session", "open"),
          ("cancelHostedCheckoutBrowser", "cancelled", "session", "open"))),
    ("lenient", {"lenient": ["cancelHostedCheckoutBrowser.consumed"]},
     after_effect("cancelHostedCheckoutBrowser", "consumeHostedCheckoutBrowserTicket", "session", "open"), 409, 200),
]  # fmt: skip


@pytest.mark.parametrize(
    "choices, looks, base, other",
    [pytest.param(*row[1:], id=f"{index}-{json.dumps(row[1])}") for index, row in enumerate(SHOWN)],
)
def test_a_choice_shows_in_an_answer(
    drawn_api: Callable[..., Api], choices: dict[str, Any], looks: Look, base: Any, other: Any
) -> None:
    assert looks(drawn_api()) == base
    assert looks(drawn_api(**choices)) == other


TOLD: list[tuple[str, dict[str, Any]]] = [
    ("key_in_schema", {**WITH_BODY_KEY, "key_in_schema": True}),
    ("closed_schemas", {"unknown_members": "refused", "closed_schemas": True}),
    *((name, {name: value}) for name, value in (("counters", "count"), ("signs", "first"), ("signs", "last"))),
    *(("omitted_facts", {"silence": "silent", "omitted_facts": [fact]}) for fact in SUBSETS["omitted_facts"]),
    *(("omitted_schemas", {"omitted_schemas": [name]}) for name in SUBSETS["omitted_schemas"]),
]


@pytest.mark.parametrize("choices", [choices for _, choices in TOLD], ids=json.dumps)
def test_a_choice_shows_in_the_profile_or_the_schemas(choices: dict[str, Any]) -> None:
    without = {name: value for name, value in choices.items() if name in ("carrier", "unknown_members", "silence")}
    one, two = target_from(without), target_from(choices)
    assert (profile_of(one, PROFILE), schemas_of(one, SCHEMAS)) != (profile_of(two, PROFILE), schemas_of(two, SCHEMAS))


def test_every_value_of_every_choice_is_shown_here() -> None:
    shown = {(name, str(value)) for _, given, *_ in [*SHOWN, *TOLD] for name, value in given.items()}
    choices = {name: values for name, values in CHOICES.items() if name not in ("silence", "facts")}  # of the profile
    wanted = {(name, str(value)) for name, values in choices.items() for value in values if value != values[0]}
    # other lengths of the same wait; and a body carries the key wherever its pointer says
    assert wanted - shown <= {("work_ms", "5"), ("latency_ms", "10"), ("latency_every", "7"), ("carrier", "body")}
    assert all((name, str([one])) in shown for name, values in SUBSETS.items() for one in values)


@pytest.mark.parametrize(
    "choices",
    [
        {"carrier": "smoke"},
        {"colour": "red"},
        {"nonce": 1},
        {"stages": ["limit"]},
        {"algorithms": []},
        {"not_found_states": ["x"]},
        7,
    ],
    ids=json.dumps,
)
def test_what_is_no_choice_is_refused(server: ReferenceServer, choices: Any) -> None:
    with pytest.raises(UsageError):
        target_from(choices)
    with client() as http:
        assert http.put(f"{server.control_url}/targets/R{next(_numbers)}", json=choices).status_code == 400


def test_a_name_is_given_once(server: ReferenceServer, http: httpx.Client) -> None:
    url = f"{server.control_url}/targets/R{next(_numbers)}"
    assert [http.put(url, json={}).status_code for _ in range(2)] == [201, 400]
    assert http.put(f"{server.control_url}/targets/F001", json={}).status_code == 400
    assert REFERENCE.differences() == {}
