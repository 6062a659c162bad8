"""The model of a profile: each fact is declared here, and nowhere else.

Parsing, error messages, both JSON Schemas and the documentation follow from it (`build`, `structure`, `schema`). An
attribute of which nothing is said is no fact of the file: it comes from a table's name, or from the course of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from conformance.core.model import Waiver
from conformance.profile.facts import (
    Algorithms,
    Carrier,
    Command,
    CommandTemplate,
    Count,
    CountedBy,
    CredentialName,
    EmptyText,
    Entries,
    Excludable,
    Factor,
    FileName,
    FixtureName,
    FunctionName,
    JsonValue,
    KeyFormat,
    Members,
    Method,
    MissingKey,
    OperationId,
    Order,
    PageSizeTreatment,
    PastTheEnd,
    PathName,
    Pointer,
    Pointers,
    Positive,
    ProfileName,
    Scopes,
    Seconds,
    Status,
    Strings,
    Template,
    Templates,
    TemplateTable,
    Text,
    TextTemplate,
    UnknownFilter,
    UnknownValue,
    excludable,
    expected,
    fact,
)


@dataclass(frozen=True, slots=True)
class Tls:
    ca_file: Annotated[PathName | None, fact("Trust this CA (PEM), relative to the profile.")] = None
    verify: Annotated[bool, fact("False: do not verify.")] = True


@dataclass(frozen=True, slots=True)
class Limits:
    """`--limit NAME=VALUE` overrides each."""

    timeout_s: Annotated[Positive, fact("For one request, in seconds.")] = 10.0
    rate: Annotated[Positive | None, fact("Requests a second at most.")] = None
    max_requests: Annotated[Count, fact("In one run.")] = 50_000
    concurrency: Annotated[Count | None, fact("Requests in flight at once.")] = None
    deadline_s: Annotated[Positive | None, fact("For the whole run, in seconds.")] = None
    patience_s: Annotated[Seconds, fact("How long a request is repeated while it is answered 429, in seconds.")] = 60.0
    read_only: Annotated[bool, fact("Send only what cannot change state.")] = False
    proxy: Annotated[Text, fact("The URL of an HTTP proxy to the target.")] = ""
    """Only for requests to the target; nothing is read from the environment."""


@dataclass(frozen=True, slots=True)
class KeyringEntry:
    service: Annotated[Text, fact("The entry's service.")]
    username: Annotated[Text, fact("The entry's user name.")]


@dataclass(frozen=True, slots=True)
class SecretSource:
    env: Annotated[Text, fact("An environment variable.")] = ""
    file: Annotated[Path | None, fact("A file that only its owner can read, relative to the profile.")] = None
    command: Annotated[Command, fact("A program that prints it, and its arguments.")] = ()
    keyring: Annotated[KeyringEntry | None, fact("An entry of the system's keyring; needs the extra `keyring`.")] = None


@dataclass(frozen=True, slots=True)
class Credential:
    """An API key."""

    name: str
    source: Annotated[
        SecretSource,
        expected("exactly one of env, file, command and keyring"),
        Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1}),
        fact("Where the secret comes from; it never stands in the profile.", key="secret"),
    ]
    scopes: Annotated[
        Scopes, fact("The interface's scopes that the key has; others of the target's own are left out.", required=True)
    ] = frozenset()
    installation: Annotated[str, fact("Which installation the key belongs to, by any name.")] = ""
    status: Annotated[Status, fact("Whether the key is accepted.")] = "active"

    @property
    def active(self) -> bool:
        return self.status == "active"


@dataclass(frozen=True, slots=True)
class Idempotency:
    """How a call is made idempotent. For the carrier `body`, `pointer` says where; otherwise `name` does."""

    carrier: Annotated[Carrier, fact("Where the key travels.")]
    name: Annotated[Text, fact("The header's or query parameter's name.")] = ""
    pointer: Annotated[Pointer, fact("Where the key stands in the JSON body.")] = ""
    format: Annotated[KeyFormat, fact("What a key looks like. Default: any.")] = ""
    """`uuid`, `any`, `pattern`, and then `pattern` holds a regular expression, or empty where not stated."""
    pattern: str = ""
    missing_key: Annotated[MissingKey, fact("What happens without a key.")] = ""
    """Empty where not stated."""
    volatile: Annotated[Pointers, fact("What may differ in a replay.")] = ()
    retention_s: Annotated[Positive | None, fact("How long a key is remembered at least, in seconds.")] = None

    @property
    def place(self) -> str:
        """The pointer of the body's member that carries the key; empty where something else does."""
        return self.pointer if self.carrier == "body" else ""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A call to a test API of the target's owner. All strings may hold placeholders."""

    url: Annotated[TextTemplate, fact("An http or https URL.")]
    method: Annotated[Method, fact("The method.")] = "GET"
    json: Annotated[Template, fact("The body.")] = None
    headers: Annotated[Templates, fact("Further headers.")] = field(default_factory=dict)


