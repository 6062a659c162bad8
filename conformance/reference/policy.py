"""The one frozen value that decides every point the interface leaves "not shown".

`Policy` holds data and small strategies and no behaviour of its own. `base.py` fills it in; a variant or a fault is a
function Policy -> Policy that replaces some of its members, mostly through the helpers at the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.reference.call import Answer, Call, Caller, JsonObject, JsonValue, Refusal, Reply
from conformance.reference.routes import Route

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from conformance.reference.dpop import Proof
    from conformance.reference.idempotency import Record

Schema = Mapping[str, Any]
Waits = Iterator[float]
"""The seconds that something has to wait for, one wait after the other; whoever carries it out does the waiting."""
Stage = Callable[[Call], Waits | None]
"""One step of a call; raises `Refusal` to end it. `execute` is the one that sets `call.answer`."""
Handler = Callable[[Call, "Connection"], Answer]
Shaper = Callable[[Call, Answer], Answer]
"""Changes an answer's JSON value, status or headers; sees successes, errors and replays alike."""
WireHook = Callable[[Call, Reply], Reply]
"""Changes the bytes, after everything else."""
Repeat = Callable[[Call, "Record", "Connection", Handler], Answer]
"""Answers a call whose key has a record, in an open transaction."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How bodies are read: media types, JSON text, members."""

    required: frozenset[str]
    """Operations that demand a body."""
    accepts: Callable[[str | None], bool]
    """Whether a Content-Type value (None: absent) may carry JSON."""
    parse: Callable[[Call, bytes], JsonValue]
    """Text to JSON value; raises Refusal of kind `malformed`."""
    schemas: Mapping[str, Schema]
    """Request schemas by operation."""
    validate: Callable[[Call, Schema, JsonValue], JsonObject]
    """The body to work with; raises Refusal of kind `invalid`."""
    max_bytes: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class IdempotencyRules:
    """Endpoints, rule 2. The record is written in the transaction of the effect."""

    operations: frozenset[str]
    key: Callable[[Call], str | None]
    """The key of a call; raises Refusal of kind `missing_key` or `bad_key`."""
    namespace: Callable[[Call], tuple[str, ...]]
    """Where a key counts: two calls with equal key and namespace are the same call."""
    fingerprint: Callable[[Call], str]
    """Equal for equal payloads."""
    run: Callable[[Call, Handler], Answer]
    """Carries out a call once per key."""
    remembers: Callable[[int], bool]
    """Which statuses of a carried-out call are stored."""
    replay: Repeat
    """The answer to a repeated call."""
    on_mismatch: Repeat
    """The answer to a known key with another payload."""
    on_flight: str = "wait"
    """What a duplicate of a call under way gets: `wait` (then the replay) or `conflict` (409 at once)."""
    work_s: float = 0.0
    """How long an effect takes beside the database; above 0, the key is reserved visibly meanwhile."""
    keep: int | None = None
    """How many records one installation keeps; None: all."""


@dataclass(frozen=True, slots=True)
class LimitRules:
    """The rate limiter: so many requests in so many seconds."""

    limit: int
    window_s: float
    admit: Callable[[Call], float | None]
    """None to admit a call, or after how many seconds to come back."""
    headers: Callable[[float], tuple[tuple[str, str], ...]]
    """The headers of a 429, from the seconds to wait."""
    bucket: Callable[[Call], str]
    """Calls of one bucket are counted together."""


@dataclass(frozen=True, slots=True)
class SearchRules:
    """Search parameters: what must be there, how integers are read, what the bounds are."""

    required: tuple[str, ...]
    defaults: Mapping[str, str]
    integer: Callable[[str, str], int | None]
    """(parameter name, text) -> number; None where the text is no integer."""
    sorts: tuple[str, ...]
    locales: tuple[str, ...]
    markets: tuple[str, ...]
    page_base: int
    page_size_min: int
    page_size_max: int
    clamp: bool
    """Whether a page size out of bounds is clamped or refused with 400."""
    known_only: bool
    """Whether an unknown query parameter is refused."""
    filters: tuple[str, ...]
    window: Callable[[int, int, int], slice]
    """(page counted from 0, page size, page as asked) -> which of the hits are answered."""


