"""What the guides say, as values: each sentence that the reference decides by its policy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from conformance.reference.call import Call, JsonObject, Refusal
from conformance.reference.random_targets.choices import RandomTarget
from tests.support.paths import PROFILES

ErrorWriter = Callable[[Call, Refusal, int], JsonObject]


@dataclass(frozen=True, slots=True)
class Guide:
    """One guide. `choices` holds what random targets can say; the other members are what they cannot."""

    name: str
    choices: RandomTarget
    kept: tuple[int, ...]
    merchant: str
    locales: tuple[str, ...]
    markets: tuple[str, ...]
    sorts: Mapping[str, tuple[str, bool]]
    """By value of sort: the member of a product, and whether the order is descending; "" is not a member."""
    clients: Mapping[str, tuple[str, ...]]
    may_quote_again: bool
    quote_after_the_end: bool
    """Whether the checkout quote of a checked-out or revoked cart is answered 200."""
    no_promotion_status: int
    request_header: str
    """The response header that is new in each answer."""
    error: ErrorWriter
    renamed: Mapping[str, str]
    """Members of request bodies -> the reference's names."""
    error_media_type: str = "application/json"
    schemas: Mapping[str, Any] = field(default_factory=dict)


def _kestrel_error(_call: Call, refusal: Refusal, _status: int) -> JsonObject:
    return {"error": {"code": refusal.kind.upper(), "message": refusal.message, "details": []}}


def _heron_error(call: Call, refusal: Refusal, status: int) -> JsonObject:
    trace = call.request_id.removeprefix("req_") * 2
    return {
        "type": f"https://errors.example.com/{refusal.kind}",
        "title": refusal.kind.replace("_", " "),
        "status": status,
        "detail": refusal.message,
        "instance": f"urn:request:{trace}",
        "traceparent": f"00-{trace}-01",
    }


def _schemas(name: str) -> Mapping[str, Any]:
    text = (PROFILES / "guides" / f"{name}.schemas.json").read_text(encoding="utf-8")
    schemas: Mapping[str, Any] = json.loads(text)["components"]["schemas"]
    return schemas


_TOKEN_MEMBERS = {
    "grant_type": "grantType",
    "client_id": "clientId",
    "redirect_uri": "redirectUri",
    "code_verifier": "codeVerifier",
}
_ALGORITHMS = ("ES256", "RS256", "EdDSA")
_target = partial(RandomTarget, namespace="credential", work_ms=60, algorithms=_ALGORITHMS)

KESTREL = Guide(
    name="kestrel",
    choices=_target(
        authorization="ApiKey {key}",
        any_case_scheme=False,
        carrier="body",
        key_format="[A-Za-z0-9_-]{8,64}",
        on_flight="conflict",
        unknown_members="refused",
        body_types="json",
        page_size_max=24,
        q_max=100,
        unknown_category="refused",
        unknown_merchant="not_found",
        clock_s=60,
        clock_ahead_s=60,
        token_lifetime_s=600,
        proof_reuse="refused",
        missing_proof_status=400,
        client_status=401,
        grant_status=401,
        ticket_status=401,
    ),
    kept=(200, 404, 409),
    merchant="gale.goods",
    locales=("en_GB", "de_AT"),
    markets=("GB", "AT"),
    sorts={
        "RELEVANCE": ("", False),
        "PRICE_ASC": ("price", False),
        "PRICE_DESC": ("price", True),
        "TITLE_ASC": ("title", False),
        "TITLE_DESC": ("title", True),
    },
    clients={
        "urn:kestrel:storefront": ("https://store.kestrel.example/cb?from=oauth",),
        "urn:kestrel:kiosk": ("https://kiosk.kestrel.example/cb",),
    },
    may_quote_again=False,
    quote_after_the_end=False,
    no_promotion_status=409,
    request_header="requestId",
    error=_kestrel_error,
    renamed={**_TOKEN_MEMBERS, "lines": "items"},
    schemas=_schemas("kestrel"),
)

HERON = Guide(
    name="heron",
    choices=_target(
        authorization="{key}",
        key_name="X-Idempotency-Key",
        missing_key="accepted",
        untyped_body="refused",
        page_base=0,
        page_size_out="clamped",
        empty_q="everything",
        q_max=500,
        clock_s=120,
        clock_ahead_s=10,
        code_lifetime_s=300,
        token_lifetime_s=900,
        missing_proof_status=400,
        proof_status=400,
        ticket_status=400,
    ),
    kept=(200,),
    merchant="bluepine",
    locales=("en", "de", "fr"),
    markets=("us", "de", "fr"),
    sorts={
        "relevance": ("", False),
        "price": ("price", False),
        "-price": ("price", True),
        "title": ("title", False),
        "-title": ("title", True),
    },
    clients={
        "10001": ("https://heron.example/oauth/return",),
        "10002": ("https://partner.example/oauth/return",),
    },
    may_quote_again=True,
    quote_after_the_end=True,
    no_promotion_status=404,
    request_header="x-request-id",
    error=_heron_error,
    error_media_type="application/problem+json",
    renamed={**_TOKEN_MEMBERS, "targetUrl": "url", "eventTypes": "events", "enabled": "active", "comment": "reason"},
    schemas=_schemas("heron"),
)
GUIDES: Mapping[str, Guide] = {guide.name: guide for guide in (KESTREL, HERON)}
