"""The control app, the webhook deliveries, the profile's schemas, and the house rules of the reference."""

from __future__ import annotations

import ast
import hashlib
import hmac
import json
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

import conformance.reference
from conformance.reference import schemas
from conformance.reference.command import environment_name
from conformance.reference.fixtures import MAKERS
from conformance.reference.keys import CALLERS
from conformance.reference.server import ReferenceServer
from tests.support.paths import PROFILES
from tests.support.reference_api import OPERATIONS, Api

PROFILE = tomllib.loads((PROFILES / "reference.toml").read_text(encoding="utf-8"))
SCHEMAS = yaml.safe_load((PROFILES / "reference.schemas.yaml").read_text(encoding="utf-8"))
REQUESTS = {
    "createInstallationWebhook": "PublicWebhookCreateRequest",
    "updateInstallationWebhook": "PublicWebhookUpdateRequest",
    "requestStorefrontOrderAfterSales": "StorefrontAfterSalesRequest",
    "removePublicCartPromotion": "PublicCartTransitionRequest",
    "checkoutPublicCart": "PublicCartCheckoutRequest",
    "quotePublicCart": "PublicCartTransitionRequest",
    "revokePublicCart": "PublicCartTransitionRequest",
    "exchangeOAuthToken": "OAuthTokenRequest",
    "consumeHostedCheckoutBrowserTicket": "HostedBrowserTicketConsumeRequest",
    "cancelHostedCheckoutBrowser": "HostedBrowserCancelRequest",
}
RESPONSES = {
    "getApiKeyIdentity": "ApiKeyIdentityResponse",
    "getInstallationCredentialReadiness": "InstallationCredentialReadinessResponse",
    "getStorefrontOrderAfterSalesEligibility": "StorefrontAfterSalesEligibilityResponse",
    "getStorefrontOrderCancellationEligibility": "StorefrontOrderEligibilityResponse",
    "requestStorefrontOrderAfterSales": "StorefrontAfterSalesResponse",
    "quotePublicCartCheckout": "PublicCartCheckoutQuoteResponse",
    "removePublicCartPromotion": "PublicCartPromotionStateResponse",
    "checkoutPublicCart": "PublicCartCheckoutResponse",
    "quotePublicCart": "PublicCartQuoteResponse",
    "revokePublicCart": "PublicCartResponse",
    "searchPublicProducts": "PublicProductSearchResponse",
    "listPublicMerchantCategories": "PublicCatalogCategoryListResponse",
    "listPublicMerchantProducts": "PublicCatalogProductListResponse",
    "exchangeOAuthToken": "OAuthTokenResponse",
    "consumeHostedCheckoutBrowserTicket": "HostedCheckoutBrowserProjectionResponse",
    "cancelHostedCheckoutBrowser": "HostedCheckoutBrowserProjectionResponse",
}


def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**SCHEMAS, "$ref": f"#/components/schemas/{name}"})


@pytest.mark.parametrize("operation", OPERATIONS)
def test_answers_fit_the_published_schemas(api: Api, operation: str) -> None:
    answer = api.send(operation).json()
    assert [
        error.message for error in validator(RESPONSES.get(operation, "OperationResponse")).iter_errors(answer)
    ] == []


def test_refusals_fit_the_published_schemas(api_of: Callable[[str], Api]) -> None:
    for target, name in (("reference", "PublicErrorResponse"), ("D17", "ProblemResponse")):
        api = api_of(target)
        for answer in (api.send("getApiKeyIdentity", caller=None), api.send("quotePublicCart", body={"reason": 1})):
            assert validator(name).is_valid(answer.json())


@pytest.mark.parametrize("operation", REQUESTS)
def test_the_published_request_schemas_are_the_ones_in_force(operation: str) -> None:
    published = SCHEMAS["components"]["schemas"][REQUESTS[operation]]
    assert published == json.loads(json.dumps(schemas.REQUESTS[operation]))


@pytest.mark.parametrize("operation", REQUESTS)
def test_the_bodies_of_the_profile_are_valid_and_differ(operation: str) -> None:
    facts = PROFILE["operations"][operation]
    samples = [json.dumps(body).replace("{pkce.verifier}", "v" * 43) for body in (facts["body"], *facts["bodies"])]
    assert len(set(samples)) == len(samples)
    for sample in samples:
        assert validator(REQUESTS[operation]).is_valid(json.loads(sample))


def test_the_profile_names_every_credential_and_fixture() -> None:
    secrets = {name: facts["secret"]["env"] for name, facts in PROFILE["credentials"].items()}
    assert secrets == {name: environment_name(name) for name in CALLERS}
    for name, caller in CALLERS.items():
        facts = PROFILE["credentials"][name]
        assert (set(facts["scopes"]), facts["installation"]) == (caller.scopes, caller.installation)
        assert facts.get("status", "active") == ("active" if caller.active else "revoked")
    assert {kind: set(states) for kind, states in PROFILE["fixtures"].items()} == {k: set(v) for k, v in MAKERS.items()}


TRANSITIONS = [one for one in PROFILE["transitions"] if "none" not in one]


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda t: f"{t['operation']} {t['fixture']}")
def test_the_transitions_of_the_profile_conflict(api: Api, transition: dict[str, Any]) -> None:
    made = api.make(*transition["fixture"].split("."))
    own: dict[str, Any] = {"id": made["id"]}
    if "ticket" in made:
        own["body"] = {"ticket": made["ticket"]}
    for operation in transition.get("after", ()):
        assert api.status(operation, **own) == 200
    assert api.status(transition["operation"], **own) == (
        200 if "leads_to" in transition else transition.get("status", 409)
    )


