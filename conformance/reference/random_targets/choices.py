"""The choices of a random target: one frozen value; every value of each member is a legitimate reading.

The defaults are the reference's own readings, so that a target is described by its differences.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.core.errors import UsageError

NAMESPACES: Mapping[str, tuple[str, ...]] = {
    "path": ("installation", "operation", "path"),
    "operation": ("installation", "operation"),
    "installation": ("installation",),
    "credential": ("credential", "operation"),
    "caller": ("credential", "path"),
    "global": (),
}
"""What a key belongs to, as the profile states it."""
STAGES = ("authenticate", "authorize", "limit", "read_key", "read_body", "locate")
OPERATIONS_BY_EXAMPLE = (
    # their bodies need no fixture, so that an example of the schema is valid
    "createInstallationWebhook",
    "removePublicCartPromotion",
    "checkoutPublicCart",
    "quotePublicCart",
    "revokePublicCart",
)

ALL_FACTS = 1_000
"""More than any profile states."""
CHOICES: Mapping[str, tuple[Any, ...]] = {
    "silence": ("excluded", "silent"),
    "facts": (ALL_FACTS, ALL_FACTS, ALL_FACTS, 0, 5, 15, 40, 80, 120),
    "authorization": (
        "Bearer {key}",
        "{key}",
        "ApiKey {key}",
        "Token {key}",
        "Token token={key}",
        'Key key="{key}", v=2',
        "apikey:{key}",
    ),
    "scheme": ("required", "optional"),
    "any_case_scheme": (True, False),
    "challenge": (True, False),
    "public_strict": (False, True),
    "unseen": ("not_found", "foreign"),
    "carrier": ("header", "body", "query"),
    "key_name": ("Idempotency-Key", "X-Request-Key", "idem_token", "key", "Repeatability-Request-ID"),
    "key_pointer": ("/idempotencyKey", "/context/key", "/call/idempotency/key~1id", "/_key"),
    "key_format": ("uuid", "any", "[a-z0-9]{16,64}", "[A-Z]{3}-[0-9]{12}", "idem_[0-9a-f]{24}", "[0-9]{18,20}"),
    "key_in_schema": (False, True),
    "key_case": ("sensitive", "insensitive"),
    "key_written": ("{key}", '"{key}"', "key={key}"),
    "missing_key": ("refused", "accepted"),
    "fingerprint": ("value", "bytes"),
    "namespace": ("path", "operation", "installation", "credential", "caller", "global"),
    "remembers": ("successes", "refusals"),
    "replay": ("stored", "rewritten", "latest"),
    "on_flight": ("wait", "conflict"),
    "work_ms": (0, 0, 0, 5, 20, 30),
    "style": ("camel", "snake", "kebab", "pascal", "dotted", "slashed"),
    "vocabulary": ("own", "other", "opaque"),
    "error": ("nested", "flat", "problem", "listed", "terse"),
    "meta": ("all", "search", "none"),
    "extra_members": (False, True),
    "media_type": ("application/json", "application/json; charset=utf-8", "application/vnd.shop.v1+json"),
    "json_text": ("compact", "pretty", "escaped"),
    "scopes_form": ("list", "objects", "text", "flags", "members"),
    "other_methods": (False, True),
    "id_look": (
        "plain",
        "hex",
        "uuid",
        "upper",
        "urn",
        "path",
        "odd",
        "base64",
        "reserved",
        "digits",
        "sequence",
        "number",
    ),
    "id_start": (1, 1042, 9_999_990),
    "id_grammar": (False, True),
    "unknown_members": ("ignored", "refused", "kept"),
    "closed_schemas": (False, True),
    "json_edges": ("strict", "lenient"),
    "untyped_body": ("accepted", "refused"),
    "body_types": ("any +json", "json"),
    "max_bytes": (1_048_576, 100_000),
    "max_depth": (64, 20, 101),
    "page_base": (1, 0),
    "page_size_min": (1, 5),
    "page_size_max": (50, 10, 200),
    "page_size_out": ("refused", "clamped"),
    "past_the_end": ("empty", "refused", "not_found"),
    "empty_q": ("refused", "everything", "nothing"),
    "q_max": (200, 100, 31),
    "unknown_category": ("empty", "refused", "not_found", "ignored"),
    "unknown_merchant": ("empty", "refused", "not_found", "ignored"),
    "unlisted": ("refused", "ignored"),
    "limiter": ("switched", "never", "steady"),
    "chance_429": (0, 5, 9, 23),
    "limit_per": ("key", "installation", "operation", "address"),
    "retry_after": ("seconds", "date", "fields", "none"),
    "nonce": (False, True),
    "proof_reuse": ("retry", "refused", "accepted"),
    "failure_burns": (False, True),
    "clock_s": (60, 5, 300),
    "clock_ahead_s": (30, 3, 300),
    "code_lifetime_s": (600, 60),
    "token_lifetime_s": (3600, 900),
    "grant_status": (400, 401),
    "client_status": (400, 401),
    "proof_status": (401, 400),
    "missing_proof_status": (401, 400),
    "nonce_status": (401, 400),
    "token_type": ("DPoP", "dpop"),
    "counters": ("each its own", "count", "absent", "not_found", "log"),
    "signs": ("several", "first", "last"),
    "ticket_status": (404, 400, 401, 403),
    "id_status": (400, 404),
    "chunked": (False, True),
    "gzip": (False, True),
    "close": (False, False, False, True),
    "latency_ms": (0, 10, 30),
    "latency_every": (1, 3, 7),
}
"""Member -> its legitimate values, the reference's own first."""

