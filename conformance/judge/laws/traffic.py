"""Recorded exchanges as calls: caller, operation, key, time and answer. Bodies are read on demand."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from sys import intern
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from conformance.client.redaction.secrets import is_secret_name
from conformance.core import json_pointer as pointer
from conformance.core.law_facts import KeyRule, LawFacts, OperationRule
from conformance.core.model import Exchange, Message
from conformance.core.query import parameters, without_fragment
from conformance.judge.laws import comparison

UNKNOWN: Final = "?"
"""A caller or a key of which the recording does not show enough."""
_TEXT_LIMIT: Final = 2048
_HEADER_COUNT: Final = 64
"""The bounds of a recorded exchange: what reaches them may be cut."""
_DOT_SEGMENT: Final = re.compile(r"//|/\.{1,2}(/|$)|%2e|%2f|%5c|\\", re.IGNORECASE)
"""A path that two servers may read differently."""
_SAME_CALL_HEADERS: Final = ("content-type", "content-encoding", "accept", "accept-language")
_CREDENTIAL: Final = re.compile(r"«credential:([^»]*)»")


class Call(msgspec.Struct, frozen=True, gc=False):
    """One request to an operation of the interface. `number`: its index in the recorded exchanges.

    A recording may have a million: what few of them need is read from the exchange.
    """

    number: int
    operation: str
    at: float
    end: float
    """In seconds since the recording began; `end` at the latest."""
    status: int
    """0 where no answer was read: whether the call had an effect is not known."""
    caller: str
    """The profile's name of the API key, the mark of an unknown one, "" without one, or UNKNOWN."""
    is_named: bool
    key: str
    """The idempotency key, "" without one, or UNKNOWN."""
    path: tuple[str, ...]
    query: str
    """As sent, without the idempotency key."""
    payload: bytes
    """A digest of the body and of the headers that give it its meaning; empty where it is not known in full."""
    body_bytes: int
    answer: bytes
    """A digest of the answer's body; empty where it is truncated, and for operations that take no idempotency key."""
    single_use: str
    """What identifies the code or the ticket in the body; empty where nothing does."""
    shows_secret: bool
    """Something else than the Authorization header may identify the caller."""
    has_authorization: bool

    @property
    def ok(self) -> bool:
        return self.status == 200

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The query's parameters, decoded."""
        return parameters(self.query)