def test_the_control_app_answers_what_it_should(api: Api) -> None:
    get = api.http.get
    assert get(f"{api.control}/health").json()["status"] == "ok"
    assert get(f"{api.control}/credentials").json() == api.server.credentials
    assert get(f"{api.server.control_url}/F024/credentials").json() == api.server.credentials
    assert api.http.post(f"{api.control}/fixtures/cart/nowhere").status_code == 404
    assert api.http.post(f"{api.control}/fixtures/cart/open", content=b"[]").status_code == 400
    assert api.http.post(f"{api.control}/rate-limit", json={"limit": "x"}).status_code == 400


def test_nothing_of_the_control_app_is_public(api: Api) -> None:
    for path in ("/health", "/credentials", "/effects/quotePublicCart", "/rate-limit", "/fixtures/cart/open"):
        assert api.http.get(api.base + path).status_code == 404


def test_targets_share_keys_and_no_state(api_of: Callable[[str], Api]) -> None:
    one, two = api_of("F024"), api_of("F024")
    cart = one.make("cart", "open")["id"]
    assert (one.status("quotePublicCart", id=cart), two.status("quotePublicCart", id=cart)) == (200, 404)


def test_the_rate_limit_can_be_lowered_and_restored(api: Api) -> None:
    api.http.post(f"{api.control}/rate-limit", json={"limit": 2, "window_s": 60})
    answers = [api.send("getApiKeyIdentity", caller="limited") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
    assert 0 < int(answers[3].headers["retry-after"]) <= 60
    assert api.status("getApiKeyIdentity", caller="full") == 200, "each caller has a limit of its own"
    assert api.status("getInstallationCredentialReadiness", caller="limited") == 200, "and each operation"
    api.http.delete(f"{api.control}/rate-limit")
    assert api.status("getApiKeyIdentity", caller="limited") == 200


@contextmanager
def receiver(statuses: list[int]) -> Iterator[tuple[str, list[Any], threading.Event]]:
    """A webhook endpoint on loopback that answers these statuses in turn; `done` is set at the last of them."""
    received: list[Any] = []
    done = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((dict(self.headers), body))
            self.send_response(statuses[len(received) - 1])
            self.end_headers()
            if len(received) == len(statuses):
                done.set()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/hook?x=1", received, done
        http.shutdown()
        thread.join()


def states_of_deliveries(api: Api, settled: str) -> list[tuple[str, int]]:
    """State and attempts of the deliveries, once the newest is in the state `settled`."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        listed = api.send("listInstallationWebhookDeliveries").json()["data"]["deliveries"]
        if listed and listed[0]["state"] == settled:
            return [(item["state"], item["attempts"]) for item in listed]
    raise AssertionError(listed)


def test_an_event_is_delivered_signed_and_tried_again(api: Api) -> None:
    with receiver([500, 200]) as (url, received, done):
        endpoint = api.send("createInstallationWebhook", body={"url": url, "events": ["cart.checked_out"]}).json()[
            "data"
        ]
        cart = api.send("checkoutPublicCart").json()["data"]
        api.send("revokePublicCart")
        assert done.wait(10)
        assert states_of_deliveries(api, "delivered") == [("delivered", 2)]
    headers, body = received[1]
    assert json.loads(body) == {"type": "cart.checked_out", "data": {"cartId": cart["id"], "orderId": cart["orderId"]}}
    signed = f"{headers['Webhook-Timestamp']}.{body.decode()}".encode()
    assert (
        headers["Webhook-Signature"]
        == "v1=" + hmac.new(endpoint["secret"].encode(), signed, hashlib.sha256).hexdigest()
    )
    assert received[0][0]["Webhook-Id"] == headers["Webhook-Id"]


def test_a_dead_endpoint_is_given_up(api: Api) -> None:
    with receiver([500, 500, 500, 500]) as (url, _, done):
        api.send("createInstallationWebhook", body={"url": url, "events": ["after_sales.requested"]})
        api.send("requestStorefrontOrderAfterSales")
        assert done.wait(10)
        assert states_of_deliveries(api, "failed") == [("failed", 4)]


@pytest.mark.parametrize(
    "url", ["https://hooks.example/x", "http://192.0.2.1/x", "http://[x", "http://127.0.0.1.hooks.example/"]
)
def test_nothing_is_ever_sent_beyond_loopback(api: Api, url: str) -> None:
    api.send("createInstallationWebhook", body={"url": url, "events": ["cart.checked_out"]})
    assert api.status("checkoutPublicCart") == 200
    assert states_of_deliveries(api, "skipped") == [("skipped", 0)]


def test_the_reference_imports_nothing_of_the_suite_but_errors() -> None:
    for file in Path(conformance.reference.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert not name.startswith("conformance") or name.startswith(
                    ("conformance.reference", "conformance.core.errors")
                )


def test_a_server_can_be_started_and_stopped_again_and_again() -> None:
    for _ in range(3):
        with ReferenceServer(variant="D17", fault=["F001", "F003"]) as server, Api(server) as api:
            assert api.status("createInstallationWebhook") == 201
            assert "data" not in api.send("getApiKeyIdentity").json()
        server.stop()


SIGNALS_AT_ONCE = """
import os, signal, threading
from conformance.reference.server import stop_on_signal

def send():
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(os.getpid(), number)

for _ in range(40):
    with stop_on_signal() as stop:
        sender = threading.Timer(0.01, send)
        sender.start()
        stop.wait()
        sender.join()
"""


def test_two_signals_at_once_stop_the_service() -> None:
    """The second handler interrupts the first, so that neither takes a lock: the process would wait for itself."""
    subprocess.run([sys.executable, "-c", SIGNALS_AT_ONCE], timeout=30, check=True)
