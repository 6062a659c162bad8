"""Member names and ids of a random target, translated where requests come in and where answers go out.

Inside, everything has the reference's own names. Member names are exchanged in pairs, so that any unknown name comes
out unchanged.
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
from conformance.reference.random_targets.choices import RandomTarget
from conformance.reference.schemas import REQUESTS

INTERFACE_NAMES = ("data", "meta")
"""The interface's own names."""
_ANSWER_MEMBERS = (
    "accessToken", "after", "applied", "attempts", "available", "category", "checks", "cnf", "createdAt", "deliveries",
    "discount", "eligible", "endpointId", "environment", "error", "event", "expiresIn", "installationId", "jkt",
    "keyId", "lines", "locales", "markets", "merchant", "message", "next", "orderId", "page", "pageSize", "paging",
    "paymentState", "price", "productId", "products", "promotion", "ready", "reasons", "requestId", "scope", "scopes",
    "secret", "servedAt", "sessionId", "slug", "state", "status", "subtotal", "title", "tokenType", "total", "totals",
    "type", "unitPrice", "version",
)  # fmt: skip


def _request_members(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, part in schema.get("properties", {}).items():
        yield name
        yield from _request_members(part)
    if "items" in schema:
        yield from _request_members(schema["items"])


NAMES = tuple(sorted({*_ANSWER_MEMBERS, *(name for schema in REQUESTS.values() for name in _request_members(schema))}))
"""Every member of the reference, except the interface's own."""
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


def names_of(target: RandomTarget) -> Mapping[str, str]:
    """The mapping of names in both directions: from the reference's to the target's, and back."""
    table: dict[str, str] = {}
    for name in NAMES:
        if target.vocabulary == "opaque":
            public_name = f"m{zlib.crc32(name.encode()) % 10**6:06d}"
        else:
            public_name = _OTHER_WORDS.get(name, name) if target.vocabulary == "other" else name
        public_name = _STYLES[target.style]([word.lower() for word in _WORD.findall(public_name)])
        if public_name not in NAMES and public_name not in INTERFACE_NAMES and public_name not in table:
            table |= {name: public_name, public_name: name}
    return table


@dataclass(frozen=True, slots=True)
class IdFormat:
    """A format of ids: `make` gets the kind, 20 hexadecimal digits and a running number."""

    make: Callable[[str, str, int], str | int]
    pattern: str
    """A pattern with `KIND` in place of the kind."""

    @property
    def integers(self) -> bool:
        return isinstance(self.make("", "0" * 20, 0), int)


def _uuid(_kind: str, digits: str, _number: int) -> str:
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-8{digits[15:18]}-{digits[18:]}{'0' * 10}"


_HEX = "[0-9a-f]{20}"
ID_FORMATS: Mapping[str, IdFormat] = {
    "plain": IdFormat(lambda kind, digits, _: f"{kind}_{digits}", f"KIND_{_HEX}"),
    "hex": IdFormat(lambda _kind, digits, _number: digits, _HEX),
    "uuid": IdFormat(_uuid, "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"),
    "upper": IdFormat(lambda _kind, digits, _number: f"ID{int(digits, 16):025d}", "ID[0-9]{25}"),
    "urn": IdFormat(lambda kind, digits, _: f"shop:{kind}:{digits}", f"shop:KIND:{_HEX}"),
    "path": IdFormat(lambda kind, digits, _: f"gid://shop/{kind}/{digits}", f"gid://shop/KIND/{_HEX}"),
    "odd": IdFormat(lambda kind, digits, _: f"№ {kind} é={digits}", f"№ KIND é={_HEX}"),
    "base64": IdFormat(
        lambda _kind, digits, _number: "+" + b64encode(bytes.fromhex(digits)).decode(), "[+][\\w+/]{14}=="
    ),
    "reserved": IdFormat(lambda kind, digits, _: f"{kind}&id=100%?#{digits}", f"KIND&id=100%[?]#{_HEX}"),
    "digits": IdFormat(lambda _kind, digits, _number: f"{int(digits, 16):025d}", "[0-9]{25}"),
    "mixed": IdFormat(
        lambda _kind, digits, number: digits if number % 2 else f"{int(digits, 16):025d}", f"({_HEX}|[0-9]{{25}})"
    ),
    "sequence": IdFormat(lambda _kind, _digits, number: str(number), "[0-9]{1,12}"),
    "number": IdFormat(lambda _kind, _digits, number: number, "[0-9]{1,12}"),
}
KINDS = {"id": "wh", "orderId": "order", "cartId": "cart", "sessionId": "session"}
"""By path parameter."""
_REFERENCE_ID = re.compile(f"(cart|order|wh|session|asr|del)_({_HEX})")
_UNKNOWN = 987_654_321


class Boundary:
    """Translates between a random target and its clients. It remembers each published id."""

    def __init__(self, target: RandomTarget) -> None:
        self.names = names_of(target)
        self._id_format = ID_FORMATS[target.id_look]
        self._numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(target.id_start))
        """By kind, as a database numbers the rows of each table."""
        self._public_ids: dict[str, str | int] = {}
        self._reference_ids: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def rename(self, value: JsonValue) -> JsonValue:
        """A value with renamed members; applied twice it returns the value."""
        if isinstance(value, dict):
            return {self.names.get(name, name): self.rename(item) for name, item in value.items()}
        return [self.rename(item) for item in value] if isinstance(value, list) else value

    def to_public(self, value: JsonValue) -> JsonValue:
        """A value with public member names and ids."""
        if isinstance(value, dict):
            return {self.names.get(name, name): self.to_public(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.to_public(item) for item in value]
        return self._id(value) if isinstance(value, str) and _REFERENCE_ID.fullmatch(value) else value

    def _id(self, to_reference: str) -> str | int:
        with self._lock:
            if to_reference not in self._public_ids:
                kind, _, digits = to_reference.partition("_")
                public_id = self._id_format.make(kind, digits, next(self._numbers[kind]))
                self._public_ids[to_reference] = public_id
                self._reference_ids[kind, str(public_id)] = to_reference
            return self._public_ids[to_reference]

    def to_reference(self, text: str, kind: str) -> str:
        """The reference's id of a public one; for unknown ones, an id that names nothing."""
        if (kind, text) in self._reference_ids:
            return self._reference_ids[kind, text]
        if re.fullmatch(self._id_format.pattern.replace("KIND", kind), text):
            return f"{kind}_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
        return f"?{text}"

    def path_to_reference(self, path: Mapping[str, str]) -> Mapping[str, str]:
        """Path parameters with the reference's own ids."""
        return {name: self.to_reference(text, KINDS[name]) if name in KINDS else text for name, text in path.items()}

    def translate_request(self, call: Call) -> None:
        """The first stage: translates the path."""
        call.path = self.path_to_reference(call.path)

    def translate_answer(self, _call: Call, answer: Answer) -> Answer:
        return Answer(self.to_public(answer.value), answer.status, answer.headers) if answer.status == 200 else answer


def unknown_id(target: RandomTarget, kind: str) -> str:
    """A well-formed id that is never used."""
    return str(ID_FORMATS[target.id_look].make(kind, "0" * 20, _UNKNOWN))


def id_schema(target: RandomTarget, kind: str) -> dict[str, Any]:
    """The JSON Schema of a public id."""
    look = ID_FORMATS[target.id_look]
    pattern = f"^{look.pattern.replace('KIND', kind)}$"
    return {"type": "integer", "minimum": 1} if look.integers else {"type": "string", "pattern": pattern}


def translate_pointer(names: Mapping[str, str], pointer: str) -> str:
    """A JSON pointer with translated member names."""
    return "".join(f"/{escape_token(names.get(token, token))}" for token in pointer.split("/")[1:])


def escape_token(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def tokens(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
