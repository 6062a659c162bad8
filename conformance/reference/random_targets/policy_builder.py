"""Builds a policy from choices: one legitimate reading after the other, mostly those of the variants."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from conformance.reference import idempotency, limiter, pipeline
from conformance.reference.base import BASE
from conformance.reference.call import Answer, Call, JsonObject, JsonValue, Reply
from conformance.reference.policy import (
    Policy,
    Stage,
    Transport,
    evolve,
    with_idempotency,
    with_limits,
    with_oauth,
    with_reading,
    with_search,
    with_shape,
    with_states,
    with_status,
)
from conformance.reference.random_targets.boundary import Boundary
from conformance.reference.random_targets.choices import NAMESPACES, RandomTarget
from conformance.reference.random_targets.credentials import authenticator, key_reader, without_key
from conformance.reference.random_targets.errors import SHAPES, writer
from conformance.reference.variants import answers, identity, oauth, order, requests
from conformance.reference.variants import idempotency as idempotency_variants
from conformance.reference.variants.search import CURSORS

STEADY = (40, 0.5)
"""A permanent limit: requests and seconds, for each caller and operation."""
RUN_LIMITS = {"key": (10, 0.2), "installation": (80, 0.25), "operation": (10, 0.125), "address": (80, 0.25)}
"""A limit that is in force while none is switched on, by what is counted together."""
_STAGES: dict[str, Stage] = {
    "authenticate": pipeline.authenticate,
    "authorize": pipeline.authorize,
    "limit": pipeline.limit,
    "read_key": pipeline.read_key,
    "read_body": pipeline.read_body,
    "locate": pipeline.locate,
}


def policy_of(target: RandomTarget, boundary: Boundary) -> Policy:
    """The policy of a random target. All its state is in the boundary."""
    policy = evolve(BASE, stages=(*(_STAGES[name] for name in target.stages), idempotency.reserve, pipeline.execute))
    for reading in (
        _refusals,
        _callers,
        _bodies,
        _keys,
        _resources,
        _search,
        _tokens,
        _limits,
        _answers,
        _counters,
        _transport,
    ):
        policy = reading(policy, target, boundary)
    return evolve(policy, stages=(boundary.translate_request, *policy.stages))


def _refusals(policy: Policy, target: RandomTarget, boundary: Boundary) -> Policy:
    statuses = {
        "bad_grant": target.grant_status,
        "spent_grant": target.grant_status,
        "unknown_client": target.client_status,
        "bad_proof": target.proof_status,
        "missing_proof": target.missing_proof_status,
        "bad_ticket": target.ticket_status,
        "bad_id": target.id_status,
    }
    for kind, status in statuses.items():
        policy = with_status(policy, kind, status)
    return evolve(policy, error=writer(target, boundary), error_media_type=SHAPES[target.error].media_type)


def _callers(policy: Policy, target: RandomTarget, _boundary: Boundary) -> Policy:
    policy = evolve(policy, authenticate=authenticator(target), unseen=target.unseen)
    return order.public_but_strict(policy) if target.public_strict else policy


def _bodies(policy: Policy, target: RandomTarget, boundary: Boundary) -> Policy:
    if target.json_edges == "lenient":
        policy = requests.edges_of_json(policy)
    if target.unknown_members == "refused":
        policy = requests.known_members_only(policy)
    if target.body_types == "json":
        policy = with_reading(policy, accepts=lambda m: m is None or pipeline.media_type(m) == "application/json")
    if target.untyped_body == "refused":
        accepts = policy.reading.accepts
        policy = with_reading(policy, accepts=lambda media: media is not None and accepts(media))
    is_kept = target.unknown_members == "kept"
    policy = with_reading(policy, max_bytes=target.max_bytes, max_depth=target.max_depth, keeps_unknown=is_kept)
    parse = policy.reading.parse

    def parse_body(call: Call, body: bytes) -> JsonValue:
        return boundary.rename(without_key(target, parse(call, body)))

    key = key_reader(target, parse)
    return with_idempotency(with_reading(policy, parse=parse_body), key=key)


def _keys(policy: Policy, target: RandomTarget, _boundary: Boundary) -> Policy:
    if target.fingerprint == "bytes":
        policy = idempotency_variants.raw_bytes(policy)
    if target.namespace != "path":
        policy = idempotency.with_namespace(policy, *NAMESPACES[target.namespace])
    if target.replay == "rewritten":
        policy = idempotency_variants.replay_rewritten(policy)
    if target.replay == "latest":
        policy = idempotency_variants.replay_is_current(policy)
    if target.remembers == "refusals":
        policy = idempotency_variants.refusals_stored(policy)
    return with_idempotency(policy, on_flight=target.on_flight, work_s=target.work_ms / 1000)


def _resources(policy: Policy, target: RandomTarget, _boundary: Boundary) -> Policy:
    for allowance in target.lenient:
        operation, _, state = allowance.partition(".")
        policy = with_states(policy, operation, state)
    refusals = {**policy.state_refusals, **dict.fromkeys(target.not_found_states, "not_found")}
    return evolve(policy, state_refusals=refusals, id_grammar=target.id_grammar)


def _search(policy: Policy, target: RandomTarget, _boundary: Boundary) -> Policy:
    clamp = target.page_size_out == "clamped"
    sizes = {"page_size_min": target.page_size_min, "page_size_max": target.page_size_max}
    rules = {"past_the_end": target.past_the_end, "empty_q": target.empty_q, "q_max": target.q_max}
    unknown = {"category": target.unknown_category, "merchant": target.unknown_merchant}
    return with_search(
        policy,
        page_base=target.page_base,
        clamp=clamp,
        unknown_filter=unknown,
        unlisted=target.unlisted,
        cursors=CURSORS.get(target.cursor),
        **sizes,
        **rules,
    )


def _tokens(policy: Policy, target: RandomTarget, _boundary: Boundary) -> Policy:
    if target.nonce:
        policy = with_status(oauth.nonce_demanded(policy), "use_dpop_nonce", target.nonce_status)
    if target.failure_burns:
        policy = oauth.failure_burns(policy)
    issue = policy.oauth.issue

    def issue_with_type(call: Call, code: Any) -> JsonObject:
        return {**issue(call, code), "tokenType": target.token_type}

    return with_oauth(
        policy,
        issue=issue_with_type,
        algorithms=target.algorithms,
        clock_behind_s=float(target.clock_s),
        clock_ahead_s=float(target.clock_ahead_s),
        proof_reuse=target.proof_reuse,
        code_lifetime_s=float(target.code_lifetime_s),
        token_lifetime_s=target.token_lifetime_s,
    )


_RETRY_HEADERS: dict[str, Callable[[float], tuple[tuple[str, str], ...]]] = {
    "seconds": lambda wait_s: (("Retry-After", "0"),) if wait_s == 0 else limiter.retry_after(wait_s),
    "date": lambda wait_s: (("Retry-After", formatdate(time.time() + wait_s, usegmt=True)),),
    "fields": lambda wait_s: (("RateLimit-Remaining", "0"), ("RateLimit-Reset", str(round(wait_s)))),
    "none": lambda _wait_s: (),
}


_BUCKETS = {
    "key": limiter.by_key,
    "installation": limiter.by_installation,
    "operation": limiter.by_operation,
    "address": limiter.by_address,
}


def _limits(policy: Policy, target: RandomTarget, _boundary: Boundary) -> Policy:
    if target.limiter == "never":
        policy = order.no_limits(policy)
    if target.limiter == "steady":
        policy = with_limits(policy, limit=STEADY[0], window_s=STEADY[1])
    if target.run_limit:
        limit, window_s = RUN_LIMITS[target.limit_per]
        policy = with_limits(policy, limit=limit, window_s=window_s)
    policy = with_limits(policy, bucket=_BUCKETS[target.limit_per])
    admit, every = policy.limits.admit, target.chance_429

    def by_chance(call: Call) -> float | None:
        return 0.0 if call.limiter.count_call() % every == 0 else admit(call)

    return with_limits(policy, headers=_RETRY_HEADERS[target.retry_after], admit=by_chance if every else admit)


def _answers(policy: Policy, target: RandomTarget, boundary: Boundary) -> Policy:
    if target.scopes_form != "list":
        policy = identity.scopes_as(policy, target.scopes_form)
    if target.meta != "all":
        policy = answers.meta_on_one(policy)
    if target.meta == "none":
        policy = with_shape(policy, _without_meta, "searchPublicProducts")
    if target.extra_members:
        policy = answers.extra_members(policy)
    if target.other_methods:
        policy = answers.other_methods(policy)
    fresh_headers = (target.fresh_header,) if target.fresh_header else ()
    policy = evolve(policy, media_type=target.media_type, fresh_headers=fresh_headers)
    return with_shape(policy, boundary.translate_answer)


def _without_meta(_call: Call, answer: Answer) -> Answer:
    members = {name: item for name, item in answer.value.items() if name != "meta"}
    return evolve(answer, value=members) if answer.status == 200 else answer


def _counters(policy: Policy, target: RandomTarget, _boundary: Boundary) -> Policy:
    if target.counters == "each its own":
        return policy
    return evolve(policy, counters=dict.fromkeys(policy.idempotency.operations, target.counters))


def _transport(policy: Policy, target: RandomTarget, _boundary: Boundary) -> Policy:
    transport = Transport(target.latency_ms / 1000, target.latency_every, target.chunked, target.gzip, target.close)
    policy = evolve(policy, transport=transport)
    hooks = {"compact": (), "pretty": (_pretty,), "escaped": (_escape_json,)}
    return evolve(policy, wire=(*policy.wire, *hooks[target.json_text]))


def _pretty(_call: Call, reply: Reply) -> Reply:
    if not reply.body.startswith(b"{"):
        return reply
    text = json.dumps(json.loads(reply.body), ensure_ascii=False, indent=2)
    return Reply(reply.status, reply.headers, text.encode() + b"\n")


def _escape_json(_call: Call, reply: Reply) -> Reply:
    if not reply.body.startswith(b"{"):
        return reply
    return Reply(reply.status, reply.headers, json.dumps(json.loads(reply.body)).replace("/", "\\/").encode())
