"""What the laws over several exchanges need to know of a target: plain data, carried by the first line of a journal."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class OperationRule(msgspec.Struct, frozen=True):
    """One operation of the interface, and what the profile states of its requests."""

    method: str
    path: str
    """The template, from `/api/v1` on."""
    auth: str
    """`api_key`, `oauth` or `none`."""
    scope: str = ""
    idempotent: bool = False
    has_body: bool = False
    is_catalog: bool = False
    """A public read, which needs no key in any case."""
    meaningful: tuple[str, ...] = ()
    """JSON pointers of body members that the profile's bodies hold, so that another value is another payload.
    `*` is any index."""
    single_use: str = ""
    """The JSON pointer of a code or ticket in the body that the profile states to be good once."""


class CredentialRule(msgspec.Struct, frozen=True):
    """One API key of the profile, by its name."""

    scopes: tuple[str, ...] = ()
    installation: str = ""
    """Empty where not stated."""
    status: str = "active"
    """`active`, `revoked` or `expired`."""


class KeyRule(msgspec.Struct, frozen=True):
    """How a request carries its idempotency key, and what belongs to it; `profile.behavior.Idempotency` says more."""

    carrier: str
    """`header`, `query` or `body`."""
    name: str = ""
    pointer: str = ""
    volatile: tuple[str, ...] = ()
    retention_s: float | None = None
    """None where not stated."""
    stores_success: bool = True
    """False where the profile states that a 200 is not stored."""
    namespace: tuple[str, ...] | None = None
    """None where not stated."""
    in_flight: str = ""
    """`waits` or `conflict`: what becomes of a duplicate of a call in progress; empty where not stated."""
    is_case_insensitive: bool = False
    missing_is_refused: bool = False
    format: str = ""
    """A regular expression that a whole key must match; empty unless a key of another format is stated as refused."""
    accepted: str = ""
    """A regular expression of keys that are certainly accepted; empty where no format is stated."""


class SearchRule(msgspec.Struct, frozen=True):
    """What the profile states of searchPublicProducts; None or empty where it does not."""

    required: tuple[str, ...] = ()
    """The required query parameters of the interface."""
    known: tuple[str, ...] = ()
    """Its query parameters, the required ones and the others."""
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    """A query that is answered 200; without those of its values that hold placeholders."""
    page_base: int | None = None
    page_size_min: int | None = None
    page_size_max: int | None = None
    page_size_above: str = ""
    page_size_below: str = ""
    past_the_end: str = ""
    page_max: int | None = None
    empty_q: str = ""
    q_max: int | None = None
    unknown_category: str = ""
    unknown_merchant: str = ""
    unknown_parameter: str = ""
    sorts: Mapping[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    """Every allowed value -> the pointer in an item that it orders by, which may be empty, and the direction."""
    locales: tuple[str, ...] = ()
    markets: tuple[str, ...] = ()
    unlisted: str = ""
    category: str = ""
    """The stated value; another one may hold further categories, and list their items."""
    item_category: str = ""
    item_merchant: str = ""
    item_id: str | None = None
    """Empty: an item is its own id."""
    stable_sort: bool = False
    cursor_parameter: str = ""


class AnswerRule(msgspec.Struct, frozen=True):
    """Where an answer shows a fact, and its stated value."""

    operation: str
    requirement: str
    pointer: str
    kind: str
    """`text` (equal to `value`), `seconds` (at most `value`), `scopes` or `installation` (of the calling key)."""
    value: str = ""


class ConflictRule(msgspec.Struct, frozen=True):
    """After a 200 to `after` on a resource, `operation` on the same one is answered `status`."""

    operation: str
    after: str
    status: int


class BodyRule(msgspec.Struct, frozen=True):
    """What the profile states of request bodies; None or empty where it does not."""

    media_types: tuple[str, ...] = ()
    absent_media_type_is_refused: bool = False
    absent_media_type_is_accepted: bool = False
    max_bytes: int | None = None
    max_depth: int | None = None


class LawFacts(msgspec.Struct, frozen=True):
    """All facts of one target."""

    operations: Mapping[str, OperationRule]
    """By operationId."""
    credentials: Mapping[str, CredentialRule] = msgspec.field(default_factory=dict)
    """By the profile's names, as in `Exchange.credential`."""
    idempotency: KeyRule | None = None
    search: SearchRule = SearchRule()
    bodies: BodyRule = BodyRule()
    answers: tuple[AnswerRule, ...] = ()
    conflicts: tuple[ConflictRule, ...] = ()
    foreign_status: int | None = None
    """The stated status for an object of another installation."""
    public_ignores_keys: bool = False
    """The profile states that public operations ignore the Authorization header."""
    propagation_s: float = 0.0
    """How long a revoked key may still be accepted after the traffic began."""
    retry_after: bool | None = None
    """Whether a 429 has a Retry-After header; None where not stated."""
    recovery_s: float | None = None
    """How long a rate limit lasts at most; None where not stated."""
    verifier: str = ""
    """The JSON pointer of the PKCE verifier in the body of a token exchange."""
    clock_s: float = 0.0001
    """How inexact the recorded moments are: a HAR has milliseconds."""
    is_current: bool = True
    """The facts held while the traffic was recorded. False for a recording that may be older than the profile."""
    is_all_traffic: bool = False
    """All requests with these credentials were recorded, so that a lasting limit has no other cause."""
