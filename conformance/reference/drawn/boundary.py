"""What a drawn target calls things: member names and ids, changed where they come in and where they go out.

Inside, everything has the reference's own names. Member names are exchanged in pairs, so that any name, whoever
invented it, comes out again as it came in.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import threading
import zlib
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reference.call import Answer, Call, JsonValue
from conformance.reference.drawn.choices import Drawn
from conformance.reference.schemas import REQUESTS

KEPT = ("data", "meta")
"""The interface's own names."""
_ANSWERED = (
    "accessToken", "applied", "attempts", "available", "category", "checks", "cnf", "createdAt", "deliveries",
    "discount", "eligible", "endpointId", "environment", "error", "event", "expiresIn", "installationId", "jkt",
    "keyId", "lines", "locales", "markets", "merchant", "message", "orderId", "page", "pageSize", "paymentState",
    "price", "productId", "products", "promotion", "ready", "reasons", "requestId", "scope", "scopes", "secret",
    "servedAt", "sessionId", "slug", "state", "status", "subtotal", "title", "tokenType", "total", "totals", "type",
    "unitPrice", "version",
)  # fmt: skip


def _asked(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, part in schema.get("properties", {}).items():
        yield name
        yield from _asked(part)
    if "items" in schema:
        yield from _asked(schema["items"])


NAMES = tuple(sorted({*_ANSWERED, *(name for schema in REQUESTS.values() for name in _asked(schema))}))
"""Every member that the reference knows, but for the interface's own."""
_OTHER_WORDS = {
    "accessToken": "token",
    "active": "enabled",
    "buyer": "customer",
    "category": "department",
    "code": "grant",
    "codeVerifier": "pkceVerifier",
    "clientId": "appId",
    "description": "label",
    "eligible": "possible",
    "email": "mail",
    "endpointId": "hookRef",
    "events": "topics",
    "expiresIn": "lifetimeSeconds",
    "grantType": "kindOfGrant",
    "id": "ref",
    "items": "positions",
    "lineId": "positionRef",
    "lines": "rows",
    "merchant": "shop",
    "orderId": "orderRef",
    "payment": "settlement",
    "quantity": "count",
    "reason": "why",
    "redirectUri": "returnUrl",
    "sessionId": "checkoutRef",
    "state": "phase",
    "ticket": "voucher",
    "tokenType": "tokenKind",
    "total": "sum",
    "url": "target",
    "version": "revision",
}
_WORD = re.compile(r"[A-Z]?[a-z0-9]+")
_STYLES: Mapping[str, Callable[[list[str]], str]] = {
    "camel": lambda words: words[0] + "".join(word.title() for word in words[1:]),
    "pascal": lambda words: "".join(word.title() for word in words),
    "snake": "_".join,
    "kebab": "-".join,
    "dotted": ".".join,
    "slashed": "/".join,
}


def names_of(drawn: Drawn) -> Mapping[str, str]:
    """Both ways: the reference's names to the target's, and the target's to the reference's."""
    table: dict[str, str] = {}
    for name in NAMES:
        if drawn.vocabulary == "opaque":
            called = f"m{zlib.crc32(name.encode()) % 10**6:06d}"
        else:
            called = _OTHER_WORDS.get(name, name) if drawn.vocabulary == "other" else name
        called = _STYLES[drawn.style]([word.lower() for word in _WORD.findall(called)])
        if called not in NAMES and called not in KEPT and called not in table:
            table |= {name: called, called: name}
    return table


@dataclass(frozen=True, slots=True)
class Look:
    """How ids look: `make` is called with the kind, 20 hexadecimal digits and a running number."""

    make: Callable[[str, str, int], str | int]
    pattern: str
    """Holds `KIND` where the kind stands."""

    @property
    def integers(self) -> bool:
        return isinstance(self.make("", "0" * 20, 0), int)


def _uuid(_kind: str, digits: str, _number: int) -> str:
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-8{digits[15:18]}-{digits[18:]}{'0' * 10}"


_HEX = "[0-9a-f]{20}"
LOOKS: Mapping[str, Look] = {
    "plain": Look(lambda kind, digits, _: f"{kind}_{digits}", f"KIND_{_HEX}"),
    "hex": Look(lambda _kind, digits, _number: digits, _HEX),
    "uuid": Look(_uuid, "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"),
    "upper": Look(lambda _kind, digits, _number: f"ID{int(digits, 16):025d}", "ID[0-9]{25}"),
    "urn": Look(lambda kind, digits, _: f"shop:{kind}:{digits}", f"shop:KIND:{_HEX}"),
    "path": Look(lambda kind, digits, _: f"gid://shop/{kind}/{digits}", f"gid://shop/KIND/{_HEX}"),
    "odd": Look(lambda kind, digits, _: f"№ {kind} é={digits}", f"№ KIND é={_HEX}"),
    "base64": Look(lambda _kind, digits, _number: "+" + b64encode(bytes.fromhex(digits)).decode(), "[+][\\w+/]{14}=="),
    "reserved": Look(lambda kind, digits, _: f"{kind}&id=100%?#{digits}", f"KIND&id=100%[?]#{_HEX}"),
    "digits": Look(lambda _kind, digits, _number: f"{int(digits, 16):025d}", "[0-9]{25}"),
    "sequence": Look(lambda _kind, _digits, number: str(number), "[0-9]{1,12}"),
    "number": Look(lambda _kind, _digits, number: number, "[0-9]{1,12}"),
}
KINDS = {"id": "wh", "orderId": "order", "cartId": "cart", "sessionId": "session"}
"""By path parameter."""
_OWN = re.compile(f"(cart|order|wh|session|asr|del)_({_HEX})")
_UNKNOWN = 987_654_321


class Boundary:
    """Between a drawn target and the world. It remembers each id that it has shown."""

    def __init__(self, drawn: Drawn) -> None:
        self.names = names_of(drawn)
        self._look = LOOKS[drawn.id_look]
        self._numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(drawn.id_start))
        """By kind, as a database numbers the rows of each table."""
        self._shown: dict[str, str | int] = {}
        self._own: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def renamed(self, value: JsonValue) -> JsonValue:
        """A value with its members called otherwise; twice is the value again."""
        if isinstance(value, dict):
            return {self.names.get(name, name): self.renamed(item) for name, item in value.items()}
        return [self.renamed(item) for item in value] if isinstance(value, list) else value

    def shown(self, value: JsonValue) -> JsonValue:
        """A value as the world sees it."""
        if isinstance(value, dict):
            return {self.names.get(name, name): self.shown(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.shown(item) for item in value]
        return self._id(value) if isinstance(value, str) and _OWN.fullmatch(value) else value

    def _id(self, own: str) -> str | int:
        with self._lock:
            if own not in self._shown:
                kind, _, digits = own.partition("_")
                made = self._look.make(kind, digits, next(self._numbers[kind]))
                self._shown[own] = made
                self._own[kind, str(made)] = own
            return self._shown[own]

    def own(self, text: str, kind: str) -> str:
        """The reference's own id of a shown one; of what was never shown, one that names nothing."""
        if (kind, text) in self._own:
            return self._own[kind, text]
        if re.fullmatch(self._look.pattern.replace("KIND", kind), text):
            return f"{kind}_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
        return f"?{text}"

    def inside(self, path: Mapping[str, str]) -> Mapping[str, str]:
        """Path parameters as they are inside."""
        return {name: self.own(text, KINDS[name]) if name in KINDS else text for name, text in path.items()}

    def come_in(self, call: Call) -> None:
        """A stage before all others."""
        call.path = self.inside(call.path)

    def go_out(self, _call: Call, answer: Answer) -> Answer:
        return Answer(self.shown(answer.value), answer.status, answer.headers) if answer.status == 200 else answer


def unknown_id(drawn: Drawn, kind: str) -> str:
    """A well-formed id that is never given to anything."""
    return str(LOOKS[drawn.id_look].make(kind, "0" * 20, _UNKNOWN))


def id_schema(drawn: Drawn, kind: str) -> dict[str, Any]:
    """The JSON Schema of a shown id."""
    look = LOOKS[drawn.id_look]
    pattern = f"^{look.pattern.replace('KIND', kind)}$"
    return {"type": "integer", "minimum": 1} if look.integers else {"type": "string", "pattern": pattern}


def pointed(names: Mapping[str, str], pointer: str) -> str:
    """A JSON pointer through members that are called otherwise."""
    return "".join(f"/{escaped(names.get(token, token))}" for token in pointer.split("/")[1:])


def escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def tokens(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
