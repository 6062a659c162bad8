"""The frozen values of a profile. `profiles/template.toml` says in words what each fact means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from conformance.core.model import Waiver

JsonValue = Any


@dataclass(frozen=True, slots=True)
class Tls:
    ca_file: Path | None = None
    verify: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    timeout_s: float = 10.0
    rate: float | None = None
    max_requests: int = 50_000
    concurrency: int | None = None
    deadline_s: float | None = None
    patience_s: float = 60.0
    read_only: bool = False
    proxy: str = ""
    """Only for requests to the target; nothing is read from the environment."""


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Where a secret comes from: exactly one of the four."""

    env: str = ""
    file: Path | None = None
    command: tuple[str, ...] = ()
    keyring: tuple[str, str] | None = None
    """Service and user name."""


@dataclass(frozen=True, slots=True)
class Credential:
    name: str
    source: SecretSource
    scopes: frozenset[str] = frozenset()
    installation: str = ""
    status: str = "active"

    @property
    def active(self) -> bool:
        return self.status == "active"


@dataclass(frozen=True, slots=True)
class Idempotency:
    """How a call is made idempotent. `carrier` is header, query or body; for body, `pointer` says where."""

    carrier: str
    name: str = ""
    pointer: str = ""
    format: str = ""
    """`uuid`, `any`, `pattern`, and then `pattern` holds a regular expression, or empty where not stated."""
    pattern: str = ""
    missing_key: str = ""
    """`refused`, `accepted`, or empty where not stated."""
    volatile: tuple[str, ...] = ()
    retention_s: float | None = None
    """How long a key is remembered at least; None where not stated."""

    @property
    def place(self) -> str:
        """The pointer of the body's member that carries the key; empty where something else does."""
        return self.pointer if self.carrier == "body" else ""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A call to a test API of the target's owner. All strings may hold placeholders."""

    url: str
    method: str = "GET"
    json: JsonValue = None
    headers: Mapping[str, str] = field(default_factory=dict)


FOREIGN: Final = "foreign"
"""The state of what belongs to another installation. It is never the state that a placeholder means by itself."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One kind in one state, and how to get it. Exactly one of values, http, command, python, call, origin is set."""

    kind: str
    state: str
    values: tuple[Mapping[str, JsonValue], ...] = ()
    http: HttpCall | None = None
    command: tuple[str, ...] = ()
    python: str = ""
    call: str = ""
    origin: str = ""
    """`from` in TOML: another state of the same kind."""
    via: tuple[str, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    """Member name -> JSON pointer into what the provider gave."""
    items: str | None = None
    """Where what the provider gave has an array of them; None: it gives one at a time."""
    reusable: bool = False
    left: tuple[int, ...] | None = None
    """Which of `values` may still be handed out, by their places; None: all of them."""

    @property
    def name(self) -> str:
        return f"{self.kind}.{self.state}"

    @property
    def places(self) -> tuple[int, ...]:
        """The places in `values` that may be handed out, in that order."""
        return tuple(range(len(self.values))) if self.left is None else self.left


def default_state(states: Iterable[str]) -> str | None:
    """The state that a placeholder without one means: the first that is not another installation's."""
    return next((state for state in states if state != FOREIGN), None)


@dataclass(frozen=True, slots=True)
class OperationFacts:
    body: JsonValue = None
    bodies: tuple[JsonValue, ...] = ()
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, JsonValue] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    volatile: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    scopes: str = ""
    """Where getApiKeyIdentity shows the scopes of the calling key."""


@dataclass(frozen=True, slots=True)
class Search:
    query: Mapping[str, JsonValue] = field(default_factory=dict)
    page_base: int | None = None
    page_size_min: int | None = None
    page_size_max: int | None = None
    stable_sort: bool = False
    item_id: str = ""
    item_category: str = ""
    item_merchant: str = ""
    category: str = ""
    merchant: str = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """`operation` on a fixture in that state, after the operations `after` on the same one, answers 409.

    With `leads_to` it is allowed there instead, and leaves the fixture in that state.
    """

    operation: str
    fixture: str
    """`kind.state`"""
    after: tuple[str, ...] = ()
    single_winner: bool | None = None
    """Whether of several calls at once only one succeeds; None where not stated."""
    leads_to: str = ""
    """`kind.state`, or empty for a conflict."""


