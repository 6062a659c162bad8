"""The request bodies, by operation. The published form is `profiles/reference.schemas.yaml`; a test holds both equal.

Members are strict in type and permit many values, so that almost every leaf can be changed and stays valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


def text(low: int = 1, high: int = 500, pattern: str = "") -> Schema:
    schema: dict[str, Any] = {"type": "string", "minLength": low, "maxLength": high}
    return {**schema, "pattern": pattern} if pattern else schema


def integer(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def array(items: Schema, low: int = 0, high: int = 50) -> Schema:
    return {"type": "array", "items": items, "minItems": low, "maxItems": high}


def obj(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


BOOLEAN: Schema = {"type": "boolean"}
URL = text(8, 2048, "^https?://[^/]")
METADATA = obj(team=text(), priority=integer(0, 1_000_000), labels=array(text()))

WEBHOOK_CREATE = obj(
    ("url", "events"),
    url=URL,
    events=array(text(1, 100), 1, 20),
    description=text(0),
    active=BOOLEAN,
    metadata=METADATA,
)
WEBHOOK_UPDATE = obj(
    url=URL,
    events=array(text(1, 100), 1, 20),
    description=text(0),
    active=BOOLEAN,
    metadata=METADATA,
)
AFTER_SALES = obj(
    ("reason", "items"),
    reason=text(),
    comment=text(0, 2000),
    items=array(
        obj(("lineId", "quantity"), lineId=text(1, 100), quantity=integer(1, 1_000_000), photos=array(text())), 1
    ),
    contact=obj(email=text(3, 320), phone=text(1, 50)),
    refund=obj(method=text(1, 50), amount=obj(("value", "currency"), value=integer(0, 10**12), currency=text(1, 10))),
    urgent=BOOLEAN,
)
TRANSITION = obj(
    reason=text(),
    note=text(0, 2000),
    priority=integer(0, 1_000_000),
    actor=obj(id=text(1, 100), role=text(1, 100), tags=array(text())),
    notify=BOOLEAN,
)
CHECKOUT = obj(
    ("buyer", "payment"),
    buyer=obj(("email",), email=text(3, 320), name=text(), phone=text(1, 50)),
    shipping=obj(line1=text(), city=text(), postalCode=text(1, 20), country=text(2, 60)),
    payment=obj(("method",), method=text(1, 50), installments=integer(1, 1_000_000), reference=text(1, 100)),
    notes=array(text()),
    newsletter=BOOLEAN,
)
BROWSER = obj(
    userAgent=text(), language=text(1, 35), viewport=obj(width=integer(1, 1_000_000), height=integer(1, 1_000_000))
)
TICKET = obj(("ticket",), ticket=text(1, 200), browser=BROWSER, hints=array(text()), returning=BOOLEAN)
CANCEL = obj(
    ("ticket",),
    ticket=text(1, 200),
    reason=text(),
    feedback=obj(rating=integer(0, 1_000_000), comments=array(text())),
    reopen=BOOLEAN,
)
TOKEN = obj(
    ("grantType", "code", "redirectUri", "clientId", "codeVerifier"),
    grantType={"type": "string", "enum": ["authorization_code"]},
    code=text(1, 200),
    redirectUri=text(1, 2048),
    clientId=text(1, 100),
    codeVerifier=text(43, 128, "^[A-Za-z0-9._~-]+$"),
    audience=text(),
    device=obj(name=text(), memory=integer(0, 10**12), features=array(text())),
)

REQUESTS: Mapping[str, Schema] = {
    "createInstallationWebhook": WEBHOOK_CREATE,
    "updateInstallationWebhook": WEBHOOK_UPDATE,
    "requestStorefrontOrderAfterSales": AFTER_SALES,
    "removePublicCartPromotion": TRANSITION,
    "checkoutPublicCart": CHECKOUT,
    "quotePublicCart": TRANSITION,
    "revokePublicCart": TRANSITION,
    "exchangeOAuthToken": TOKEN,
    "consumeHostedCheckoutBrowserTicket": TICKET,
    "cancelHostedCheckoutBrowser": CANCEL,
}
