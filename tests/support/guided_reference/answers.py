"""The reference's answers in the form of a guide's response schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.reference.call import JsonObject, JsonValue

Schema = Mapping[str, Any]
_MONEY = "[.][0-9]{2}$"
_SYNONYMS = (
    ("state", "status", "phase"),
    ("total", "grandTotal"),
    ("lines", "rows"),
    ("items", "records", "lines"),
    ("eligible", "allowed"),
    ("url", "targetUrl"),
    ("events", "eventTypes"),
    ("active", "enabled"),
    ("reason", "comment"),
    ("version", "revision"),
    ("products", "productCount"),
    ("name", "slug"),
    ("ready", "ok"),
    ("accessToken", "access_token"),
    ("tokenType", "token_type"),
    ("expiresIn", "expires_in"),
)
"""The reference's name of a member, and what guides call it."""
_STATES = {"consumed": "active"}


def public_answer(schema: Schema, answer: JsonObject) -> JsonObject:
    """A successful answer as its schema describes it; what the reference does not know has a plain value."""
    members = schema["properties"]
    data, meta = answer["data"], answer.get("meta")
    public: JsonObject = {"data": _filled(members["data"], "data", {"data": _known(data)})}
    if "meta" in members and meta is not None:
        pages = -(-meta["total"] // meta["pageSize"]) if "pageSize" in meta else 0
        public["meta"] = _filled(members["meta"], "meta", {"meta": {**meta, "totalPages": pages}})
    return public


def _known(data: JsonValue) -> JsonValue:
    """What a guide's schemas may ask for, from the reference's data."""
    if isinstance(data, list):
        return [_known(item) for item in data]
    if not isinstance(data, dict):
        return data
    known = {name: _known(value) for name, value in data.items()}
    for members in (_of_product, _of_line, _of_cart, _of_others):
        known |= members(known)
    for own, *others in _SYNONYMS:
        if own in known:
            known |= {name: known[own] for name in others if name not in known}
    return known


def _of_product(data: JsonObject) -> JsonObject:
    if not isinstance(price := data.get("price"), dict):
        return {}
    cents = round(price["amount"] * 100)
    return {"price": cents, "description": description(data["title"]), "inStock": True, "slug": data["id"]}


def _of_line(data: JsonObject) -> JsonObject:
    if "unitPrice" not in data:
        return {}
    return {"sku": data["productId"], "title": "A product", "lineTotal": data["unitPrice"] * data["quantity"]}


def _of_cart(data: JsonObject) -> JsonObject:
    known = dict(data["totals"]) if isinstance(data.get("totals"), dict) else {}
    if "state" in data:
        known["state"] = _STATES.get(data["state"], data["state"]).upper()
    if str(data.get("id", "")).startswith("cart_"):
        known["cartId"] = data["id"]
    return known


def _of_others(data: JsonObject) -> JsonObject:
    if "deliveries" in data:
        return {"items": data["deliveries"], "total": len(data["deliveries"])}
    return {"name": data["keyId"]} if "keyId" in data else {}


def description(title: str) -> str:
    """The description of a product."""
    return f"An everyday product: {title.lower()}"


def _filled(schema: Schema, name: str, values: JsonObject) -> JsonValue:
    """A value of the schema: the one that is known under the name, or a plain one."""
    value = values.get(name)
    if "anyOf" in schema:
        return _one_of(schema["anyOf"], name, values)
    if schema.get("type") == "object":
        known = value if isinstance(value, dict) else {}
        wanted = [member for member in schema["properties"] if member in schema["required"] or member in known]
        return {member: _filled(schema["properties"][member], member, known) for member in wanted}
    if schema.get("type") == "array":
        return [_filled(schema["items"], "item", {"item": item}) for item in value or ()]
    return _scalar(schema, value)


def _one_of(schemas: list[Schema], name: str, values: JsonObject) -> JsonValue:
    """By the schema whose members are known best; null where nothing is known."""
    value = values.get(name)
    if value is None or value == {}:
        return None
    known = set(value) if isinstance(value, dict) else set()
    return _filled(max(schemas, key=lambda schema: len(known & set(schema.get("required", ())))), name, values)


def _scalar(schema: Schema, value: JsonValue) -> JsonValue:
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if allowed:
        return value if value in allowed else allowed[0]
    if schema.get("pattern", "").endswith(_MONEY):
        return f"{(value or 0) / 100:.2f}"
    if value is not None and isinstance(value, dict | list) is False:
        return value
    return {"string": "none", "boolean": True, "integer": 1, "number": 1}[schema["type"]]
