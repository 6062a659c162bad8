"""A request as a frozen value, and the methods by which a check changes exactly one part of it."""

from __future__ import annotations

import json
import re
import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec
from msgspec import field
from msgspec.structs import replace

from conformance.client.dpop import Proof
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.profile.behavior import Idempotency

if TYPE_CHECKING:
    from conformance.client.pattern import Length

_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_KEY_ATTEMPTS: Final = 50
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


METHOD_OVERRIDES: Final = ("X-HTTP-Method-Override", "X-Method-Override")
"""Headers by which some servers take a request for one of another method."""


class NoBody:
    """No body at all: not even an empty one."""

    def __repr__(self) -> str:
        return "NOTHING"


NO_BODY: Final = NoBody()


class RawBody(msgspec.Struct, frozen=True):
    """Bytes that are sent unchanged; with `media_type` None no Content-Type is sent."""

    content: bytes
    media_type: str | None = "application/json"


class Wire(msgspec.Struct, frozen=True):
    """The request as it is sent. `target` is the raw request target."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    content: bytes | None


class RequestFixtures(msgspec.Struct):
    """The fixtures of a request. Requests derived from one share this value, which also keeps later fixtures."""

    preset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Kind -> members supplied by the caller, for any state."""
    use: Mapping[str, str] = field(default_factory=dict)
    """Kind -> the requested state, in place of the profile's."""
    members: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """`kind.state` -> members of the fixture, in the order of use."""
    shared: bool = False
    """Whether they are those that all reads share."""


class Request(msgspec.Struct, frozen=True):
    """One call of one operation, before it is written as bytes.

    `path` and `query` hold plain values, encoded when written; those of `raw_path` and `raw_query` are written
    unchanged. `scope` holds the values of its placeholders, so that another body can be rendered for the same fixtures.
    """

    operation: Operation
    path: Mapping[str, str] = field(default_factory=dict)
    raw_path: Mapping[str, str] = field(default_factory=dict)
    query: tuple[tuple[str, str], ...] = ()
    raw_query: Mapping[str, str] = field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = ()
    body: Any = NO_BODY
    media_type: str = "application/json"
    authorization: tuple[str, ...] = ()
    """The Authorization header's values: none, one, or several for a check of repeated headers."""
    credential: str = ""
    evidence_texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Lower-case name and value of a header that evidence never repeats -> what it shows instead, with placeholders."""
    key: str | None = None
    """The idempotency key; None sends none."""
    idempotency: Idempotency | None = None
    proof: Proof | None = None
    scope: Mapping[str, Any] = field(default_factory=dict)
    fixtures: RequestFixtures = field(default_factory=RequestFixtures)
    arranged_at: float | None = None
    """When its fixtures were asked for, by the monotonic clock; None where it has none of its own."""
    method: str = ""
    """A method other than the operation's, for a check of methods."""
    is_minimal: bool = False
    """Sent with the headers that the call needs alone, their names in lower case: without Accept."""

    def __repr__(self) -> str:
        """Without what may hold a secret."""
        return (
            f"Request({self.method or self.operation.method} {self.operation.id}, {self.credential or 'no credential'})"
        )

    def with_body(self, body: Any) -> Request:
        return replace(self, body=body)

    def with_raw_body(self, content: bytes, media_type: str | None = "application/json") -> Request:
        return replace(self, body=RawBody(content, media_type))

    def without_body(self) -> Request:
        return replace(self, body=NO_BODY)

    def with_key(self, key: str | None) -> Request:
        return replace(self, key=key)

    def with_fresh_key(self) -> Request:
        return replace(self, key=new_key(self.idempotency)) if self.idempotency else self

    def with_path(self, **values: str) -> Request:
        return replace(self, path={**self.path, **values})

    def with_header(self, name: str, value: str, *, evidence: str = "") -> Request:
        """`evidence`: what reports show of a value that is never written."""
        changed = {**self.evidence_texts, (name.lower(), value): evidence} if evidence else self.evidence_texts
        return replace(self, headers=(*self.headers, (name, value)), evidence_texts=changed)

    def with_query(self, **values: str) -> Request:
        remaining = tuple(pair for pair in self.query if pair[0] not in values)
        return replace(self, query=(*remaining, *values.items()))

    def without_query(self, *names: str) -> Request:
        return replace(self, query=tuple(pair for pair in self.query if pair[0] not in names))

    def with_raw_query(self, name: str, raw: str) -> Request:
        """A query parameter written unchanged, in place of its present value."""
        return replace(self.without_query(name), raw_query={**self.raw_query, name: raw})

    def with_authorization(self, *values: str, credential: str = "", evidence: Sequence[str] = ()) -> Request:
        """`evidence`: what reports show of each value; without it, the credential's name alone."""
        names = {("authorization", value): text for value, text in zip(values, evidence, strict=False)}
        return replace(
            self, authorization=values, credential=credential, evidence_texts={**self.evidence_texts, **names}
        )

    def with_made_up_authorization(self, value: str) -> Request:
        """A value without any credential's key is not a secret: evidence shows it unchanged."""
        return self.with_authorization(value, evidence=(value,))

    def with_proof(self, proof: Proof | None) -> Request:
        return replace(self, proof=proof)

    @property
    def document(self) -> Any:
        """The JSON body as sent: with the idempotency key where bodies carry it, without any where there is no key.

        A body of the profile, or one made from a schema, may hold a key of its own.
        """
        if self.idempotency is None or self.idempotency.carrier != "body" or not isinstance(self.body, dict):
            return self.body
        if self.key is None:
            place = self.idempotency.pointer
            return pointer.remove(self.body, place) if pointer.has(self.body, place) else self.body
        try:
            return pointer.put(self.body, self.idempotency.pointer, self.idempotency.write(self.key))
        except KeyError:  # an object on the pointer's path has another type: there is no place for the key
            return self.body

    def wire(self, prefix: str) -> Wire:
        """The bytes of this request below `prefix`, the path part of the base URL; the proof is added by the sender."""
        target = prefix + self._path()
        has_accept = any(name == "Accept" for name, _ in self.headers)
        headers = [*([] if has_accept else [("Accept", "application/json")]), *self.headers]
        headers += [("Authorization", value) for value in self.authorization]
        query = list(self.query)
        if self.key is not None and self.idempotency is not None:
            if self.idempotency.carrier == "header":
                headers.append((self.idempotency.name, self.idempotency.write(self.key)))
            elif self.idempotency.carrier == "query":
                query.append((self.idempotency.name, self.idempotency.write(self.key)))
        pairs = [(name, _percent_encode(value)) for name, value in query] + list(self.raw_query.items())
        if pairs:
            target += "?" + "&".join(f"{_percent_encode(name)}={value}" for name, value in pairs)
        content, media_type = self._content()
        if media_type is not None:
            headers.append(("Content-Type", media_type))
        if self.is_minimal:
            headers = [(name.lower(), value) for name, value in headers if name != "Accept"]
        return Wire(self.method or self.operation.method, target, tuple(headers), content)

    def _path(self) -> str:
        path = self.operation.path
        for name in self.operation.path_parameters:
            value = self.raw_path[name] if name in self.raw_path else _percent_encode(str(self.path.get(name, "")))
            path = path.replace(f"{{{name}}}", value)
        return path

    def _content(self) -> tuple[bytes | None, str | None]:
        if isinstance(self.body, NoBody):
            return None, None
        if isinstance(self.body, RawBody):
            return self.body.content, self.body.media_type
        text = _ENCODE(self.document)
        return text.encode("utf-8", "surrogatepass"), self.media_type


