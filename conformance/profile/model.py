"""The model of a profile: each fact is declared here, and nowhere else.

Parsing, error messages, both JSON Schemas and the documentation follow from it (`build`, `structure`, `schema`). An
attribute without `fact` is not stated in the file: it comes from a table's name, or is set during a run.
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
    describe_values,
    excludable,
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
    rate: Annotated[Positive | None, fact("Maximum number of requests a second.")] = None
    max_requests: Annotated[Count, fact("Maximum number in one run.")] = 50_000
    concurrency: Annotated[Count | None, fact("Requests in flight at once.")] = None
    deadline_s: Annotated[Positive | None, fact("For the whole run, in seconds.")] = None
    patience_s: Annotated[Seconds, fact("How long a request is repeated while it is answered 429, in seconds.")] = 60.0
    read_only: Annotated[bool, fact("Send only what cannot change state.")] = False
    proxy: Annotated[Text, fact("The URL of an HTTP proxy to the target.")] = ""
    """Only for requests to the target; proxies of the environment are ignored."""


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
        describe_values("exactly one of env, file, command and keyring"),
        Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1}),
        fact("Where the secret comes from; the profile never contains it.", key="secret"),
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

    carrier: Annotated[Carrier, fact("Where a request carries the key.")]
    name: Annotated[Text, fact("The header's or query parameter's name.")] = ""
    pointer: Annotated[Pointer, fact("The place of the key in the JSON body.")] = ""
    format: Annotated[KeyFormat, fact("The format of a key. Default: any.")] = ""
    """`uuid`, `any`, `pattern` (then `pattern` is a regular expression), or empty where not stated."""
    pattern: str = ""
    missing_key: Annotated[MissingKey, fact("The answer to a request without a key.")] = ""
    """Empty where not stated."""
    volatile: Annotated[Pointers, fact("Members that may differ in a replay.")] = ()
    retention_s: Annotated[Positive | None, fact("The minimum time for which a key is stored, in seconds.")] = None

    @property
    def place(self) -> str:
        """The pointer of the body's member that carries the key; empty for other carriers."""
        return self.pointer if self.carrier == "body" else ""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A call to a test API of the target's owner. All strings may hold placeholders."""

    url: Annotated[TextTemplate, fact("An http or https URL.")]
    method: Annotated[Method, fact("The method.")] = "GET"
    json: Annotated[Template, fact("The body.")] = None
    headers: Annotated[Templates, fact("Further headers.")] = field(default_factory=dict)


FOREIGN: Final = "foreign"
"""The state of resources of another installation. A placeholder without a state never refers to it."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One kind in one state, with exactly one of values, http, command, python, call and from."""

    kind: str
    state: str
    values: Annotated[Entries, fact("Sets of members, each used once.")] = ()
    http: Annotated[HttpCall | None, fact("A call to a test API; the answer is a JSON object.")] = None
    command: Annotated[CommandTemplate, fact("A program that prints a JSON object.")] = ()
    python: Annotated[FunctionName, fact("A function, called with keyword `context`.")] = ""
    call: Annotated[OperationId, fact("An operation of the interface.")] = ""
    origin: Annotated[Text, fact("Another state of the same kind.", key="from")] = ""
    via: Annotated[tuple[OperationId, ...], fact("The operations that lead from that state to this one.")] = ()
    members: Annotated[Members, fact("Member name to JSON pointer into the result.")] = field(default_factory=dict)
    items: Annotated[Pointer | None, fact("An array in the result: each element is one fixture.")] = None
    """None: the provider returns one fixture at a time."""
    reusable: Annotated[bool, fact("Each may be used repeatedly.")] = False
    unused_places: tuple[int, ...] | None = None
    """The indices of the `values` that may still be used; None: all of them."""

    @property
    def name(self) -> str:
        return f"{self.kind}.{self.state}"

    @property
    def places(self) -> tuple[int, ...]:
        """The indices of the `values` that may be used, in order."""
        return tuple(range(len(self.values))) if self.unused_places is None else self.unused_places


States = Annotated[
    Mapping[str, Excludable[Fixture]], Meta(min_length=1), describe_values("at least one state"), excludable()
]


