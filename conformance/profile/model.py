"""The model of a profile: each fact is declared here, and nowhere else.

Parsing, error messages, both JSON Schemas and the documentation follow from it (`build`, `structure`, `schema`). An
attribute without `fact` is not stated in the file: it comes from a table's name, or is set during a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from conformance.core import json_pointer as pointer
from conformance.core.model import Waiver
from conformance.profile.behavior import (
    Answers,
    Authorization,
    Bodies,
    Hosted,
    Idempotency,
    Identity,
    OAuth,
    RateLimit,
    Search,
    Signs,
    Tenancy,
    Transition,
    Webhooks,
)
from conformance.profile.facts import (
    Command,
    Concurrency,
    Count,
    Depth,
    Duration,
    Excludable,
    FileName,
    JsonValue,
    PathName,
    Pointers,
    Positive,
    ProfileName,
    Rate,
    Scopes,
    Seconds,
    Status,
    Strings,
    Text,
    describe_values,
    excludable,
    fact,
)
from conformance.profile.resources import Cleanup, OperationFacts, States
from conformance.profile.subschema import Root


@dataclass(frozen=True, slots=True)
class Tls:
    ca_file: Annotated[PathName | None, fact("Trust this CA (PEM), relative to the profile.")] = None
    verify: Annotated[bool, fact("False: do not verify.")] = True


@dataclass(frozen=True, slots=True)
class Limits:
    """`--limit NAME=VALUE` overrides each."""

    timeout_s: Annotated[Positive, fact("For one request, in seconds.")] = 10.0
    rate: Annotated[Rate | None, fact("Maximum number of requests a second, on average.")] = None
    max_requests: Annotated[Count, fact("Maximum number in one run.")] = 50_000
    depth: Annotated[
        Depth,
        fact(
            "How much a run asks: a quick one sends up to 600 requests and is never conformant; "
            "a deep one asks each case on each operation, and generates more requests."
        ),
    ] = "standard"
    concurrency: Annotated[Concurrency | None, fact("Requests in flight at once.")] = None
    deadline_s: Annotated[Duration | None, fact("For the whole run, in seconds.")] = None
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
        Authorization,
        fact("How an API key is written in the Authorization header.", placeholders="never", exclusion=False),
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
    bodies: Annotated[Bodies, fact("Facts about request bodies.", placeholders="never")] = field(default_factory=Bodies)
    answers: Annotated[Answers, fact("Facts about every answer.", placeholders="never")] = field(
        default_factory=Answers
    )
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
    identity: Annotated[Identity, fact("Facts about getApiKeyIdentity.")] = field(default_factory=Identity)
    search: Annotated[Search, fact("Facts about searchPublicProducts.")] = field(default_factory=Search)
    transitions: Annotated[
        tuple[Annotated[Transition, excludable("noTransition")], ...],
        fact("Which operation, in which state of its fixture, answers 409, or leads to which other state."),
    ] = ()
    tenancy: Annotated[Tenancy, fact("Facts about installations.")] = field(default_factory=Tenancy)
    hosted: Annotated[Hosted, fact("Facts about hosted checkout.")] = field(default_factory=Hosted)
    effects: Annotated[
        Mapping[str, Excludable[Signs]],
        fact("How to observe the effect of an operation, by operationId: one sign, or several."),
    ] = field(default_factory=dict)
    webhooks: Annotated[Webhooks, fact("Facts about webhook endpoints.")] = field(default_factory=Webhooks)
    cleanup: Annotated[Mapping[str, Excludable[Cleanup]], fact("How to remove created resources, by fixture kind.")] = (
        field(default_factory=dict)
    )
    rate_limit: Annotated[RateLimit, fact("Whether and how a 429 may be provoked.")] = field(default_factory=RateLimit)
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

    def body_schema(self, name: str) -> JsonValue:
        """The schema of a request body as the profile writes it: the suite adds a key that is a member of it.

        None where it is not stated.
        """
        schema: JsonValue = self.schemas.by_name.get(name)
        place = self.idempotency.place if self.idempotency else ""
        is_carrier = place and isinstance(schema, Mapping)
        return Root(schema).without_required(schema, pointer.tokens(place)) if is_carrier else schema

    def visible_after_s(self, operation_id: str) -> float:
        """Seconds until an effect of a call of this operation, or its object, is visible; 0.0 where none are stated."""
        return max((sign.within_s or 0.0 for sign in self.effects.get(operation_id, ())), default=0.0)