SUBSETS: Mapping[str, tuple[str, ...]] = {
    "not_found_states": (
        "cart.checked_out",
        "cart.revoked",
        "order.requested",
        "session.consumed",
        "session.cancelled",
    ),
    "lenient": (
        "checkoutPublicCart.open",
        "revokePublicCart.revoked",
        "removePublicCartPromotion.unpromoted",
        "requestStorefrontOrderAfterSales.requested",
        "consumeHostedCheckoutBrowserTicket.consumed",
        "cancelHostedCheckoutBrowser.cancelled",
    ),
    "omitted_facts": (
        "authorization.scheme",
        "authorization.scheme_case",
        "authorization.public",
        "idempotency.missing_key",
        "idempotency.format",
        "idempotency.kept",
        "idempotency.namespace",
        "idempotency.in_flight",
        "idempotency.other_format",
        "idempotency.case",
        "bodies.unknown_members",
        "bodies.media_types",
        "bodies.absent_media_type",
        "bodies.max_bytes",
        "bodies.max_depth",
        "errors.volatile",
        "bodies",
        "unknown",
        *(f"body.{operation}" for operation in OPERATIONS_BY_EXAMPLE),
        "identity.scopes",
        "search.item_id",
        "search.item_category",
        "search.item_merchant",
        "search.category",
        "search.merchant",
        "search.page_base",
        "search.page_size_min",
        "search.page_size_max",
        "search.stable_sort",
        "search.page_size_above",
        "search.page_size_below",
        "search.past_the_end",
        "search.empty_q",
        "search.q_max",
        "search.unknown_category",
        "search.unknown_merchant",
        "search.unknown_parameter",
        "search.sorts",
        "search.locales",
        "search.markets",
        "search.unlisted",
        "webhooks.kept",
        "webhooks.patch",
        "webhooks.id",
        "transitions",
        "transitions.leads_to",
        "transitions.single_winner",
        "effects",
        "effects.http",
        "effects.step",
        "fixtures.foreign",
        "hosted.tickets_single_use",
        "hosted.projection_shared",
        "hosted.unknown_ticket_status",
        "rate_limit",
        "rate_limit.credential",
        "rate_limit.limit",
        "rate_limit.recovery_s",
        "rate_limit.per",
        "rate_limit.retry_after",
        "oauth.other_client_id",
        "oauth.other_redirect_uri",
        "oauth.other_client_redirect_uri",
        "oauth.algorithms",
        "oauth.clock_allowance_s",
        "oauth.clock_behind_s",
        "oauth.clock_ahead_s",
        "oauth.proof_reuse",
        "oauth.nonce",
        "oauth.code_lifetime_s",
        "oauth.failure_burns_code",
        "oauth.status",
        "oauth.token_type_value",
        "oauth.expires_in",
        "oauth.token_lifetime_s",
        "oauth.codes_single_use",
        "oauth.code_verifier",
        "oauth.code",
        "oauth.client_id_member",
        "oauth.redirect_uri_member",
        "oauth.access_token",
        "oauth.token_type",
        "revocation",
        *(
            f"credentials.{name}"
            for name in (
                "webhooks-write",
                "webhooks-read",
                "catalog-read",
                "checkout-quote",
                "none",
                "other-installation",
                "revoked",
                "limited",
            )
        ),
    ),
    "omitted_schemas": (
        "every request",
        "every response",
        "PublicErrorResponse",
        "PublicWebhookCreateRequest",
        "PublicCartTransitionRequest",
        "OAuthTokenRequest",
        "OperationResponse",
        "PublicProductSearchResponse",
        "PublicCartResponse",
    ),
}
"""Member -> possible items; a member may have any subset."""