class Traffic:
    """All calls of a recording in the order of their begin. `exchanges` is read once, and again on demand."""

    def __init__(self, exchanges: Sequence[Exchange], facts: LawFacts) -> None:
        self._exchanges = exchanges
        self.facts = facts
        self._reader = _Reader(facts)
        calls: list[Call] = []
        for number, exchange in enumerate(exchanges):
            if (call := self._reader.call(number, exchange)) is not None:
                calls.append(call)
        self.calls: tuple[Call, ...] = tuple(sorted(calls, key=lambda call: (call.at, call.number)))
        self.exchange = lru_cache(maxsize=512)(lambda number: exchanges[number])
        self._request = lru_cache(maxsize=512)(lambda number: _value(self.exchange(number).request))
        self._answer = lru_cache(maxsize=512)(lambda number: _value(self.exchange(number).response))

    def moments(self) -> Iterator[tuple[float, float, Call | None]]:
        """(begin, end, call) of every exchange in the order of their begin; None for what is not a plain call."""
        begins, ends = array("d"), array("d")
        for item in self._exchanges:
            begins.append(item.at)
            ends.append(item.at + item.duration_ms / 1000)
        calls = {call.number: call for call in self.calls}
        for number in sorted(range(len(begins)), key=lambda number: (begins[number], ends[number])):
            yield begins[number], ends[number], calls.get(number)

    def ids(self, *calls: Call) -> tuple[str, ...]:
        """The ids of the exchanges of calls."""
        return tuple(self.exchange(call.number).id for call in calls)

    def request_value(self, call: Call) -> Any:
        """The JSON value of a request's body, or NO_VALUE."""
        return self._request(call.number)

    def answer_value(self, call: Call) -> Any:
        """The JSON value of an answer's body, or NO_VALUE."""
        return self._answer(call.number)

    def request_text(self, call: Call) -> str:
        return str(self.exchange(call.number).request.body)

    def request_header(self, call: Call, name: str) -> str | None:
        """The value of a request's only header of that name; None without one, UNKNOWN where there are several."""
        return only_header(self.exchange(call.number).request, name)

    @cached_property
    def by_operation(self) -> Mapping[str, Sequence[Call]]:
        found: dict[str, list[Call]] = defaultdict(list)
        for call in self.calls:
            found[call.operation].append(call)
        return found

    def of(self, operation: str) -> Sequence[Call]:
        return self.by_operation.get(operation, ())

    def on(self, *, auth: str) -> Iterator[tuple[Call, OperationRule]]:
        """The calls of the operations with this access mode."""
        for call in self.calls:
            if (rule := self.facts.operations[call.operation]).auth == auth:
                yield call, rule

    @cached_property
    def _accepted_requests(self) -> Mapping[tuple[object, ...], float]:
        """What was refused at some time, with and without the resource -> when it was first answered 200."""
        found: dict[tuple[object, ...], float] = {}
        refused = {form for call in self.calls if not call.ok and call.payload for form in _forms(call)}
        for call in self.calls:
            if call.ok and call.payload:
                for form in refused.intersection(_forms(call)):
                    found[form] = min(call.end, found.get(form, call.end))
        return found

    def is_accepted(self, call: Call, *, before: bool = False, anywhere: bool = False) -> bool:
        """Whether a request that was refused was answered 200: on its resource, or with `anywhere` on another one.

        `before`: when it was sent.
        """
        first = self._accepted_requests.get(_forms(call)[anywhere])
        return first is not None and (not before or first <= call.at)

    @cached_property
    def sees_authorization(self) -> bool:
        """Whether the recording holds Authorization headers: browsers leave them out of what they export."""
        return any(call.has_authorization for call in self.calls)

    @cached_property
    def by_key(self) -> Mapping[str, Sequence[Call]]:
        """The calls of idempotent operations by their idempotency key, of those that several calls have."""
        seen: set[str] = set()
        repeated: dict[str, list[Call]] = {}
        for call in self._calls_with_keys():
            if call.key in seen:
                repeated[call.key] = []
            seen.add(call.key)
        for call in self._calls_with_keys():
            if call.key in repeated:
                repeated[call.key].append(call)
        return repeated

    def _calls_with_keys(self) -> Iterator[Call]:
        for call in self.calls:
            if call.key not in ("", UNKNOWN) and self.facts.operations[call.operation].idempotent:
                yield call


def _forms(call: Call) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """What is asked for on its resource, and on any."""
    return (call.operation, call.path, call.query, call.payload), (call.operation, None, call.query, call.payload)


def only_header(message: Message, name: str) -> str | None:
    values = [value for header, value in message.headers if header.lower() == name.lower()]
    return None if not values else values[0] if len(values) == 1 else UNKNOWN


def _value(message: Message) -> Any:
    return comparison.parse(message.body, truncated=message.truncated)


