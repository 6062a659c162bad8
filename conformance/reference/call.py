"""Requests and answers inside the reference service.

A `Request` is the received HTTP request; a `Call` is one request on its way through the stages of a policy; an `Answer`
is a JSON value with a status; a `Reply` is bytes. A `Refusal` ends a call early and names its kind, never a status: the
policy maps kinds to statuses.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from conformance.reference.dpop import Proof
    from conformance.reference.keys import KeyRing
    from conformance.reference.limiter import Limiter
    from conformance.reference.policy import Policy
    from conformance.reference.store import Store

JsonValue = Any
JsonObject = dict[str, Any]
Headers = tuple[tuple[str, str], ...]


class Refusal(Exception):
    """A request that is not carried out. `kind` is a key of `Policy.statuses` and the error's machine-readable code."""

    def __init__(self, kind: str, message: str, *, headers: Headers = ()) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.headers = headers


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; `path` is raw (percent-encoded) and relative to the target, `prefix` names the target."""

    method: str
    path: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    query: bytes = b""
    prefix: bytes = b""
    scheme: str = "http"
    peer: int = 0
    """The client's port, which tells connections apart."""

    def header_values(self, name: bytes) -> list[str]:
        """Every value of the header `name` (lower case), as Latin-1 text."""
        return [value.decode("latin-1") for key, value in self.headers if key == name]

    def first_header(self, name: bytes) -> str:
        """The first value of a header, empty where it is absent."""
        return next(iter(self.header_values(name)), "")

    def header(self, name: bytes) -> str | None:
        """The only value of a header; None where it is absent or comes more than once."""
        values = self.header_values(name)
        return values[0] if len(values) == 1 else None

    def parameters(self) -> dict[str, str]:
        """The query's parameters, of each name the last one."""
        return dict(parse_qsl(self.query.decode("latin-1"), keep_blank_values=True, errors="replace"))

    @property
    def url(self) -> str:
        """The URL without query and fragment, as the client asked for it (RFC 9449 section 4.2, `htu`)."""
        host = self.header(b"host") or "localhost"
        return f"{self.scheme}://{host}{(self.prefix + self.path).decode('latin-1')}"


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of a call's API key."""

    name: str
    installation: str
    scopes: frozenset[str]
    active: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a JSON value; `headers` are those beyond the usual ones."""

    value: JsonValue
    status: int = 200
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply as it is sent."""

    status: int
    headers: Headers
    body: bytes


def success(data: JsonValue, *, meta: JsonObject | None = None, headers: Headers = ()) -> Answer:
    """An answer in one of the two shapes of the interface: `{data: ...}`, with `meta` for lists only."""
    return Answer({"data": data} if meta is None else {"data": data, "meta": meta}, headers=headers)


@dataclass(slots=True)
class Call:
    """One request on its way through the stages; each stage fills in what later ones need."""

    request: Request
    policy: Policy
    store: Store
    keys: KeyRing
    limiter: Limiter
    now: float
    operation: str = ""
    path: Mapping[str, str] = field(default_factory=dict)
    caller: Caller | None = None
    proof: Proof | None = None
    key: str | None = None
    """The idempotency key."""
    reservation: str = ""
    """The address of the idempotency key that this call has reserved."""
    body: JsonObject = field(default_factory=dict)
    answer: Answer | None = None
    methods: tuple[str, ...] = ()
    """The methods of the path, where no operation matches."""
    request_id: str = field(default_factory=lambda: "req_" + secrets.token_hex(8))

    @property
    def installation(self) -> str:
        """The caller's installation; unauthenticated calls act for the home installation."""
        return self.caller.installation if self.caller else "A"

    @property
    def resource(self) -> str:
        """The path parameter, or nothing."""
        return next(iter(self.path.values()), "")


def dumps(value: JsonValue) -> bytes:
    """Compact strict JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def canonical(value: JsonValue) -> str:
    """A canonical text: equal for equal JSON values in any member order and spacing; 1 and 1.0 are equal."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def new_id(kind: str) -> str:
    """An unguessable id: the kind, an underscore and 20 hexadecimal digits."""
    return f"{kind}_{secrets.token_hex(10)}"
