"""The choices of a random target: one frozen value; every value of each member is a legitimate reading.

The defaults are the reference's own readings, so that a target is described by its differences.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.core.errors import UsageError
from conformance.reference.random_targets.legitimate_values import (
    ALL_FACTS,
    CHOICES,
    OPERATIONS_BY_EXAMPLE,
    STAGES,
    SUBSETS,
)

NAMESPACES: Mapping[str, tuple[str, ...]] = {
    "path": ("installation", "operation", "path"),
    "operation": ("installation", "operation"),
    "installation": ("installation",),
    "credential": ("credential", "operation"),
    "caller": ("credential", "path"),
    "global": (),
}
"""What a key belongs to, as the profile states it."""


@dataclass(frozen=True, slots=True)
class RandomTarget:
    """One target. `CHOICES` and `SUBSETS` list the values, `policy_builder` and `profile_writer` give them effect."""

    authorization: str = "Bearer {key}"
    scheme: str = "required"
    any_case_scheme: bool = True
    any_case_keys: bool = False
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
    fresh_header: str = "X-Request-Id"
    """The header that is new in each answer; empty: none."""
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
    cursor: str = "none"
    """`none`, or a name of `variants.search.CURSORS`."""
    limiter: str = "switched"
    chance_429: int = 0
    """Every n-th request is answered 429; 0: none."""
    limit_per: str = "key"
    """The unit of a limit that is switched on for a burst; a steady limit counts by key."""
    run_limit: bool = False
    """Whether another limit is in force while none is switched on."""
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
    if "PublicCartTransitionRequest" in target.omitted_schemas or target.silence == "excluded":
        # its members are all optional: without a stated body there is no leaf to change, which no word excludes
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
        cursor="beside" if target.meta == "none" and target.cursor in ("meta", "number") else target.cursor,
        limit_per=per if knows_callers or per == "address" else "operation",
        run_limit=target.run_limit and target.limiter == "switched",
        omitted_facts=tuple(name for name in target.omitted_facts if name not in required_facts),
        # a closed schema without the key would forbid what the target demands
        key_in_schema=target.key_in_schema or (target.carrier == "body" and target.unknown_members == "refused"),
    )
