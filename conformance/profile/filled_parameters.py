"""The parameters of the filled contract: what a profile states about queries, headers and idempotency keys."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any, Final

from conformance.profile.behavior import Idempotency, Search
from conformance.profile.render import placeholders, render

Object = dict[str, Any]
_UUID: Final = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_RESERVED: Final = ("accept", "content-type", "authorization")
"""Header parameters that OpenAPI ignores (Parameter Object)."""
_SYNTAX: Final = re.compile(r"[\\^$.*+?()\[\]{}|/]")
"""What ECMA-262 lets a regular expression escape under every flag."""


def with_bounds(parameter: Mapping[str, Any], search: Search) -> Object:
    """A query parameter of the search with what is refused beyond its type; any other parameter as it is."""
    bounds = _search_bounds(search).get(parameter["name"], {}) if parameter["in"] == "query" else {}
    return {**parameter, "schema": {**parameter["schema"], **bounds}}


def _search_bounds(search: Search) -> Mapping[str, Object]:
    listed = search.unlisted == "refused"
    facts: dict[str, dict[str, Any]] = {
        "q": {
            "pattern": r"\S" if search.empty_q == "refused" else None,
            "maxLength": search.q_max,
        },
        "locale": {"enum": list(search.locales) if listed else None},
        "market": {"enum": list(search.markets) if listed else None},
        "sort": {"enum": list(search.sorts) if listed else None},
        "page": {"minimum": search.page_base},
        "pageSize": {
            "minimum": search.page_size_min if search.page_size_below == "refused" else None,
            "maximum": search.page_size_max if search.page_size_above == "refused" else None,
        },
    }
    return {
        name: {keyword: value for keyword, value in bounds.items() if value not in (None, [])}
        for name, bounds in facts.items()
    }


def idempotency_parameters(stated: Idempotency | None) -> list[Object]:
    """The header or query parameter that carries the key; none where a member of the body does."""
    if stated is None or stated.carrier == "body":
        return []
    return [
        {
            "name": stated.name,
            "in": stated.carrier,
            "required": True,
            "description": f"The idempotency key, written as `{stated.written}`.",
            "schema": {"type": "string", **_key_schema(stated)},
            "x-idempotency-key": True,
        }
    ]


def _key_schema(stated: Idempotency) -> Object:
    if stated.written == "{key}":
        if stated.format == "uuid":
            return {"format": "uuid"}
        return {"pattern": f"^({stated.pattern})$"} if stated.format == "pattern" else {"minLength": 1}
    key = {"uuid": _UUID, "pattern": stated.pattern}.get(stated.format, ".+")
    before, _, after = stated.written.partition("{key}")
    return {"pattern": f"^{_escape(before)}({key}){_escape(after)}$"}


def example_key(stated: Idempotency | None, seed: str) -> str:
    """A key as the carrier writes it, the same one for a seed; empty where none was found."""
    if stated is None:
        return ""
    unique = uuid.uuid5(uuid.NAMESPACE_URL, seed)
    digits = str(unique.int)
    others = (
        unique.hex,
        unique.hex.upper(),
        digits,
        *(text[:n] for n in (26, 16, 12, 8) for text in (unique.hex, digits)),
    )
    keys = (key for key in (str(unique), *others) if stated.format != "pattern" or re.fullmatch(stated.pattern, key))
    key = next(keys, "")
    return stated.write(key) if key else ""


def _escape(text: str) -> str:
    return _SYNTAX.sub(lambda match: "\\" + match[0], text)


def header_parameters(headers: Mapping[str, str]) -> list[Object]:
    """The headers that the profile adds to every request of an operation. A placeholder leaves the value open."""
    return [
        {"name": name, "in": "header", "required": True, "schema": {"type": "string", **_fixed_value(text)}}
        for name, text in headers.items()
        if name.lower() not in _RESERVED
    ]


def _fixed_value(text: str) -> Object:
    return {} if placeholders(text) else {"enum": [render(text, {})]}
