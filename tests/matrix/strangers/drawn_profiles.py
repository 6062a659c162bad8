"""Profiles drawn from their schema: the reference's with tables dropped, added and changed, and ones of a few tables.

All that is drawn is harmless where it is used: commands print, URLs are on loopback, files are the profile's own.
"""

from __future__ import annotations

import copy
import random
import ssl
import sys
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from conformance.contract import load_contract
from conformance.profile.schema import facts_schema, member_schema, resolve
from tests.support.commands import REFERENCE

OPERATIONS: Final = tuple(load_contract().operations)
PLACEHOLDERS: Final = (
    "{unique}", "{cart.id}", "{cart.quoted.id}", "{cart.revoked.id}", "{order.id}", "{order.lineId}", "{webhook.id}",
    "{session.id}", "{session.ticket}", "{session.consumed.ticket}", "{merchant.slug}", "{oauth.code}",
    "{oauth.client_id}", "{pkce.verifier}", "{pkce.challenge}", "{dpop.jkt}", "{cart.nothing}", "{var.control}",
)  # fmt: skip
TEXTS: Final = (
    "", "x", "a b", "é中🛒", "0", "-1", "null", "{{x}}", "%", "+/=&?#", "\x00", "\n", "\x7f", "a" * 300, ".", "..", "/",
    "\u202e", "2026-01-01", "1e400", "'\"<>", "00000000-0000-4000-8000-000000000000",
)  # fmt: skip
POINTERS: Final = (
    "",
    "/",
    "/data",
    "/data/id",
    "/data/version",
    "/count",
    "/code",
    "/id",
    "/a~1b",
    "/items",
    "/0",
    "/x/0",
)
PATTERNS: Final = ("[a-z]{16,64}", "[xyz][a-z0-9]{20}", "k-[0-9]{12}", "(?=.*7)[0-9]{20}", "a?", ".", "[^a]", "(a|b)+")
NUMBERS: Final = (0, 1, -1, 2, 3, 0.5, 7, 60, 3600, 10**6, 2**31, 2**53, 10**18)
_DROPPED: Final = ("name", "base_url", "authorization")
"""What no profile loads without."""
_FIXED: Final[Mapping[str, tuple[Any, ...]]] = {
    "name": ("drawn", "d.1-2_3"),
    "base_url": ("http://127.0.0.1:1", "http://127.0.0.1:1/"),
    "format": ("Bearer {key}", "{key}", "Shop-Key {key}", "Token token=\"{key}\""),
    "ca_file": (str(ssl.get_default_verify_paths().cafile),),
    "file": ("reference.schemas.yaml",),
    "proxy": ("",),
    "env": ("CONFORMANCE_REFERENCE_FULL", "CONFORMANCE_REFERENCE_NONE", "CONFORMANCE_REFERENCE_CATALOG_READ"),
    "python": ("json:dumps", "no_such_module:made", "builtins:dict", "os:getcwd"),
    "pattern": PATTERNS,
    "until": ("2026-01-01", "2099-12-31"),
    "requirement": ("IDEM-1", "ENV-1", "RATE-3"),
    "token_url": ("", "http://127.0.0.1:1/token", "https://shop.example/oauth"),
    "timeout_s": (0.2, 1, 5),
    "deadline_s": (0.5, 3, 8),
    "patience_s": (0, 0.1, 1),
    "recovery_s": (0, 0.1, 1),
    "window_s": (0.1, 1, 3),
    "within_s": (0, 0.1, 0.5),
    "propagation_s": (0, 0.1),
    "rate": (50, 1000, 10**9),
    "max_requests": (1, 5, 40),
    "concurrency": (1, 2, 16, 1000),
}  # fmt: skip
"""By the last name of a key: what must be harmless, quick or existing."""
_COMMANDS: Final = (
    ["true"],
    ["no-such-program-of-anyone"],
    [sys.executable, "-c", 'print(\'{{"id": "x", "ticket": "t", "code": "c"}}\')', "{unique}"],
    [sys.executable, "-c", "print('[')"],
)


