"""The facts about how a target behaves where the interface says "not shown", one value for each table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from conformance.profile.facts import (
    Acceptance,
    Algorithms,
    ApiKeyCase,
    BadCredential,
    Carrier,
    Count,
    CountedBy,
    CredentialName,
    EmptyText,
    ExchangeStatus,
    Excludable,
    Factor,
    FailureBurns,
    FixtureName,
    ForeignStatus,
    FurtherMembers,
    HeaderName,
    InFlight,
    JsonValue,
    KeptStatuses,
    KeyCase,
    KeyFormat,
    KeyParts,
    MediaRange,
    MemberPointer,
    MissingKey,
    NonceUse,
    OperationId,
    Order,
    OtherFormat,
    PageSizeTreatment,
    PastTheEnd,
    Pointer,
    Pointers,
    Positive,
    ProofReuse,
    RefusalStatus,
    SchemeCase,
    SchemeUse,
    Seconds,
    SortedValues,
    Templates,
    TemplateTable,
    Text,
    TicketStatus,
    UnknownFilter,
    UnknownMembers,
    UnknownValue,
    fact,
    one_or_several,
)
from conformance.profile.resources import HttpCall


@dataclass(frozen=True, slots=True)
class Authorization:
    """How an API key is written in the Authorization header."""

    format: Annotated[Text, fact("The header's value, with {key} in the key's place.", exclusion=False)]
    scheme: Annotated[
        SchemeUse,
        fact(
            "required: a key with another scheme or without one is answered 401. optional: the key alone is accepted.",
            exclusion=True,
        ),
    ] = ""
    scheme_case: Annotated[SchemeCase, fact("Whether the case of the scheme's letters counts.", exclusion=True)] = ""
    key_case: Annotated[ApiKeyCase, fact("Whether the case of an API key's letters counts.", exclusion=True)] = ""
    public: Annotated[
        BadCredential,
        fact(
            "On public operations. ignored: any Authorization header. checked: 401 to an unknown key.", exclusion=True
        ),
    ] = ""

    @property
    def scheme_name(self) -> str:
        """The scheme (RFC 9110 section 11.4) of the format: what a blank separates from the key; empty without one."""
        return scheme_of(self.format)

    def header(self, key: str) -> str:
        """The header's value for a key."""
        return self.format.replace("{key}", key)


def scheme_of(form: str) -> str:
    """The scheme of a format; empty where the key, or what is joined to it, comes first."""
    scheme, blank, _ = form.partition("{key}")[0].lstrip().partition(" ")
    return scheme if blank else ""


@dataclass(frozen=True, slots=True)
class Bodies:
    """Facts about request bodies besides their schemas."""

    unknown_members: Annotated[
        UnknownMembers,
        fact("What an unknown member is: 400, nothing, or a part of the endpoint that create and PATCH answer."),
    ] = ""
    media_types: Annotated[
        tuple[MediaRange, ...], fact("Every Content-Type that is accepted; any other is answered 400.")
    ] = ()
    absent_media_type: Annotated[Acceptance, fact("What a body without Content-Type is.")] = ""
    max_bytes: Annotated[Count | None, fact("The largest body in bytes; a larger one is answered 400.")] = None
    max_depth: Annotated[
        Count | None, fact("How many objects and arrays may be within each other, the body included; more is 400.")
    ] = None