@dataclass(frozen=True, slots=True)
class Hosted:
    tickets_single_use: bool | None = None
    projection_shared: bool | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """How to see that an operation took effect: the value at `pointer`, in another operation's answer or a call's."""

    pointer: str
    operation: str = ""
    http: HttpCall | None = None
    step: int | None = None
    within_s: float | None = None
    """How long it may take to show; None where not stated."""


@dataclass(frozen=True, slots=True)
class Webhooks:
    id: str = ""
    patch: JsonValue = None
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RateLimit:
    provoke: bool = False
    credential: str = ""
    max_requests: int = 60
    limit: int | None = None
    window_s: float | None = None
    tolerance: float = 2.0
    """How many times the declared limit may pass: windows meet, processes count for themselves."""
    per: str = ""
    """What is counted separately: `key`, `installation`, `operation`, `address`, or empty where not stated."""
    retry_after: bool | None = None
    """Whether a 429 says in Retry-After when the request is answered again; None where not stated."""
    recovery_s: float | None = None
    prepare: HttpCall | None = None
    restore: HttpCall | None = None


@dataclass(frozen=True, slots=True)
class OAuth:
    client_id: str = ""
    redirect_uri: str = ""
    other_client_id: str = ""
    other_redirect_uri: str = ""
    algorithms: tuple[str, ...] = ("ES256",)
    token_url: str = ""
    clock_allowance_s: float | None = None
    codes_single_use: bool | None = None
    code_verifier: str = ""
    code: str = ""
    client_id_member: str = ""
    redirect_uri_member: str = ""
    access_token: str = ""
    token_type: str = ""


@dataclass(frozen=True, slots=True)
class Schemas:
    """JSON Schemas by the interface's names. `document` is the whole file, against which `$ref`s resolve."""

    by_name: Mapping[str, JsonValue] = field(default_factory=dict)
    """Each is self-contained: what it refers to is carried along in its own `$defs` or `components`."""
    meta_null: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    base_url: str
    """Without a trailing slash; may end in a path prefix."""
    authorization: str
    """The value of the Authorization header, with `{key}` in the key's place."""
    digest: str = ""
    """sha256 of the profile file, its schema file and the overrides, so that equal digests judge alike."""
    path: Path | None = None
    directory: Path = Path()
    """What relative paths start from, fixtures' programs and modules too."""
    description: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    tls: Tls = Tls()
    limits: Limits = Limits()
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    idempotency: Idempotency | None = None
    errors_volatile: tuple[str, ...] = ()
    fixtures: Mapping[str, Mapping[str, Fixture]] = field(default_factory=dict)
    """kind -> state -> fixture, in the file's order."""
    operations: Mapping[str, OperationFacts] = field(default_factory=dict)
    schemas: Schemas = Schemas()
    identity: Identity = Identity()
    search: Search = Search()
    transitions: tuple[Transition, ...] = ()
    hosted: Hosted = Hosted()
    effects: Mapping[str, Effect] = field(default_factory=dict)
    webhooks: Webhooks = Webhooks()
    cleanup: Mapping[str, HttpCall] = field(default_factory=dict)
    """Fixture kind -> the call that removes one."""
    rate_limit: RateLimit = RateLimit()
    oauth: OAuth | None = None
    revocation_propagation_s: float = 0.0
    exclusions: Mapping[str, str] = field(default_factory=dict)
    """Dotted key -> the reason why that is not there or cannot be seen (`none = "..."`)."""
    absent_credentials: Mapping[str, Credential] = field(default_factory=dict)
    """Name -> what sort of credential the profile says does not exist."""
    waivers: tuple[Waiver, ...] = ()