class Drawing:
    """One drawn document. The same number gives the same."""

    def __init__(self, number: int, variables: Mapping[str, str]) -> None:
        self._random = random.Random(number)
        self._variables = dict(variables)
        self._reference = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))

    def document(self) -> dict[str, Any]:
        """A document that is mostly the reference's, or mostly the schema's. Whether it loads is another question."""
        whole = copy.deepcopy(self._reference)
        draw = self._random.random()
        if draw < 0.35:  # few tables
            kept = self._random.sample(sorted(whole), self._random.randint(0, len(whole)))
            whole = {name: item for name, item in whole.items() if name in kept or name in _DROPPED}
        for _ in range(self._random.choice((1, 1, 2, 3, 5, 8))):
            self._changed(whole)
        whole["variables"] = {**whole.get("variables", {}), **self._variables}
        return whole

    def _changed(self, document: dict[str, Any]) -> None:
        """Changes one place: drops it, draws it anew, adds to it, or says that it is not there."""
        at, schema = self._place(document)
        parent: Any = document
        for name in at[:-1]:
            parent = parent[name]
        how = self._random.random()
        if how < 0.25 and not (len(at) == 1 and at[0] in _DROPPED) and isinstance(parent, dict):
            del parent[at[-1]]
        elif how < 0.32 and isinstance(parent, dict) and not (len(at) == 1 and at[0] in _DROPPED):
            parent[at[-1]] = {"none": "it cannot be seen"}
        elif how < 0.6 and isinstance(parent[at[-1]], dict):
            added = self.value(schema, at, required_only=False)
            if isinstance(added, dict):
                parent[at[-1]] = {**parent[at[-1]], **added}
        elif how < 0.7 and not isinstance(parent[at[-1]], (dict, list)):
            parent[at[-1]] = self._text(at)
        else:
            parent[at[-1]] = self.value(schema, at, required_only=False)

    def _place(self, document: dict[str, Any]) -> tuple[list[Any], Mapping[str, Any]]:
        """A place in the document, or a table that it lacks, with its schema."""
        schema: Mapping[str, Any] = facts_schema()
        if self._random.random() < 0.15:
            name = self._random.choice(sorted(schema["properties"]))
            document.setdefault(name, self.value(schema["properties"][name], [name], required_only=True))
            return [name], resolve(schema["properties"][name])
        at: list[Any] = []
        value: Any = document
        while isinstance(value, (dict, list)) and value and (not at or self._random.random() < 0.8):
            name = self._random.choice(sorted(value) if isinstance(value, dict) else range(len(value)))
            declared = member_schema(schema, name)
            if not declared.keys() - {"x-placeholders"}:
                break
            at, schema, value = [*at, name], declared, value[name]
        return at or ["name"], schema

    def value(self, schema: Mapping[str, Any], at: list[Any], *, required_only: bool) -> Any:
        """A value of a schema of the profile's, harmless at that place."""
        schema, last = resolve(schema), str(at[-1]) if at else ""
        if last == "command":
            return self._random.choice(_COMMANDS)
        if last in _FIXED and not (last == "pattern" and len(at) < 3):
            return self._random.choice(_FIXED[last])
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self._random.choice(kind)
        if kind == "object" and ("properties" in schema or "additionalProperties" in schema):
            return self._table(schema, at, required_only=required_only)
        if kind == "array":
            least, items = schema.get("minItems", 0), schema.get("items", {})
            number = max(least, 0 if required_only else self._random.choice((0, 1, 1, 2, 4)))
            return [self.value(items, [*at, index], required_only=required_only) for index in range(number)]
        return self._scalar(kind, schema, at)

    def _scalar(self, kind: Any, schema: Mapping[str, Any], at: list[Any]) -> Any:
        if kind == "boolean":
            return self._random.random() < 0.5
        if kind in ("integer", "number"):
            fitting = [n for n in NUMBERS if n >= schema.get("minimum", -1) and n > schema.get("exclusiveMinimum", -9)]
            return self._random.choice([n for n in fitting if isinstance(n, int) or kind == "number"])
        if kind == "string":
            return self._text(at, schema.get("pattern", ""))
        return self._anything(at, 0)

    def _table(self, schema: Mapping[str, Any], at: list[Any], *, required_only: bool) -> dict[str, Any]:
        known, needed = schema.get("properties", {}), set(schema.get("required", ()))
        share = 0.0 if required_only else self._random.choice((0.2, 0.5, 0.9))
        names = [name for name in known if name in needed or self._random.random() < share]
        most = schema.get("maxProperties", len(names))
        names = names[:most] or (self._random.sample(sorted(known), 1) if schema.get("minProperties") and known else [])
        made = {name: self.value(known[name], [*at, name], required_only=required_only) for name in names}
        more = schema.get("additionalProperties")
        if isinstance(more, Mapping):
            for name in self._names(at, 1 if schema.get("minProperties") else 0):
                made[name] = self.value(more, [*at, name], required_only=required_only)
        return made

    def _names(self, at: list[Any], least: int) -> list[str]:
        """Names of a table whose names are the owner's, or the interface's."""
        pools = {
            "operations": OPERATIONS,
            "effects": OPERATIONS,
            "fixtures": ("cart", "order", "webhook", "session", "merchant", "oauth", "thing"),
            "cleanup": ("cart", "order", "webhook"),
            "path": ("id", "cartId", "orderId", "sessionId", "slug"),
            "unknown": ("id", "cartId", "orderId", "sessionId", "slug"),
            "headers": ("X-Trace", "Accept-Language", "Authorization", "Cookie", "x y", "é"),
            "names": ("PublicErrorResponse", "OperationResponse"),
            "members": ("id", "ticket", "code", "slug"),
        }
        last = str(at[-1]) if at else ""
        pool = pools.get(last, ("open", "quoted", "foreign", "code", "a-b") if len(at) == 2 else ("a", "control", "k"))
        return self._random.sample(pool, min(len(pool), self._random.randint(least, 3)))

    def _text(self, at: list[Any], pattern: str = "") -> Any:
        last = str(at[-1]) if at else ""
        if last == "url":
            path = "".join(
                self._random.choice(("/x", "/{unique}", "?a={cart.id}", "/fixtures/cart/open", "#f", " ")) for _ in "ab"
            )
            return self._random.choice(("{var.control}", "http://127.0.0.1:9", "{cart.url}")) + path
        if last == "method":
            return self._random.choice(("GET", "POST", "DELETE", "X"))
        if last in ("operation", "call") or "via" in at or "after" in at:
            return self._random.choice(OPERATIONS)
        if last == "credential":
            return self._random.choice(("full", "limited", "none"))
        if last in ("fixture", "leads_to"):
            return self._random.choice(("cart.open", "cart.quoted", "order.eligible", "session.open", "cart.foreign"))
        if last == "from":
            return self._random.choice(("open", "quoted", "eligible"))
        if pattern.startswith("^(/"):
            return self._random.choice(POINTERS)
        return self._random.choice(TEXTS + PLACEHOLDERS)

    def _anything(self, at: list[Any], depth: int) -> Any:
        """Any JSON value that TOML can hold, which a body or a query may be."""
        draw = self._random.random()
        if depth < 3 and draw < 0.3:
            return {self._random.choice(("a", "id", "reason", "é", "")): self._anything(at, depth + 1) for _ in "ab"}
        if depth < 3 and draw < 0.45:
            return [self._anything(at, depth + 1) for _ in range(self._random.randint(0, 2))]
        if draw < 0.8:
            return self._random.choice(TEXTS + PLACEHOLDERS)
        return self._random.choice((True, False, *NUMBERS))