FOREIGN: Final = "foreign"
"""The state of what belongs to another installation. It is never the state that a placeholder means by itself."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One kind in one state, with exactly one of values, http, command, python, call and from."""

    kind: str
    state: str
    values: Annotated[Entries, fact("Sets of members, each handed out once.")] = ()
    http: Annotated[HttpCall | None, fact("A call to a test API; the answer is a JSON object.")] = None
    command: Annotated[CommandTemplate, fact("A program that prints a JSON object.")] = ()
    python: Annotated[FunctionName, fact("A function, called with keyword `context`.")] = ""
    call: Annotated[OperationId, fact("An operation of the interface.")] = ""
    origin: Annotated[Text, fact("Another state of the same kind.", key="from")] = ""
    via: Annotated[tuple[OperationId, ...], fact("The operations that lead here from there.")] = ()
    members: Annotated[Members, fact("Member name to JSON pointer into what came.")] = field(default_factory=dict)
    items: Annotated[Pointer | None, fact("An array in what came: each element is one fixture.")] = None
    """None: the provider gives one at a time."""
    reusable: Annotated[bool, fact("Using one does not use it up.")] = False
    left: tuple[int, ...] | None = None
    """Which of `values` may still be handed out, by their places; None: all of them."""

    @property
    def name(self) -> str:
        return f"{self.kind}.{self.state}"

    @property
    def places(self) -> tuple[int, ...]:
        """The places in `values` that may be handed out, in that order."""
        return tuple(range(len(self.values))) if self.left is None else self.left


States = Annotated[Mapping[str, Excludable[Fixture]], Meta(min_length=1), expected("at least one state"), excludable()]


def default_state(states: Iterable[str]) -> str | None:
    """The state that a placeholder without one means: the first that is not another installation's."""
    return next((state for state in states if state != FOREIGN), None)


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """What one operation needs."""

    body: Annotated[Template, fact("A valid body.")] = None
    bodies: Annotated[tuple[Template, ...], fact("Other valid bodies, which differ in meaning.", exclusion=True)] = ()
    path: Annotated[Templates, fact("Path parameters.", exclusion=True)] = field(default_factory=dict)
    query: Annotated[TemplateTable, fact("Query parameters.")] = field(default_factory=dict)
    headers: Annotated[Templates, fact("Sent with every request of the operation.")] = field(default_factory=dict)
    unknown: Annotated[Templates, fact("Path values that name nothing.", exclusion=True)] = field(default_factory=dict)
    volatile: Annotated[Pointers, fact("Adds to [idempotency] volatile.")] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    scopes: Annotated[
        Pointer, fact("In the answer: where the scopes of the calling key are shown, by the interface's names.")
    ] = ""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The order that one value of sort means; no pointer: an order of the target's own, such as relevance."""

    by: Annotated[Pointer, fact("In an item: what the items are ordered by.")] = ""
    order: Annotated[Order, fact("From the smallest, or from the largest.")] = "ascending"