def default_state(states: Iterable[str]) -> str | None:
    """The state for a placeholder without one: the first that is not another installation's."""
    return next((state for state in states if state != FOREIGN), None)


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """Facts about one operation."""

    body: Annotated[Template, fact("A valid body.")] = None
    bodies: Annotated[tuple[Template, ...], fact("Other valid bodies, which differ in meaning.", exclusion=True)] = ()
    path: Annotated[Templates, fact("Path parameters.", exclusion=True)] = field(default_factory=dict)
    query: Annotated[TemplateTable, fact("Query parameters.")] = field(default_factory=dict)
    headers: Annotated[Templates, fact("Sent with every request of the operation.")] = field(default_factory=dict)
    unknown: Annotated[Templates, fact("Values of unknown resources.", exclusion=True)] = field(default_factory=dict)
    volatile: Annotated[Pointers, fact("Adds to [idempotency] volatile.")] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    scopes: Annotated[
        Pointer, fact("In the answer: where the scopes of the calling key are shown, by the interface's names.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Search:
    query: Annotated[TemplateTable, fact("One that is answered 200, with several pages.")] = field(default_factory=dict)
    page_base: Annotated[int | None, fact("The number of the first page.")] = None
    page_size_min: Annotated[Count | None, fact("The smallest pageSize.")] = None
    page_size_max: Annotated[Count | None, fact("The largest pageSize.")] = None
    stable_sort: Annotated[bool, fact("The order does not change between two requests.")] = False
    item_id: Annotated[Pointer, fact("In an item: its identifier.")] = ""
    item_category: Annotated[Pointer, fact("In an item: the value that category filters.")] = ""
    item_merchant: Annotated[Pointer, fact("In an item: the value that merchant filters.")] = ""
    category: Annotated[str, fact("A value that some, but not all, products have.")] = ""
    merchant: Annotated[str, fact("A value that some, but not all, products have.")] = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """`operation` on a fixture in that state, after the operations `after` on the same one, answers 409.

    With `leads_to` it is answered 200 instead, and changes the fixture to that state.
    """

    operation: Annotated[OperationId, fact("By operationId.")]
    fixture: Annotated[FixtureName, fact("KIND.STATE of [fixtures].")]
    after: Annotated[tuple[OperationId, ...], fact("Operations sent first, on the same fixture.")] = ()
    single_winner: Annotated[bool | None, fact("Of concurrent requests at most one is answered 200.")] = None
    leads_to: Annotated[FixtureName, fact("KIND.STATE of [fixtures]: no conflict, but the resulting state.")] = ""


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
    step: Annotated[int | None, fact("The increment of a number with every effect.")] = None
    within_s: Annotated[Seconds | None, fact("Maximum time until an effect is visible, in seconds.")] = None


@dataclass(frozen=True, slots=True)
class Cleanup:
    """How one kind is removed."""

    http: Annotated[HttpCall, fact("The call that removes one.")]


@dataclass(frozen=True, slots=True)
class Webhooks:
    id: Annotated[Pointer, fact("In the answer to create: the id.")] = ""
    patch: Annotated[TemplateTable | None, fact("The body of PATCH: the members that it changes.")] = None
    kept: Annotated[Pointers, fact("In both answers: members that PATCH does not change.")] = ()


@dataclass(frozen=True, slots=True)
class RateLimit:
    provoke: Annotated[bool, fact("A burst may be sent, last and alone.")] = False
    credential: Annotated[CredentialName, fact("One of [credentials].")] = ""
    max_requests: Annotated[Count, fact("In one burst, for one operation.")] = 60
    limit: Annotated[Count | None, fact("Number of requests accepted in `window_s`.")] = None
    window_s: Annotated[Positive | None, fact("The length of the window, in seconds.")] = None
    tolerance: Annotated[Factor, fact("Factor over `limit`: windows overlap, processes count separately.")] = 2.0
    per: Annotated[CountedBy, fact("What is counted separately.")] = ""
    """Empty where not stated."""
    retry_after: Annotated[bool | None, fact("Whether a 429 says in Retry-After when requests are accepted.")] = None
    recovery_s: Annotated[Seconds | None, fact("Maximum time until requests are accepted again, in seconds.")] = None
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
    clock_allowance_s: Annotated[Seconds | None, fact("Maximum deviation of an accepted iat, in seconds.")] = None
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
    """Each is self-contained: its own `$defs` or `components` contain all schemas that it refers to."""
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
    """sha256 of the profile file, its schema file and the overrides, so that equal digests mean equal judgements."""
    path: Path | None = None
    directory: Path = field(default_factory=Path)
    """The base of relative paths, also of fixtures' programs and modules."""
    description: Annotated[str, fact("Free text for the report.", placeholders="never", exclusion=False)] = ""
    variables: Annotated[Strings, fact("For {var.NAME}; --var NAME=value overrides one.", exclusion=False)] = field(
        default_factory=dict
    )
    tls: Annotated[Tls, fact("How the target's certificate is verified.", exclusion=False)] = Tls()
    limits: Annotated[Limits, fact("Limits of a run's requests.", exclusion=False)] = Limits()
    credentials: Annotated[
        Mapping[str, Annotated[Credential, excludable("absentCredential")]],
        fact("API keys, by a name of your choice.", placeholders="never", exclusion=False),
    ] = field(default_factory=dict)
    idempotency: Annotated[Idempotency | None, fact("How a call is made idempotent.", placeholders="never")] = None
    errors_volatile: Annotated[
        Pointers,
        fact(
            "Members that differ between error bodies.",
            key="errors.volatile",
            table="Facts about PublicErrorResponse besides its schema.",
        ),
    ] = ()
    fixtures: Annotated[
        Mapping[str, States],
        fact(
            "Sources of resources that must exist: kind, then state; the first state is the default.", exclusion=False
        ),
    ] = field(default_factory=dict)
    """kind -> state -> fixture, in the file's order."""
    operations: Annotated[
        Mapping[str, Excludable[OperationFacts]], fact("Facts about an operation, by operationId.")
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
        Mapping[str, Excludable[Effect]], fact("How to observe the effect of an operation, by operationId.")
    ] = field(default_factory=dict)
    webhooks: Annotated[Webhooks, fact("Facts about webhook endpoints.")] = Webhooks()
    cleanup: Annotated[Mapping[str, Excludable[Cleanup]], fact("How to remove created resources, by fixture kind.")] = (
        field(default_factory=dict)
    )
    rate_limit: Annotated[RateLimit, fact("Whether and how a 429 may be provoked.")] = RateLimit()
    oauth: Annotated[OAuth | None, fact("Facts about the token exchange.")] = None
    revocation_propagation_s: Annotated[
        Seconds,
        fact(
            "How long a revoked key may still be accepted, in seconds.",
            key="revocation.propagation_s",
            table="Facts about revoked keys.",
        ),
    ] = 0.0
    exclusions: Mapping[str, str] = field(default_factory=dict)
    """Dotted key -> the reason of its exclusion (`none = "..."`)."""
    absent_credentials: Mapping[str, Credential] = field(default_factory=dict)
    """Name -> facts of a credential that does not exist, as the profile says."""
    waivers: Annotated[tuple[Waiver, ...], fact("Accepted failures.", placeholders="never", exclusion=False)] = ()
