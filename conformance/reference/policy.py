"""The frozen value that decides every point the interface leaves "not shown".

`Policy` holds data and small strategies. `base.py` fills it; a variant or a fault is a function Policy -> Policy that
replaces some members, mostly through the helpers at the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.reference.call import Answer, Call, Caller, JsonObject, JsonValue, Refusal, Reply
from conformance.reference.routes import Route

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from conformance.reference.catalogue import Stock
    from conformance.reference.cursors import Cursors
    from conformance.reference.dpop import Proof
    from conformance.reference.idempotency import Record

Schema = Mapping[str, Any]
Waits = Iterator[float]
"""The waits of a step in seconds; the caller of the step waits."""
Stage = Callable[[Call], Waits | None]
"""One step of a call; raises `Refusal` to end it. `execute` is the one that sets `call.answer`."""
Handler = Callable[[Call, "Connection"], Answer]
Shaper = Callable[[Call, Answer], Answer]
"""Changes an answer's JSON value, status or headers; applied to successes, errors and replays."""
WireHook = Callable[[Call, Reply], Reply]
"""Changes the bytes, after everything else."""
Repeat = Callable[[Call, "Record", "Connection", Handler], Answer]
"""Answers a call whose key has a record, in an open transaction."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How bodies are read: media types, JSON text, members."""

    required: frozenset[str]
    """Operations with a required body."""
    accepts: Callable[[str | None], bool]
    """Whether a Content-Type value (None: absent) may carry JSON."""
    parse: Callable[[Call, bytes], JsonValue]
    """Text to JSON value; raises Refusal of kind `malformed`."""
    schemas: Mapping[str, Schema]
    """Request schemas by operation."""
    validate: Callable[[Call, Schema, JsonValue], JsonObject]
    """Validates and returns the body; raises Refusal of kind `invalid`."""
    max_bytes: int = 1024 * 1024
    max_depth: int = 64
    """How many objects and arrays may be within each other, the body included."""
    keeps_unknown: bool = False
    """Whether an endpoint keeps unknown members, and its answers show them."""


@dataclass(frozen=True, slots=True)
class IdempotencyRules:
    """Endpoints, rule 2. The record is written in the transaction of the effect."""

    operations: frozenset[str]
    key: Callable[[Call], str | None]
    """The key of a call; raises Refusal of kind `missing_key` or `bad_key`."""
    namespace: Callable[[Call], tuple[str, ...]]
    """The namespace of a key: two calls with equal key and namespace are the same call."""
    fingerprint: Callable[[Call], str]
    """Equal for equal payloads."""
    run: Callable[[Call, Handler], Answer]
    """Executes a call once for each key."""
    remembers: Callable[[int], bool]
    """The statuses whose answers are stored."""
    replay: Repeat
    """The answer to a repeated call."""
    on_mismatch: Repeat
    """The answer to a known key with another payload."""
    on_flight: str = "wait"
    """The answer to a duplicate of a call in progress: `wait` (then the replay) or `conflict` (409 immediately)."""
    work_s: float = 0.0
    """Duration of an effect outside the database; above 0, the key is visibly reserved meanwhile."""
    keep: int | None = None
    """Maximum number of records for one owner; None: unlimited."""
    is_forgotten: Callable[[Call, float], bool] = lambda _call, _age_s: False
    """(call, age of the record of its key in seconds) -> whether the key is as if it were new."""


@dataclass(frozen=True, slots=True)
class LimitRules:
    """The rate limiter: `limit` requests in `window_s` seconds."""

    limit: int
    window_s: float
    admit: Callable[[Call], float | None]
    """None to admit a call, or the seconds to wait."""
    headers: Callable[[float], tuple[tuple[str, str], ...]]
    """The headers of a 429, from the seconds to wait."""
    bucket: Callable[[Call], str]
    """Calls of one bucket are counted together."""


