"""A small client of the reference service for its tests: one method a habit, plain httpx, nothing of the suite."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self

import httpx
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jws
from joserfc.jwk import ECKey, OctKey

from conformance.reference.server import ReferenceServer

P = "/api/v1"
CART = f"{P}/open/storefront/carts/{{id}}"
ORDER = f"{P}/open/storefront/orders/{{id}}"
HOSTED = f"{P}/hosted/checkout/{{id}}"
REASON: dict[str, Any] = {"reason": "test", "actor": {"id": "a", "tags": ["x"]}}
CHECKOUT = {"buyer": {"email": "a@client.example"}, "payment": {"method": "card", "installments": 2}}
ITEMS = [{"lineId": "line_1", "quantity": 1}]


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    fixture: tuple[str, str] | None = None
    body: dict[str, Any] | None = None
    access: str = "key"


OPERATIONS = {
    "createInstallationWebhook": Operation(
        "POST", f"{P}/open/webhooks/endpoints", None, {"url": "https://hooks.example/t", "events": ["a.b"]}
    ),
    "updateInstallationWebhook": Operation(
        "PATCH", f"{P}/open/webhooks/endpoints/{{id}}", ("webhook", "active"), {"description": "new"}
    ),
    "listInstallationWebhookDeliveries": Operation("GET", f"{P}/open/webhooks/deliveries"),
    "getApiKeyIdentity": Operation("GET", f"{P}/open/identity"),
    "getInstallationCredentialReadiness": Operation("GET", f"{P}/open/installation/readiness"),
    "getStorefrontOrderAfterSalesEligibility": Operation(
        "GET", f"{ORDER}/after-sales-eligibility", ("order", "eligible")
    ),
    "getStorefrontOrderCancellationEligibility": Operation(
        "GET", f"{ORDER}/cancellation-eligibility", ("order", "eligible")
    ),
    "requestStorefrontOrderAfterSales": Operation(
        "POST", f"{ORDER}/after-sales", ("order", "eligible"), {"reason": "broken", "items": ITEMS}
    ),
    "quotePublicCartCheckout": Operation("GET", f"{CART}/checkout-quote", ("cart", "quoted")),
    "removePublicCartPromotion": Operation("DELETE", f"{CART}/promotion", ("cart", "promoted"), REASON),
    "checkoutPublicCart": Operation("POST", f"{CART}/checkout", ("cart", "quoted"), CHECKOUT),
    "quotePublicCart": Operation("POST", f"{CART}/quote", ("cart", "open"), REASON),
    "revokePublicCart": Operation("POST", f"{CART}/revoke", ("cart", "open"), REASON),
    "searchPublicProducts": Operation("GET", f"{P}/search", access="public"),
    "listPublicMerchantCategories": Operation(
        "GET", f"{P}/catalog/merchants/{{id}}/categories", ("merchant", "stocked"), access="public"
    ),
    "listPublicMerchantProducts": Operation(
        "GET", f"{P}/catalog/merchants/{{id}}/products", ("merchant", "stocked"), access="public"
    ),
    "getPublicRuntimeConfig": Operation("GET", f"{P}/runtime-config", access="public"),
    "exchangeOAuthToken": Operation("POST", f"{P}/oauth/token", None, {}, "dpop"),
    "consumeHostedCheckoutBrowserTicket": Operation("POST", f"{HOSTED}/ticket", ("session", "open"), {}, "public"),
    "cancelHostedCheckoutBrowser": Operation("POST", f"{HOSTED}/cancel", ("session", "open"), {}, "public"),
}
WRITES = tuple(name for name, operation in OPERATIONS.items() if operation.body is not None)
KEYED = tuple(name for name, operation in OPERATIONS.items() if operation.access == "key")
QUERY = {"q": "gift", "locale": "en-US", "market": "US", "sort": "name", "page": "1", "pageSize": "3"}
VERIFIER = "Abcdefghij-klmnopqrst-uvwxyz_0123456789_ABCDEFGHIJ"
CLIENT = {"client_id": "conformance", "redirect_uri": "https://client.example/callback"}
KEY = ECKey.generate_key("P-256")


def client() -> httpx.Client:
    """One that loads no certificates, which would take longer than everything that it is for."""
    return httpx.Client(timeout=30, verify=False)


def fresh() -> str:
    return str(uuid.uuid4())


def s256(text: str) -> str:
    return encoded(hashlib.sha256(text.encode()).digest())


def proof(url: str, *, key: ECKey = KEY, header: dict[str, Any] | None = None, **claims: Any) -> str:
    """A DPoP proof; a claim or header of None is left out."""
    head = {"typ": "dpop+jwt", "alg": "ES256", "jwk": key.as_dict(private=False), **(header or {})}
    body = {"jti": fresh(), "htm": "POST", "htu": url, "iat": int(time.time()), **claims}
    return signed(
        {n: v for n, v in head.items() if v is not None}, {n: v for n, v in body.items() if v is not None}, key
    )


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(header: Any, claims: Any, key: ECKey) -> str:
    """A JWS by ES256 with any header, wrong ones included, which no library would sign."""
    text = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
    private = key.private_key
    assert private is not None
    r, s = decode_dss_signature(private.sign(text.encode(), ECDSA(SHA256())))
    return f"{text}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def resigned(url: str, algorithm: str) -> str:
    head, claims, _ = proof(url).split(".")
    header = {**json.loads(base64.urlsafe_b64decode(head + "==")), "alg": algorithm}
    encoded = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    return f"{encoded}.{claims}."


def over_public_key(url: str) -> str:
    jwk = KEY.as_dict(private=False)
    secret = OctKey.import_key(json.dumps(jwk, separators=(",", ":")))
    claims = json.dumps({"jti": fresh(), "htm": "POST", "htu": url, "iat": int(time.time())})
    registry = jws.JWSRegistry(algorithms=["HS256"], strict_check_header=False)
    return jws.serialize_compact({"typ": "dpop+jwt", "alg": "HS256", "jwk": jwk}, claims, secret, registry=registry)


@dataclass
class Api:
    """The service under one path prefix."""

    server: ReferenceServer
    target: str = ""
    http: httpx.Client = field(default_factory=client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    @property
    def base(self) -> str:
        return self.server.base_url + (f"/{self.target}" if self.target else "")

    @property
    def control(self) -> str:
        return self.server.control_url + (f"/{self.target}" if self.target else "")

    def make(self, kind: str, state: str, **options: Any) -> dict[str, Any]:
        answer = self.http.post(f"{self.control}/fixtures/{kind}/{state}", json=options)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def effects(self, operation: str, **query: str) -> int:
        shown = self.http.get(f"{self.control}/effects/{operation}", params=query).json()
        return len(shown["events"]) if "events" in shown else int(shown.get("count", 0))

    def code(self, **options: str) -> str:
        given = {**CLIENT, "code_challenge": s256(VERIFIER), "code_challenge_method": "S256", **options}
        return str(self.make("oauth", "code", **given)["code"])

    def prepare(self, operation: str, **changes: Any) -> dict[str, Any]:
        """Keyword arguments of `raw` for a good request on a fixture of its own; `changes` win."""
        known = OPERATIONS[operation]
        made = self.make(*known.fixture) if known.fixture and "id" not in changes else {}
        ready: dict[str, Any] = {"id": made.get("id", made.get("slug", "")), "body": known.body, "key": fresh()}
        if known.access == "key":
            ready["caller"] = "full"
        if operation == "searchPublicProducts":
            ready["query"] = QUERY
        if known.fixture and known.fixture[0] == "session":
            ready["body"] = {"ticket": made.get("ticket", "none")}
        if "lineId" in made and known.body:
            ready["body"] = {**known.body, "items": [{**ITEMS[0], "lineId": made["lineId"]}]}
        if operation == "exchangeOAuthToken":
            ready["body"] = self.grant()
            ready["dpop"] = proof(f"{self.base}{P}/oauth/token")
        return {**ready, **changes}

    def grant(self, **changes: str) -> dict[str, str]:
        plain = {"redirectUri": CLIENT["redirect_uri"], "clientId": CLIENT["client_id"], "codeVerifier": VERIFIER}
        return {
            "grantType": "authorization_code",
            **plain,
            **({} if "code" in changes else {"code": self.code()}),
            **changes,
        }

    def raw(
        self,
        operation: str,
        *,
        id: str = "",  # noqa: A002 - what the path calls it
        body: Any = None,
        content: bytes | None = None,
        key: str | None = None,
        caller: str | None = None,
        dpop: str | None = None,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        media: str | None = "application/json",
        http: httpx.Client | None = None,
    ) -> httpx.Response:
        sent: dict[str, str] = {}
        if caller is not None:
            sent["Authorization"] = f"Bearer {self.server.credentials.get(caller, caller)}".strip()
        if key is not None and operation in WRITES:
            sent["Idempotency-Key"] = key
        if dpop is not None:
            sent["DPoP"] = dpop
        if content is None and body is not None:
            content = json.dumps(body).encode()
        if content is not None and media is not None:
            sent["Content-Type"] = media
        known = OPERATIONS[operation]
        url = self.base + known.path.replace("{id}", id)
        return (http or self.http).request(
            known.method, url, params=query, headers={**sent, **(headers or {})}, content=content
        )

    def send(self, operation: str, **changes: Any) -> httpx.Response:
        return self.raw(operation, **self.prepare(operation, **changes))

    def status(self, operation: str, **changes: Any) -> int:
        return self.send(operation, **changes).status_code

    def twice(self, operation: str, second: dict[str, Any] | None = None, **changes: Any) -> list[httpx.Response]:
        """The same request two times; what `second` holds differs in the second one."""
        ready = self.prepare(operation, **changes)
        fresh_proof = {"dpop": proof(f"{self.base}{P}/oauth/token")} if operation == "exchangeOAuthToken" else {}
        return [self.raw(operation, **ready), self.raw(operation, **{**ready, **fresh_proof, **(second or {})})]

    def parallel(self, operation: str, times: int, *, one_key: bool) -> list[httpx.Response]:
        """The same request so many times at once, each on a connection of its own."""
        ready = self.prepare(operation)
        together = threading.Barrier(times)

        def one(_: int) -> httpx.Response:
            with client() as http:
                http.get(f"{self.base}{P}/runtime-config")  # connected before the race begins
                together.wait()
                return self.raw(operation, **{**ready, "http": http, "key": ready["key"] if one_key else fresh()})

        with ThreadPoolExecutor(times) as pool:
            return list(pool.map(one, range(times)))