Condition = Callable[[Call, "Proof"], None]
GrantCondition = Callable[[Call, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class OAuthRules:
    """The token exchange: named conditions, so that one can be taken out or replaced."""

    algorithms: tuple[str, ...]
    read_proof: Callable[[Call], Proof | None]
    """Conditions 1 and 2 of RFC 9449 section 4.3: one well-formed JWT, unverified. None: go on without."""
    proof: Mapping[str, Condition]
    """The other conditions of section 4.3, in order."""
    grant: Mapping[str, GrantCondition]
    """What an authorization code must fulfil, in order."""
    issue: Callable[[Call, Mapping[str, Any]], JsonObject]
    """The members of a token response."""
    headers: tuple[tuple[str, str], ...]
    clock_s: float = 60.0
    remember_jti: bool = True
    nonce: Callable[[Call], str] | None = None
    """Demands this nonce in every proof (RFC 9449 section 8); None: no nonces."""


@dataclass(frozen=True, slots=True)
class Transport:
    """How answers travel; none of it changes what they say."""

    latency_s: float = 0.0
    latency_every: int = 1
    """One request in so many is held up by `latency_s`."""
    chunked: bool = False
    gzip: bool = False
    close: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    routes: Mapping[str, Route]
    """By operationId."""
    split: Callable[[bytes], tuple[str, ...] | None]
    """A raw path to its decoded segments; None where it cannot name anything."""
    unrouted: Callable[[Call, tuple[str, ...]], Answer]
    """The answer where no route matches, from the methods that the path has."""
    handlers: Mapping[str, Handler]
    local: frozenset[str]
    """Operations that need no database."""
    stages: tuple[Stage, ...]
    access: Mapping[str, str]
    """By operationId: `key`, `dpop` or `public`."""
    authenticate: Callable[[Call], Caller]
    scopes: Mapping[str, str]
    """The scope that an operation needs; no entry: none."""
    permits: Callable[[Call, Caller], bool]
    sees: Callable[[Call, str], bool]
    """Whether the caller may know of an object of that installation."""
    unseen: str
    """The kind of refusal for an object of another installation: `not_found` or `foreign`."""
    id_grammar: bool
    """Whether an id that cannot exist is refused with 400 instead of 404."""
    reading: Reading
    idempotency: IdempotencyRules
    limits: LimitRules
    search: SearchRules
    oauth: OAuthRules
    states: Mapping[str, frozenset[str]]
    """By operationId: the states in which it is allowed."""
    guard: Callable[[Call, str, str], None]
    """(call, kind, state): refuses what the state does not allow."""
    statuses: Mapping[str, int]
    """By kind of refusal."""
    error: Callable[[Call, Refusal], Answer]
    media_type: str
    error_media_type: str
    merge: Callable[[JsonObject, JsonObject], JsonObject]
    """PATCH: what an endpoint is after a change."""
    shape: tuple[Shaper, ...] = ()
    wire: tuple[WireHook, ...] = ()
    transport: Transport = Transport()
    reads_lag_s: float = 0.0
    """How long what counts effects, here and in the control app, lags behind writes."""
    overlap: bool = False
    """Whether calls must overlap even on a store in memory, where they would otherwise be carried out one by one."""


evolve = dataclasses.replace


def with_idempotency(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, idempotency=evolve(policy.idempotency, **changes))


def with_reading(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, reading=evolve(policy.reading, **changes))


def with_limits(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, limits=evolve(policy.limits, **changes))


def with_search(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, search=evolve(policy.search, **changes))


def with_oauth(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, oauth=evolve(policy.oauth, **changes))


def with_status(policy: Policy, kind: str, status: int) -> Policy:
    return evolve(policy, statuses={**policy.statuses, kind: status})


def with_handler(policy: Policy, operation: str, wrap: Callable[[Handler], Handler]) -> Policy:
    return evolve(policy, handlers={**policy.handlers, operation: wrap(policy.handlers[operation])})


def with_shape(policy: Policy, shaper: Shaper, *operations: str) -> Policy:
    """Adds a shaper, for these operations only where any are named."""

    def limited(call: Call, answer: Answer) -> Answer:
        return shaper(call, answer) if not operations or call.operation in operations else answer

    return evolve(policy, shape=(*policy.shape, limited))


def with_wire(policy: Policy, hook: WireHook, *operations: str) -> Policy:
    """Adds a wire hook, for these operations only where any are named."""

    def limited(call: Call, reply: Reply) -> Reply:
        return hook(call, reply) if not operations or call.operation in operations else reply

    return evolve(policy, wire=(*policy.wire, limited))


def with_states(policy: Policy, operation: str, *more: str) -> Policy:
    """Allows an operation in further states."""
    return evolve(policy, states={**policy.states, operation: policy.states[operation] | frozenset(more)})