@dataclass(frozen=True, slots=True)
class Answers:
    """Facts about every answer, errors included, besides its schema."""

    fresh_headers: Annotated[
        tuple[HeaderName, ...], fact("Response headers that every answer has, each time with a new value.")
    ] = ()
    further_members: Annotated[
        FurtherMembers, fact("Whether an answer may have members that its schema does not name.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """How a call is made idempotent. For the carrier `body`, `pointer` says where; otherwise `name` does."""

    carrier: Annotated[Carrier, fact("Where a request carries the key.")]
    name: Annotated[Text, fact("The header's or query parameter's name.")] = ""
    pointer: Annotated[MemberPointer, fact("The place of the key in the JSON body.")] = ""
    format: Annotated[KeyFormat, fact("The format of a key. Default: any.")] = ""
    """`uuid`, `any`, `pattern` (then `pattern` is a regular expression), or empty where not stated."""
    pattern: str = ""
    missing_key: Annotated[MissingKey, fact("The answer to a request without a key.")] = ""
    """Empty where not stated."""
    volatile: Annotated[Pointers | None, fact("Members that may differ in a replay.")] = None
    retention_s: Annotated[Positive | None, fact("The minimum time for which a key is stored, in seconds.")] = None
    kept: Annotated[
        KeptStatuses | None, fact("The statuses whose answers are stored and replayed; any other answer frees the key.")
    ] = None
    namespace: Annotated[
        KeyParts | None,
        fact(
            "What a key belongs to: the same key under another one is another call. Under another one of the rest: 409."
        ),
    ] = None
    in_flight: Annotated[InFlight, fact("A duplicate of a call in progress: it waits and is replayed, or 409.")] = ""
    other_format: Annotated[OtherFormat, fact("The answer to a key of another format: 400, or as to any key.")] = ""
    case: Annotated[KeyCase, fact("Whether keys that differ in upper and lower case are different keys.")] = ""
    written: Annotated[
        Text, fact("How a key is written at its carrier: {key}, and what stands around it.", placeholders="never")
    ] = "{key}"

    @property
    def place(self) -> str:
        """The pointer of the body's member that carries the key; empty for other carriers."""
        return self.pointer if self.carrier == "body" else ""

    def write(self, key: str) -> str:
        """The text at the carrier. Between double quotes in a header, a key is escaped as a string of RFC 8941."""
        if self.carrier == "header" and '"{key}"' in self.written:
            key = key.replace("\\", r"\\").replace('"', r"\"")
        return self.written.replace("{key}", key)


@dataclass(frozen=True, slots=True)
class Identity:
    scopes: Annotated[
        MemberPointer, fact("In the answer: where the scopes of the calling key are shown, by the interface's names.")
    ] = ""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The order that one value of sort means; no pointer: an order of the target's own, such as relevance."""

    by: Annotated[MemberPointer, fact("In an item: what the items are ordered by.")] = ""
    order: Annotated[Order, fact("From the smallest, or from the largest.")] = "ascending"
    values: Annotated[SortedValues, fact("What texts at `by` stand for; else they may be in any order of texts.")] = ""


@dataclass(frozen=True, slots=True)
class Search:
    query: Annotated[TemplateTable, fact("One that is answered 200, with several pages.")] = field(default_factory=dict)
    page_base: Annotated[int | None, fact("The number of the first page.")] = None
    page_size_min: Annotated[Count | None, fact("The smallest pageSize.")] = None
    page_size_max: Annotated[Count | None, fact("The largest pageSize.")] = None
    stable_sort: Annotated[bool | None, fact("The order does not change between two requests.")] = None
    item_id: Annotated[Pointer | None, fact("In an item: its identifier; empty: the item is one.")] = None
    item_category: Annotated[MemberPointer, fact("In an item: the value that category filters.")] = ""
    item_merchant: Annotated[MemberPointer, fact("In an item: the value that merchant filters.")] = ""
    category: Annotated[str, fact("A value that some, but not all, products have.")] = ""
    merchant: Annotated[str, fact("A value that some, but not all, products have.")] = ""
    page_size_above: Annotated[PageSizeTreatment, fact("Above page_size_max: 400, or page_size_max is used.")] = ""
    page_size_below: Annotated[PageSizeTreatment, fact("Below page_size_min: 400, or page_size_min is used.")] = ""
    past_the_end: Annotated[PastTheEnd, fact("What a page after the last one is: an empty list, 400 or 404.")] = ""
    page_max: Annotated[
        Count | None,
        fact("Up to this page, with any pageSize, a page past the end is as stated; a larger one may be refused."),
    ] = None
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
    cursor: Annotated[
        MemberPointer,
        fact("In the answer: the next page's cursor, text or a number; absent, null or empty on the last page."),
    ] = ""
    cursor_parameter: Annotated[
        Text, fact("The parameter that takes a cursor, in place of page or beside it, with the rest of the query.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """`operation` on a fixture in that state, after the operations `after` on the same one, is refused with `status`.

    With `leads_to` it is answered 200 instead, and changes the fixture to that state.
    """

    operation: Annotated[OperationId, fact("By operationId.")]
    fixture: Annotated[FixtureName, fact("KIND.STATE of [fixtures].")]
    after: Annotated[tuple[OperationId, ...], fact("Operations sent first, on the same fixture.")] = ()
    single_winner: Annotated[bool | None, fact("Of concurrent requests at most one is answered 200.")] = None
    leads_to: Annotated[FixtureName, fact("KIND.STATE of [fixtures]: no conflict, but the resulting state.")] = ""
    status: Annotated[RefusalStatus, fact("The status of the refusal, where it is another one than 409.")] = 409


@dataclass(frozen=True, slots=True)
class Tenancy:
    status: Annotated[
        ForeignStatus | None, fact("The status for an object of another installation, and for a key of another one.")
    ] = None
    installation_in_identity: Annotated[
        MemberPointer, fact("In the answer of getApiKeyIdentity: what names the installation.")
    ] = ""
    installation_in_readiness: Annotated[
        MemberPointer, fact("In the answer of getInstallationCredentialReadiness: what names the installation.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Hosted:
    tickets_single_use: Annotated[bool | None, fact("A second consume is refused.")] = None
    projection_shared: Annotated[bool | None, fact("Consume and cancel answer the same projection.")] = None
    unknown_ticket_status: Annotated[
        TicketStatus | None, fact("The status for a ticket that does not exist, and for that of another session.")
    ] = None
    ticket_lifetime_s: Annotated[Positive | None, fact("How long a ticket can be consumed, in seconds.")] = None


@dataclass(frozen=True, slots=True)
class Effect:
    """The value at `pointer`, in the answer of another operation on the same fixture or of a call to a test API.

    `{answer:/data/id}` is the value at that pointer in the answer of the call whose effect is observed.
    """

    pointer: Annotated[Pointer, fact("The value that changes.")]
    operation: Annotated[OperationId, fact("By operationId.")] = ""
    path: Annotated[Templates, fact("Path values of that operation that do not come from the same fixture.")] = field(
        default_factory=dict
    )
    http: Annotated[HttpCall | None, fact("The call.")] = None
    step: Annotated[int | None, fact("The increment of a number with every effect.")] = None
    absent: Annotated[
        JsonValue, fact("The value that counts before the first effect, where the answer is 404 or has none.")
    ] = None
    """None where not stated."""
    within_s: Annotated[
        Seconds | None, fact("Maximum time until an effect, or the object of a call, is visible, in seconds.")
    ] = None

    @property
    def templates(self) -> tuple[JsonValue, ...]:
        call = self.http
        return (dict(self.path), *((call.url, call.json, dict(call.headers)) if call else ()))


Signs = Annotated[tuple[Effect, ...], one_or_several()]
"""The signs of one operation: in the file one table, or an array of tables."""


@dataclass(frozen=True, slots=True)
class Webhooks:
    id: Annotated[MemberPointer, fact("In the answer to create: the id.")] = ""
    patch: Annotated[TemplateTable | None, fact("The body of PATCH: the members that it changes.")] = None
    kept: Annotated[Pointers, fact("In both answers: members that PATCH does not change.")] = ()


@dataclass(frozen=True, slots=True)
class RateLimit:
    provoke: Annotated[bool, fact("A burst may be sent, last and alone, also above `limits.rate`.")] = False
    credential: Annotated[CredentialName, fact("One of [credentials].")] = ""
    max_requests: Annotated[Count, fact("In one burst, for one operation.")] = 60
    limit: Annotated[Count | None, fact("Number of requests accepted in `window_s`.")] = None
    window_s: Annotated[Positive | None, fact("The length of the window, in seconds.")] = None
    tolerance: Annotated[Factor, fact("Factor over `limit`: windows overlap, processes count separately.")] = 2.0
    per: Annotated[CountedBy, fact("Counted separately. By key or installation, keyless calls may be free.")] = ""
    """Empty where not stated."""
    retry_after: Annotated[bool | None, fact("Whether a 429 says in Retry-After when requests are accepted.")] = None
    recovery_s: Annotated[Seconds | None, fact("Maximum time until requests are accepted again, in seconds.")] = None
    prepare: Annotated[HttpCall | None, fact("Sent before the burst.")] = None
    restore: Annotated[HttpCall | None, fact("Sent after the burst.")] = None
    run_limit: Annotated[
        Count | None, fact("Number of requests accepted in `run_window_s` while the limit of `prepare` is not set.")
    ] = None
    run_window_s: Annotated[Positive | None, fact("The length of that window, in seconds.")] = None

    @property
    def for_the_run(self) -> RateLimit:
        """The same facts with the limit that is in force while that of `prepare` is not set."""
        return replace(self, limit=self.run_limit, window_s=self.run_window_s)

    @property
    def longest_recovery_s(self) -> float | None:
        """The recovery from either limit: they may be in force together."""
        return None if self.recovery_s is None else max(self.recovery_s, self.run_window_s or 0.0)


@dataclass(frozen=True, slots=True)
class ExchangeStatuses:
    """The status of each failure of the token exchange."""

    missing_proof: Annotated[Excludable[ExchangeStatus | None], fact("There is no DPoP header.")] = None
    bad_proof: Annotated[Excludable[ExchangeStatus | None], fact("The DPoP proof is not valid.")] = None
    unknown_client: Annotated[Excludable[ExchangeStatus | None], fact("The client does not exist.")] = None
    bad_grant: Annotated[
        Excludable[ExchangeStatus | None],
        fact("The code is wrong or has expired, or its client, redirect URI or verifier is wrong."),
    ] = None
    bad_body: Annotated[Excludable[ExchangeStatus | None], fact("The body does not match its schema.")] = None


@dataclass(frozen=True, slots=True)
class OAuth:
    client_id: Annotated[str, fact("The client that codes are issued for.")] = ""
    redirect_uri: Annotated[str, fact("The redirect URI that codes are issued for.")] = ""
    other_client_id: Annotated[str, fact("Another client that exists.")] = ""
    other_redirect_uri: Annotated[str, fact("Registered for client_id as well.")] = ""
    other_client_redirect_uri: Annotated[str, fact("Registered for other_client_id.")] = ""
    algorithms: Annotated[Algorithms, fact("Accepted for DPoP proofs; the first is used, each is tried.")] = ("ES256",)
    token_url: Annotated[str, fact("The token endpoint as the target sees it, for htu; empty: as requested.")] = ""
    clock_allowance_s: Annotated[
        Seconds | None, fact("Maximum deviation of an accepted iat, in seconds: both of the next two.")
    ] = None
    clock_behind_s: Annotated[Seconds | None, fact("Maximum age of an accepted iat, in seconds.")] = None
    clock_ahead_s: Annotated[Seconds | None, fact("How far an accepted iat may be in the future, in seconds.")] = None
    proof_reuse: Annotated[
        ProofReuse, fact("A proof that was used is accepted never, for a retry of the very same request, or always.")
    ] = ""
    nonce: Annotated[NonceUse, fact("Whether a proof must hold a nonce of the target's (RFC 9449, section 8).")] = ""
    codes_single_use: Annotated[bool | None, fact("A second exchange of a code is refused.")] = None
    code_lifetime_s: Annotated[Positive | None, fact("How long a code can be exchanged, in seconds.")] = None
    failure_burns_code: Annotated[
        FailureBurns | None,
        fact("A failed exchange uses it up; or a list of what must be wrong for that, which leaves others open."),
    ] = None
    status: Annotated[ExchangeStatuses, fact("The status of each failure.")] = field(default_factory=ExchangeStatuses)
    code_verifier: Annotated[MemberPointer, fact("In the request's body.")] = ""
    code: Annotated[MemberPointer, fact("In the request's body.")] = ""
    client_id_member: Annotated[MemberPointer, fact("In the request's body.")] = ""
    redirect_uri_member: Annotated[MemberPointer, fact("In the request's body.")] = ""
    access_token: Annotated[MemberPointer, fact("In the answer.")] = ""
    token_type: Annotated[MemberPointer, fact("In the answer.")] = ""
    token_type_value: Annotated[Text, fact("The token type as the answer spells it.")] = ""
    expires_in: Annotated[MemberPointer, fact("In the answer: the token's lifetime.")] = ""
    token_lifetime_s: Annotated[Positive | None, fact("The lifetime of a token, in seconds.")] = None

    @property
    def behind_s(self) -> float | None:
        """The maximum age of an accepted iat, by either fact."""
        return self.clock_allowance_s if self.clock_behind_s is None else self.clock_behind_s

    @property
    def ahead_s(self) -> float | None:
        """How far an accepted iat may be in the future, by either fact."""
        return self.clock_allowance_s if self.clock_ahead_s is None else self.clock_ahead_s