@dataclass(frozen=True, slots=True)
class Search:
    query: Annotated[TemplateTable, fact("One that is answered 200, with several pages.")] = field(default_factory=dict)
    page_base: Annotated[int | None, fact("The number of the first page.")] = None
    page_size_min: Annotated[Count | None, fact("The smallest pageSize.")] = None
    page_size_max: Annotated[Count | None, fact("The largest pageSize.")] = None
    stable_sort: Annotated[bool, fact("The order does not change between two requests.")] = False
    item_id: Annotated[Pointer, fact("In an item: what identifies it.")] = ""
    item_category: Annotated[Pointer, fact("In an item: what category compares.")] = ""
    item_merchant: Annotated[Pointer, fact("In an item: what merchant compares.")] = ""
    category: Annotated[str, fact("A value that some, but not all, products have.")] = ""
    merchant: Annotated[str, fact("A value that some, but not all, products have.")] = ""
    page_size_above: Annotated[
        PageSizeTreatment, fact("What happens above page_size_max: 400, or page_size_max is used.")
    ] = ""
    page_size_below: Annotated[
        PageSizeTreatment, fact("What happens below page_size_min: 400, or page_size_min is used.")
    ] = ""
    past_the_end: Annotated[PastTheEnd, fact("What a page after the last one is: an empty list, 400 or 404.")] = ""
    empty_q: Annotated[EmptyText, fact("What an empty q is: 400, or a search that finds everything or nothing.")] = ""
    q_max: Annotated[Count | None, fact("The longest q, in characters; a longer one is answered 400.")] = None
    unknown_category: Annotated[
        UnknownFilter, fact("What an unknown category is: 400, 404, an empty list, or as if it were not there.")
    ] = ""
    unknown_merchant: Annotated[
        UnknownFilter, fact("What an unknown merchant is: 400, 404, an empty list, or as if it were not there.")
    ] = ""
    unknown_parameter: Annotated[
        UnknownValue, fact("What an unknown query parameter is: 400, or as if it were not there.")
    ] = ""
    sorts: Annotated[
        Mapping[str, SortOrder], fact("Every value of sort that is allowed, and the order that it means.")
    ] = field(default_factory=dict)
    locales: Annotated[tuple[Text, ...], fact("Every value of locale that is allowed.")] = ()
    markets: Annotated[tuple[Text, ...], fact("Every value of market that is allowed.")] = ()
    unlisted: Annotated[
        UnknownValue, fact("What a sort, locale or market outside these lists is: 400, or as if it were another.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """`operation` on a fixture in that state, after the operations `after` on the same one, answers 409.

    With `leads_to` it is allowed there instead, and leaves the fixture in that state.
    """

    operation: Annotated[OperationId, fact("By operationId.")]
    fixture: Annotated[FixtureName, fact("KIND.STATE of [fixtures].")]
    after: Annotated[tuple[OperationId, ...], fact("Operations sent first, on the same fixture.")] = ()
    single_winner: Annotated[bool | None, fact("Of several at once at most one is answered 200.")] = None
    leads_to: Annotated[
        FixtureName, fact("KIND.STATE of [fixtures]: no conflict, but the state that the operation brings about.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Hosted:
    tickets_single_use: Annotated[bool | None, fact("A second consume is refused.")] = None
    projection_shared: Annotated[bool | None, fact("Consume and cancel answer the same projection.")] = None


@dataclass(frozen=True, slots=True)
class Effect:
    """The value at `pointer`, in the answer of another operation on the same fixture or of a call to a test API."""

    pointer: Annotated[Pointer, fact("The value that changes.")]
    operation: Annotated[OperationId, fact("By operationId.")] = ""
    http: Annotated[HttpCall | None, fact("The call.")] = None
    step: Annotated[int | None, fact("By how much a number grows with every effect.")] = None
    within_s: Annotated[Seconds | None, fact("How long an effect may take to show, in seconds.")] = None


@dataclass(frozen=True, slots=True)
class Cleanup:
    """How one kind is removed."""

    http: Annotated[HttpCall, fact("The call that removes one.")]


@dataclass(frozen=True, slots=True)
class Webhooks:
    id: Annotated[Pointer, fact("In the answer to create: the id.")] = ""
    patch: Annotated[TemplateTable | None, fact("What PATCH names.")] = None
    kept: Annotated[Pointers, fact("In both answers: what stays as it was.")] = ()


@dataclass(frozen=True, slots=True)
class RateLimit:
    provoke: Annotated[bool, fact("A burst may be sent, last and alone.")] = False
    credential: Annotated[CredentialName, fact("One of [credentials].")] = ""
    max_requests: Annotated[Count, fact("In one burst, for one operation.")] = 60
    limit: Annotated[Count | None, fact("How many requests pass in `window_s`.")] = None
    window_s: Annotated[Positive | None, fact("The length of the window, in seconds.")] = None
    tolerance: Annotated[Factor, fact("How many times that may pass: windows meet, each process counts alone.")] = 2.0
    per: Annotated[CountedBy, fact("What is counted separately.")] = ""
    """Empty where not stated."""
    retry_after: Annotated[bool | None, fact("Whether a 429 says in Retry-After when it is answered again.")] = None
    recovery_s: Annotated[Seconds | None, fact("After how many seconds at most it answers again.")] = None
    prepare: Annotated[HttpCall | None, fact("Sent before the burst.")] = None
    restore: Annotated[HttpCall | None, fact("Sent after the burst.")] = None


@dataclass(frozen=True, slots=True)
class OAuth:
    client_id: Annotated[str, fact("The client that codes are issued for.")] = ""
    redirect_uri: Annotated[str, fact("The redirect URI that codes are issued for.")] = ""
    other_client_id: Annotated[str, fact("Another client that exists.")] = ""
    other_redirect_uri: Annotated[str, fact("Registered for client_id as well.")] = ""
    algorithms: Annotated[Algorithms, fact("Accepted for DPoP proofs; the first is used, each is tried.")] = ("ES256",)
    token_url: Annotated[str, fact("The token endpoint as the target sees it, for htu; empty: as requested.")] = ""
    clock_allowance_s: Annotated[Seconds | None, fact("How far iat may be off, in seconds.")] = None
    codes_single_use: Annotated[bool | None, fact("A second exchange of a code is refused.")] = None
    code_verifier: Annotated[Pointer, fact("In the request's body.")] = ""
    code: Annotated[Pointer, fact("In the request's body.")] = ""
    client_id_member: Annotated[Pointer, fact("In the request's body.")] = ""
    redirect_uri_member: Annotated[Pointer, fact("In the request's body.")] = ""
    access_token: Annotated[Pointer, fact("In the answer.")] = ""
    token_type: Annotated[Pointer, fact("In the answer.")] = ""


@dataclass(frozen=True, slots=True)
class Schemas:
    """JSON Schemas by the interface's names."""

    by_name: Mapping[str, JsonValue] = field(default_factory=dict)
    """Each is self-contained: what it refers to is carried along in its own `$defs` or `components`."""
    file: Annotated[
        FileName,
        fact("OpenAPI document, or components, or a map of names to schemas; JSON or YAML, relative to the profile."),
    ] = field(default="", kw_only=True)
    names: Annotated[Mapping[str, Excludable[Text]], fact("The interface's name to the file's, where they differ.")] = (
        field(default_factory=dict, kw_only=True)
    )
    meta_null: Annotated[bool, fact('Lists may answer "meta": null.')] = False


@dataclass(frozen=True, slots=True)
class Profile:
    name: Annotated[ProfileName, fact("In reports and folder names.", exclusion=False)]
    base_url: Annotated[
        str, fact("An http or https URL, with a path prefix if there is one; /api/v1 follows it.", exclusion=False)
    ]
    """Without a trailing slash."""
    authorization: Annotated[
        Text,
        fact(
            "The header's value, with {key} in the key's place.",
            key="authorization.format",
            table="How an API key is written in the Authorization header.",
            placeholders="never",
            exclusion=False,
        ),
    ]
    digest: str = ""
    """sha256 of the profile file, its schema file and the overrides, so that equal digests judge alike."""
    path: Path | None = None
    directory: Path = field(default_factory=Path)
    """What relative paths start from, fixtures' programs and modules too."""
    description: Annotated[str, fact("Free text for the report.", placeholders="never", exclusion=False)] = ""
    variables: Annotated[Strings, fact("For {var.NAME}; --var NAME=value overrides one.", exclusion=False)] = field(
        default_factory=dict
    )
    tls: Annotated[Tls, fact("How the target's certificate is verified.", exclusion=False)] = Tls()
    limits: Annotated[Limits, fact("What a run may do to the target.", exclusion=False)] = Limits()
    credentials: Annotated[
        Mapping[str, Annotated[Credential, excludable("absentCredential")]],
        fact("API keys, by a name of your choice.", placeholders="never", exclusion=False),
    ] = field(default_factory=dict)
    idempotency: Annotated[Idempotency | None, fact("How a call is made idempotent.", placeholders="never")] = None
    errors_volatile: Annotated[
        Pointers,
        fact(
            "What differs from error to error.",
            key="errors.volatile",
            table="What is known of PublicErrorResponse besides its schema.",
        ),
    ] = ()
    fixtures: Annotated[
        Mapping[str, States],
        fact(
            "Where things come from that must exist: kind, then state; the first state is the default.", exclusion=False
        ),
    ] = field(default_factory=dict)
    """kind -> state -> fixture, in the file's order."""
    operations: Annotated[
        Mapping[str, Excludable[OperationFacts]], fact("What needs to be said of an operation, by operationId.")
    ] = field(default_factory=dict)
    schemas: Annotated[Schemas, fact("JSON Schemas by the names that the interface uses.")] = Schemas()
    identity: Annotated[Identity, fact("Facts about getApiKeyIdentity.")] = Identity()
    search: Annotated[Search, fact("Facts about searchPublicProducts.")] = Search()
    transitions: Annotated[
        tuple[Annotated[Transition, excludable("noTransition")], ...],
        fact("Which operation, in which state of its fixture, answers 409, or leads to which other state."),
    ] = ()
    hosted: Annotated[Hosted, fact("Facts about hosted checkout.")] = Hosted()
    effects: Annotated[
        Mapping[str, Excludable[Effect]], fact("How to see that an operation took effect, by operationId.")
    ] = field(default_factory=dict)
    webhooks: Annotated[Webhooks, fact("Facts about webhook endpoints.")] = Webhooks()
    cleanup: Annotated[
        Mapping[str, Excludable[Cleanup]], fact("How to remove what the suite created, by fixture kind.")
    ] = field(default_factory=dict)
    rate_limit: Annotated[RateLimit, fact("Whether and how a 429 may be provoked.")] = RateLimit()
    oauth: Annotated[OAuth | None, fact("Facts about the token exchange.")] = None
    revocation_propagation_s: Annotated[
        Seconds,
        fact(
            "How long a revoked key may go on working, in seconds.",
            key="revocation.propagation_s",
            table="Facts about revoked keys.",
        ),
    ] = 0.0
    exclusions: Mapping[str, str] = field(default_factory=dict)
    """Dotted key -> the reason why that is not there or cannot be seen (`none = "..."`)."""
    absent_credentials: Mapping[str, Credential] = field(default_factory=dict)
    """Name -> what sort of credential the profile says does not exist."""
    waivers: Annotated[tuple[Waiver, ...], fact("Accepted failures.", placeholders="never", exclusion=False)] = ()