@dataclass(frozen=True, slots=True)
class RandomTarget:
    """One target. `CHOICES` and `SUBSETS` list the values, `policy_builder` and `profile_writer` give them effect."""

    authorization: str = "Bearer {key}"
    scheme: str = "required"
    any_case_scheme: bool = True
    challenge: bool = True
    """Whether a 401 carries WWW-Authenticate."""
    public_strict: bool = False
    unseen: str = "not_found"
    stages: tuple[str, ...] = STAGES[:-1]
    """The order of precedence; without `locate`, unknown resources are refused last."""
    carrier: str = "header"
    key_name: str = "Idempotency-Key"
    key_pointer: str = "/idempotencyKey"
    key_format: str = "uuid"
    """`uuid`, `any`, or a pattern that the whole key matches."""
    key_in_schema: bool = False
    key_case: str = "sensitive"
    key_written: str = "{key}"
    missing_key: str = "refused"
    fingerprint: str = "value"
    namespace: str = "path"
    """A name of `NAMESPACES`."""
    remembers: str = "successes"
    replay: str = "stored"
    on_flight: str = "wait"
    work_ms: int = 0
    style: str = "camel"
    vocabulary: str = "own"
    error: str = "nested"
    meta: str = "all"
    extra_members: bool = False
    media_type: str = "application/json"
    json_text: str = "compact"
    scopes_form: str = "list"
    """How identity shows the scopes of the calling key."""
    other_methods: bool = False
    id_look: str = "plain"
    id_start: int = 1
    id_grammar: bool = False
    unknown_members: str = "ignored"
    closed_schemas: bool = False
    json_edges: str = "strict"
    untyped_body: str = "accepted"
    body_types: str = "any +json"
    """Whether application/*+json is accepted beside application/json."""
    max_bytes: int = 1_048_576
    max_depth: int = 64
    page_base: int = 1
    page_size_min: int = 1
    page_size_max: int = 50
    page_size_out: str = "refused"
    past_the_end: str = "empty"
    empty_q: str = "refused"
    q_max: int = 200
    unknown_category: str = "empty"
    unknown_merchant: str = "empty"
    unlisted: str = "refused"
    limiter: str = "switched"
    chance_429: int = 0
    """Every n-th request is answered 429; 0: none."""
    limit_per: str = "key"
    """The unit of a limit that is switched on for a burst; a steady limit counts by key."""
    retry_after: str = "seconds"
    nonce: bool = False
    proof_reuse: str = "retry"
    failure_burns: bool = False
    clock_s: int = 60
    """Maximum age of an accepted iat."""
    clock_ahead_s: int = 30
    code_lifetime_s: int = 600
    token_lifetime_s: int = 3600
    algorithms: tuple[str, ...] = ("ES256", "ES384", "PS256", "Ed25519")
    grant_status: int = 400
    client_status: int = 400
    proof_status: int = 401
    missing_proof_status: int = 401
    nonce_status: int = 401
    counters: str = "each its own"
    signs: str = "several"
    token_type: str = "DPoP"  # noqa: S105 - a word of RFC 9449
    ticket_status: int = 404
    id_status: int = 400
    """The status of a malformed id where the format is enforced."""
    chunked: bool = False
    gzip: bool = False
    close: bool = False
    latency_ms: int = 0
    latency_every: int = 1
    not_found_states: tuple[str, ...] = ()
    """Final states that are answered 404 instead of 409, as `kind.state`."""
    lenient: tuple[str, ...] = ()
    """Further states in which an operation is allowed, as `operation.state`."""
    omitted_facts: tuple[str, ...] = ()
    """Facts that the profile omits."""
    omitted_schemas: tuple[str, ...] = ()
    """Schemas that the profile omits."""
    silence: str = "excluded"
    """Whether the profile excludes what it omits, or says nothing about it."""
    facts: int = ALL_FACTS
    """Maximum number of facts in the profile, in addition to the mandatory ones."""

    def differences(self) -> dict[str, Any]:
        """The members that differ from the reference, as JSON values."""
        plain = dataclasses.asdict(REFERENCE)
        values = dataclasses.asdict(self)
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items() if v != plain[n]}


