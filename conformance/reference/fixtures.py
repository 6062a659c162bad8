"""Resources in a given state, created directly in the store, as a target's test API would do."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

from sqlalchemy import Connection

from conformance.reference import carts, catalogue, hosted, oauth, objects, orders, webhooks
from conformance.reference.call import JsonObject, JsonValue

Maker = Callable[[Connection, JsonObject], JsonObject]


class OptionsError(ValueError):
    """The options of a fixture are invalid."""


def _cart(state: str, installation: str = "A", promotion: bool = False) -> Maker:
    def make(db: Connection, _options: JsonObject) -> JsonObject:
        cart = objects.add(db, "cart", installation, state, carts.new_cart(promotion))
        return {"id": cart.id, "state": cart.state}

    return make


def _order(state: str, installation: str = "A") -> Maker:
    def make(db: Connection, _options: JsonObject) -> JsonObject:
        lines = [{**line, "lineId": "line_" + secrets.token_hex(6)} for line in carts.new_cart()["lines"]]
        order = objects.add(db, "order", installation, state, orders.order_of(lines))
        return {"id": order.id, "lineId": lines[0]["lineId"]}

    return make


def _webhook(installation: str = "A") -> Maker:
    def make(db: Connection, options: JsonObject) -> JsonObject:
        plain = {"url": "https://hooks.example/fixture", "events": ["fixture.none"], "description": "made by a fixture"}
        data = webhooks.new_endpoint({**plain, **options})
        return {"id": objects.add(db, "wh", installation, "active", data).id, "url": data["url"]}

    return make


def _session(state: str) -> Maker:
    def make(db: Connection, _options: JsonObject) -> JsonObject:
        ticket = "tkt_" + secrets.token_urlsafe(24)
        session = objects.add(db, "session", "A", state, hosted.new_session(ticket))
        return {"id": session.id, "ticket": ticket}

    return make


def _merchant(slug: str) -> Maker:
    return lambda _db, _options: {"slug": slug}


def _code(db: Connection, options: JsonObject) -> JsonObject:
    names = ("client_id", "redirect_uri", "code_challenge", "code_challenge_method")
    values = [_text(options.get(name, "")) for name in names]
    if values[0] not in oauth.CLIENTS or values[1] not in oauth.CLIENTS[values[0]]:
        raise OptionsError("client_id or redirect_uri is not registered")
    members = dict(zip(("client_id", "redirect_uri", "challenge", "method"), values, strict=True))
    binding = {**members, "jkt": _text(options.get("dpop_jkt", ""))}
    return {"code": oauth.new_code(db, binding, float(options.get("age_s", 0)))}


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise OptionsError("options must be strings")
    return value


MAKERS: Mapping[str, Mapping[str, Maker]] = {
    "cart": {
        "open": _cart("open"),
        "quoted": _cart("quoted"),
        "promoted": _cart("open", promotion=True),
        "checked_out": _cart("checked_out"),
        "revoked": _cart("revoked"),
        "foreign": _cart("quoted", "B", promotion=True),
        "foreign_open": _cart("open", "B"),
        "foreign_revoked": _cart("revoked", "B"),
    },
    "order": {
        "eligible": _order("eligible"),
        "requested": _order("requested"),
        "ineligible": _order("ineligible"),
        "foreign": _order("eligible", "B"),
    },
    "webhook": {"active": _webhook(), "foreign": _webhook("B")},
    "session": {"open": _session("open"), "consumed": _session("consumed"), "cancelled": _session("cancelled")},
    "merchant": {"stocked": _merchant(catalogue.MERCHANTS[0]), "empty": _merchant(catalogue.EMPTY_MERCHANT)},
    "oauth": {"code": _code},
}