class _Reader:
    """Exchange -> Call."""

    def __init__(self, facts: LawFacts) -> None:
        self._facts = facts
        self._paths = {
            name: re.compile("(?:/.*)?" + re.sub(r"\\\{[^{}]*\\\}", "([^/]+)", re.escape(rule.path)))
            for name, rule in facts.operations.items()
        }

    def call(self, number: int, exchange: Exchange) -> Call | None:
        """None for a request that is not plainly a call of its operation."""
        rule = self._facts.operations.get(exchange.operation)
        if rule is None or exchange.method != rule.method:
            return None
        request = exchange.request
        url = without_fragment(exchange.url)
        if len(exchange.url) >= _TEXT_LIMIT or len(request.headers) >= _HEADER_COUNT:
            return None
        address, _, query = url.partition("?")
        path = "/" + address.partition("://")[2].partition("/")[2]
        match = self._paths[exchange.operation].fullmatch(path)
        if match is None or _DOT_SEGMENT.search(path):
            return None
        key, rest = self._key(request, query)
        caller, is_named, has_authorization = _caller(exchange)
        return Call(
            number=number,
            operation=intern(exchange.operation),
            at=exchange.at,
            end=exchange.at + exchange.duration_ms / 1000 + self._facts.clock_s,
            status=exchange.status or 0,
            caller=_shared_text(caller),
            is_named=is_named,
            key=key,
            path=tuple(map(unquote, match.groups())),
            query=_shared_text(rest),
            payload=_payload(request),
            body_bytes=request.body_bytes,
            answer=b"" if exchange.response.truncated or not rule.idempotent else _digest(exchange.response.body),
            single_use=self._single_use(rule, request),
            shows_secret=_shows_secret(exchange.url, query, request),
            has_authorization=has_authorization,
        )

    def _key(self, request: Message, query: str) -> tuple[str, str]:
        """The idempotency key, and the query without it."""
        rule = self._facts.idempotency
        if rule is None:
            return UNKNOWN, query
        if rule.carrier == "header":
            value = only_header(request, rule.name)
            return ("" if value is None else _key_text(value)), query
        if rule.carrier == "body":
            return self._key_in_body(rule, request), query
        pairs = [part for part in query.split("&") if unquote(part.partition("=")[0]) == rule.name]
        rest = "&".join(part for part in query.split("&") if part not in pairs)
        if len(pairs) > 1:
            return UNKNOWN, rest
        return (_key_text(unquote(pairs[0].partition("=")[2])) if pairs else ""), rest

    @staticmethod
    def _key_in_body(rule: KeyRule, request: Message) -> str:
        if not request.body and not request.body_bytes:
            return ""
        value = _value(request)
        if value is comparison.NO_VALUE:
            return UNKNOWN
        found = pointer.get(value, rule.pointer) if pointer.has(value, rule.pointer) else ""
        return _key_text(found) if isinstance(found, str) else UNKNOWN

    @staticmethod
    def _single_use(rule: OperationRule, request: Message) -> str:
        if not rule.single_use:
            return ""
        value = _value(request)
        if value is comparison.NO_VALUE or not pointer.has(value, rule.single_use):
            return ""
        return comparison.mark_of(pointer.get(value, rule.single_use))


def _key_text(key: str) -> str:
    """A key as sent, or UNKNOWN where it was cut or redacted without a mark."""
    return key.strip() if len(key) < _TEXT_LIMIT and comparison.is_comparable(key) else UNKNOWN


def _caller(exchange: Exchange) -> tuple[str, bool, bool]:
    """Who called, whether that is a name of the profile, and whether there is an Authorization header."""
    values = [value for name, value in exchange.request.headers if name.lower() == "authorization"]
    if not values:
        return "", False, False
    if len(values) > 1:
        return UNKNOWN, False, True
    (value,) = values
    if names := _CREDENTIAL.findall(value):
        is_certain = len(names) == 1 and names[0] == exchange.credential
        return (names[0], True, True) if is_certain else (UNKNOWN, False, True)
    if not value.strip():
        return "", False, True
    return (
        (value, False, True) if comparison.is_comparable(value) and not exchange.credential else (UNKNOWN, False, True)
    )


def _shows_secret(url: str, query: str, request: Message) -> bool:
    headers = [
        (name.lower(), value) for name, value in request.headers if name.lower() not in ("authorization", "dpop")
    ]
    names = [name for name, _ in headers] + [unquote(part.partition("=")[0]) for part in query.split("&")]
    return (
        "«" in url
        or any("«" in value for _, value in headers)
        or any(is_secret_name(name) or name in ("cookie", "proxy-authorization") for name in names)
    )


def _payload(request: Message) -> bytes:
    if request.truncated or not comparison.is_comparable(request.body):
        return b""
    meaning = [value for name, value in request.headers if name.lower() in _SAME_CALL_HEADERS]
    text = "\n".join([*meaning, "", request.body])
    return _digest(text) if request.body else _shared_digest(text)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


_shared_text = lru_cache(maxsize=4096)(str)
"""One value for equal texts: `sys.intern` would take more memory for those that come once."""
_shared_digest = lru_cache(maxsize=512)(_digest)
"""One value for all requests without a body."""