def _percent_encode(value: str) -> str:
    """One segment of the path, or one name or value of the query."""
    return quote(value, safe="", errors="surrogatepass")


def new_key(idempotency: Idempotency | None, length: Length = "usual") -> str:
    """A new idempotency key in the profile's format. Several are generated, since a sample may miss a look-ahead.

    `length`: of a format that is a pattern.
    """
    if idempotency is None or idempotency.format != "pattern":
        return str(uuid.uuid4())
    candidates = (random_match(idempotency.pattern, length) for _ in range(_KEY_ATTEMPTS))
    return next((key for key in candidates if is_well_formed(idempotency, key)), random_match(idempotency.pattern))


def is_well_formed(idempotency: Idempotency | None, key: str) -> bool:
    """Whether a key has the profile's format."""
    if idempotency is None or idempotency.format in ("any", ""):
        return bool(key)
    if idempotency.format == "pattern":
        return re.fullmatch(idempotency.pattern, key) is not None
    return _UUID.fullmatch(key) is not None


def is_read_as_uuid(key: str) -> bool:
    """Whether parsers of UUIDs read the key, which take braces and need no hyphens."""
    try:
        uuid.UUID(key)
    except ValueError:
        return False
    return True


def malformed_key(idempotency: Idempotency) -> str:
    """A key that violates the profile's format; empty where no candidate does."""
    valid_key = new_key(idempotency)
    candidates = ("no such format", f"{valid_key}!", valid_key[:-1], "x", "~" * 300)
    return next((key for key in candidates if key and not is_well_formed(idempotency, key)), "")


def random_match(pattern: str, length: Length = "usual") -> str:
    """A random text that a regular expression matches."""
    from conformance.client.pattern import sample

    return sample(pattern, secrets.SystemRandom(), length)


def repeatable(request: Request) -> bool:
    """Whether a request may be sent again when its answer was lost: a read, or one that its key protects.

    A proof with a fixed jti is refused the second time if the first one was received.
    """
    if (request.method or request.operation.method) == "GET":
        return True
    is_jti_fixed = request.proof is not None and "jti" in request.proof.claims
    return bool(request.key) and not is_jti_fixed