@dataclass(frozen=True, slots=True)
class SearchRules:
    """Search parameters: required ones, integers, bounds."""

    required: tuple[str, ...]
    defaults: Mapping[str, str]
    integer: Callable[[str, str], int | None]
    """(parameter name, text) -> number; None where the text is not an integer."""
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
    """(page counted from 0, page size, requested page) -> the slice of the hits."""
    stock: Stock
    empty_q: str = "refused"
    """What an empty q is: `refused`, or a search that finds `everything` or `nothing`."""
    q_max: int | None = None
    """The longest q in characters."""
    unknown_filter: Mapping[str, str] = field(default_factory=dict)
    """By filter, what an unknown value of it is: `refused`, `not_found` or `ignored`; no entry: it finds nothing."""
    unlisted: str = "refused"
    """What a sort, locale or market outside the lists is: `refused`, or `ignored`."""
    past_the_end: str = "empty"
    """What a page after the last one is: `empty`, `refused` or `not_found`."""
    cursors: Cursors | None = None
    """The cursors of pages; None: a page is asked for by its number alone."""


Condition = Callable[[Call, "Proof"], None]
GrantCondition = Callable[[Call, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class OAuthRules:
    """The token exchange: named conditions, so that each can be removed or replaced."""

    algorithms: tuple[str, ...]
    read_proof: Callable[[Call], Proof | None]
    """Conditions 1 and 2 of RFC 9449 section 4.3: one well-formed JWT, unverified. None: continue without a proof."""
    proof: Mapping[str, Condition]
    """The other conditions of section 4.3, in order."""
    grant: Mapping[str, GrantCondition]
    """The conditions for an authorization code, in order."""
    issue: Callable[[Call, Mapping[str, Any]], JsonObject]
    """The members of a token response."""
    headers: tuple[tuple[str, str], ...]
    clock_behind_s: float = 60.0
    """Maximum age of an accepted iat."""
    clock_ahead_s: float = 30.0
    """How far an accepted iat may be in the future."""
    proof_reuse: str = "retry"
    """What a used proof is: `refused`, `accepted`, or good for a `retry` of the very same request."""
    clients: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The redirect URIs of each client."""
    check_client: Callable[[Call], None] = lambda _call: None
    """Raises Refusal of kind `unknown_client`."""
    code_lifetime_s: float = 600.0
    token_lifetime_s: int = 3600
    nonce: Callable[[Call], str] | None = None
    """Demands this nonce in every proof (RFC 9449 section 8); None: no nonces."""


@dataclass(frozen=True, slots=True)
class Transport:
    """Properties of the transport; they do not change the content of answers."""

    latency_s: float = 0.0
    latency_every: int = 1
    """Every n-th request is delayed by `latency_s`."""
    chunked: bool = False
    gzip: bool = False
    close: bool = False
    loses: Callable[[Call, Reply], bool] = lambda _call, _reply: False
    """Whether the connection ends before the body of this answer."""
    takes_part_of_body: bool = False
    """Whether a body that ends before its length is read as one of the length that came, which is not JSON."""


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
    scheme: str
    """Whether a key needs its scheme: `required` or `optional`."""
    scheme_case: str
    """Whether the case of the scheme counts: `exact` or `any`."""
    public_credentials: str
    """What public operations do with an Authorization header: `ignored` or `checked`."""
    scopes: Mapping[str, str]
    """The scope that an operation needs; no entry: none."""
    permits: Callable[[Call, Caller], bool]
    sees: Callable[[Call, str], bool]
    """Whether the caller may see an object of that installation."""
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
    state_refusals: Mapping[str, str]
    """By `kind.state`, the kind of refusal of what that state does not allow; no entry: `state_conflict`."""
    guard: Callable[[Call, str, str], None]
    """(call, kind, state): refuses what the state does not allow."""
    statuses: Mapping[str, int]
    """By kind of refusal."""
    error: Callable[[Call, Refusal], Answer]
    media_type: str
    error_media_type: str
    merge: Callable[[JsonObject, JsonObject], JsonObject]
    """PATCH: (endpoint, changes) -> changed endpoint."""
    shape: tuple[Shaper, ...] = ()
    wire: tuple[WireHook, ...] = ()
    fresh_headers: tuple[str, ...] = ()
    """The headers that every reply has."""
    fresh_value: Callable[[Call, int], str | None] = lambda call, _status: call.request_id
    """(call, status) -> the value of these headers; None: they are not sent."""
    transport: Transport = Transport()
    ticket_lifetime_s: float = float("inf")
    """Of a hosted checkout session's ticket."""
    counters: Mapping[str, str] = field(default_factory=dict)
    """By operationId, the form in which the control app shows its effects. No entry: a `count` from 0.

    `absent`: no `count` before the first effect; `not_found`: 404 until then; `log`: the array `events` of times;
    `shared`: a `count` of the effects of all operations.
    """
    reads_lag_s: float = 0.0
    """Seconds by which effect counts, here and in the control app, lag behind writes."""
    overlap: bool = False
    """Whether calls must overlap even on a store in memory, where they otherwise run one by one."""


evolve = dataclasses.replace


def with_idempotency(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, idempotency=evolve(policy.idempotency, **changes))


def with_reading(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, reading=evolve(policy.reading, **changes))


def with_schema(policy: Policy, operation: str, schema: Schema) -> Policy:
    """With another schema of the operation's request body."""
    return with_reading(policy, schemas={**policy.reading.schemas, operation: schema})


def with_limits(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, limits=evolve(policy.limits, **changes))


def with_search(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, search=evolve(policy.search, **changes))


def with_oauth(policy: Policy, **changes: Any) -> Policy:
    return evolve(policy, oauth=evolve(policy.oauth, **changes))


def with_proof(policy: Policy, **conditions: Condition) -> Policy:
    """With other conditions of a proof, by name."""
    return with_oauth(policy, proof={**policy.oauth.proof, **conditions})


def with_status(policy: Policy, kind: str, status: int) -> Policy:
    return evolve(policy, statuses={**policy.statuses, kind: status})


def with_handler(policy: Policy, operation: str, wrap: Callable[[Handler], Handler]) -> Policy:
    return evolve(policy, handlers={**policy.handlers, operation: wrap(policy.handlers[operation])})


def with_handlers(policy: Policy, operations: Iterable[str], wrap: Callable[[Handler], Handler]) -> Policy:
    """As `with_handler`, for several operations."""
    for operation in operations:
        policy = with_handler(policy, operation, wrap)
    return policy


def before_work(policy: Policy, look: Callable[[Call, Connection], Call | None], *operations: str) -> Policy:
    """`look` gets each call of these operations before its work, and may replace it."""

    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            return inner(look(call, db) or call, db)

        return act

    return with_handlers(policy, operations, wrap)


def with_stage(policy: Policy, stage: Stage, before: Stage | None = None) -> Policy:
    """A further stage: the first one, or before another."""
    stages = list(policy.stages)
    stages.insert(stages.index(before) if before else 0, stage)
    return evolve(policy, stages=tuple(stages))


def with_shape(policy: Policy, shaper: Shaper, *operations: str) -> Policy:
    """Adds a shaper, for the named operations or for all."""

    def shape_selected(call: Call, answer: Answer) -> Answer:
        return shaper(call, answer) if not operations or call.operation in operations else answer

    return evolve(policy, shape=(*policy.shape, shape_selected))


def with_wire(policy: Policy, hook: WireHook, *operations: str) -> Policy:
    """Adds a wire hook, for the named operations or for all."""

    def change_selected(call: Call, reply: Reply) -> Reply:
        return hook(call, reply) if not operations or call.operation in operations else reply

    return evolve(policy, wire=(*policy.wire, change_selected))


def with_states(policy: Policy, operation: str, *further_states: str) -> Policy:
    """Allows an operation in further states."""
    return evolve(policy, states={**policy.states, operation: policy.states[operation] | frozenset(further_states)})