REFERENCE = RandomTarget()


def target_from(choices: object) -> RandomTarget:
    """A target from JSON; missing members have the reference's values. Raises UsageError."""
    if not isinstance(choices, dict):
        raise UsageError("choices of a random target must be a JSON object")
    for name, value in choices.items():
        if trouble := _trouble(name, value):
            raise UsageError(f"random target: {trouble}")
    members: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in choices.items()}
    return make_consistent(RandomTarget(**members))


def _trouble(name: str, value: object) -> str:
    if name in CHOICES:
        is_known = any(value == choice and type(value) is type(choice) for choice in CHOICES[name])
        return "" if is_known else f"{name} cannot be {value!r}"
    lists = {**SUBSETS, "stages": STAGES, "algorithms": REFERENCE.algorithms}
    if name not in lists:
        return f"there is no choice {name!r}"
    if not isinstance(value, list) or len(set(map(str, value))) < len(value) or set(map(str, value)) - {*lists[name]}:
        return f"{name} must be a list of {', '.join(lists[name])}"
    if name == "stages" and not {*STAGES[:-1]} <= {*value}:
        return "stages must name all but locate"
    return "an algorithm is needed" if name == "algorithms" and not value else ""


def make_consistent(target: RandomTarget) -> RandomTarget:
    """The nearest consistent target: its profile states what a correct judgement needs."""
    stages = list(target.stages)
    if stages.index("authorize") < stages.index("authenticate"):
        stages.remove("authorize")
        stages.insert(stages.index("authenticate") + 1, "authorize")
    if target.remembers == "refusals":  # what is refused before the key is looked up cannot be stored under it
        stages = [name for name in stages if name in ("authenticate", "authorize", "limit")] + ["read_key", "read_body"]
    required_facts: set[str] = set()
    if target.key_format not in ("uuid", "any"):
        required_facts.add("idempotency.format")
    if "ES256" not in target.algorithms:
        required_facts.add("oauth.algorithms")  # the default is ES256
    if "every request" in target.omitted_schemas:
        required_facts |= {f"body.{operation}" for operation in OPERATIONS_BY_EXAMPLE}
    if "PublicWebhookCreateRequest" in target.omitted_schemas:
        required_facts.add("body.createInstallationWebhook")
    if "PublicCartTransitionRequest" in target.omitted_schemas:
        required_facts |= {f"body.{name}" for name in OPERATIONS_BY_EXAMPLE[1:] if name != "checkoutPublicCart"}
    is_clamped = target.page_size_out == "clamped"
    if target.page_size_min > 1:
        required_facts.add("search.page_size_min")  # the default is 1
    knows_callers = stages.index("authenticate") < stages.index("limit")
    per = target.limit_per if target.limiter == "switched" else "key"
    return dataclasses.replace(
        target,
        stages=tuple(stages),
        page_size_min=1 if is_clamped else target.page_size_min,  # a clamped page would be longer than pageSize
        limit_per=per if knows_callers or per == "address" else "operation",
        omitted_facts=tuple(name for name in target.omitted_facts if name not in required_facts),
        # a closed schema without the key would forbid what the target demands
        key_in_schema=target.key_in_schema or (target.carrier == "body" and target.unknown_members == "refused"),
    )
