"""From choices to a policy: one legitimate reading after the other, mostly those of the variants."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from conformance.reference import idempotency, limiter, pipeline
from conformance.reference.base import BASE
from conformance.reference.call import Answer, Call, JsonObject, JsonValue, Refusal, Reply
from conformance.reference.drawn.boundary import Boundary
from conformance.reference.drawn.carriers import authenticator, key_reader, without_key
from conformance.reference.drawn.choices import Drawn
from conformance.reference.drawn.errors import SHAPES, writer
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
from conformance.reference.variants import answers, identity, oauth, order, requests
from conformance.reference.variants import idempotency as idempotency_variants

STEADY = (40, 0.5)
"""A limit that the target really has: so many requests in so many seconds, for each caller and operation."""
_STAGES: dict[str, Stage] = {
    "authenticate": pipeline.authenticate,
    "authorize": pipeline.authorize,
    "limit": pipeline.limit,
    "read_key": pipeline.read_key,
    "read_body": pipeline.read_body,
    "locate": pipeline.locate,
}


def policy_of(drawn: Drawn, boundary: Boundary) -> Policy:
    """The policy of a drawn target. It keeps nothing but what the boundary remembers."""
    policy = evolve(BASE, stages=(*(_STAGES[name] for name in drawn.stages), idempotency.reserve, pipeline.execute))
    for reading in (_refusals, _callers, _bodies, _keys, _resources, _search, _tokens, _limits, _answers, _travel):
        policy = reading(policy, drawn, boundary)
    return evolve(policy, stages=(boundary.come_in, *policy.stages))


def _refusals(policy: Policy, drawn: Drawn, boundary: Boundary) -> Policy:
    statuses = {
        "bad_grant": drawn.grant_status,
        "spent_grant": drawn.grant_status,
        "bad_proof": drawn.proof_status,
        "bad_ticket": drawn.ticket_status,
        "bad_id": drawn.id_status,
    }
    for kind, status in statuses.items():
        policy = with_status(policy, kind, status)
    return evolve(policy, error=writer(drawn, boundary), error_media_type=SHAPES[drawn.error].media_type)


def _callers(policy: Policy, drawn: Drawn, _boundary: Boundary) -> Policy:
    policy = evolve(policy, authenticate=authenticator(drawn), unseen=drawn.unseen)
    return order.public_but_strict(policy) if drawn.public_strict else policy


def _bodies(policy: Policy, drawn: Drawn, boundary: Boundary) -> Policy:
    if drawn.json_edges == "lenient":
        policy = requests.edges_of_json(policy)
    if drawn.unknown_members == "refused":
        policy = requests.known_members_only(policy)
    if drawn.untyped_body == "refused":
        accepts = policy.reading.accepts
        policy = with_reading(policy, accepts=lambda media: media is not None and accepts(media))
    parse = policy.reading.parse

    def read(call: Call, body: bytes) -> JsonValue:
        return boundary.renamed(without_key(drawn, parse(call, body)))

    key = key_reader(drawn, parse)
    return with_idempotency(with_reading(policy, parse=read), key=key)


def _keys(policy: Policy, drawn: Drawn, _boundary: Boundary) -> Policy:
    if drawn.fingerprint == "bytes":
        policy = idempotency_variants.raw_bytes(policy)
    if drawn.namespace == "installation":
        policy = idempotency_variants.key_per_installation(policy)
    if drawn.namespace == "operation":
        policy = _key_per_operation(policy)
    if drawn.replay == "rewritten":
        policy = idempotency_variants.replay_rewritten(policy)
    if drawn.replay == "latest":
        policy = idempotency_variants.replay_is_current(policy)
    if drawn.remembers == "refusals":
        policy = idempotency_variants.refusals_stored(policy)
    return with_idempotency(policy, on_flight=drawn.on_flight, work_s=drawn.work_ms / 1000)


def _key_per_operation(policy: Policy) -> Policy:
    """Reuse on another path id is reuse with another payload."""
    plain = policy.idempotency.fingerprint

    def fingerprint(call: Call) -> str:
        return idempotency.digest(plain(call), *call.path.values())

    def namespace(call: Call) -> tuple[str, ...]:
        return (idempotency.owner(call), call.operation)

    return with_idempotency(policy, namespace=namespace, fingerprint=fingerprint)


def _resources(policy: Policy, drawn: Drawn, _boundary: Boundary) -> Policy:
    for allowed in drawn.lenient:
        operation, _, state = allowed.partition(".")
        policy = with_states(policy, operation, state)
    guard = policy.guard

    def gone_or_guarded(call: Call, kind: str, state: str) -> None:
        if f"{kind}.{state}" in drawn.gone and state not in call.policy.states[call.operation]:
            raise Refusal("not_found", "There is no such resource.")
        guard(call, kind, state)

    return evolve(policy, guard=gone_or_guarded, id_grammar=drawn.id_grammar)


def _search(policy: Policy, drawn: Drawn, _boundary: Boundary) -> Policy:
    clamp = drawn.page_size_out == "clamped"
    sizes = {"page_size_min": drawn.page_size_min, "page_size_max": drawn.page_size_max}
    return with_search(policy, page_base=drawn.page_base, clamp=clamp, **sizes)


def _tokens(policy: Policy, drawn: Drawn, _boundary: Boundary) -> Policy:
    if drawn.nonce:
        policy = with_status(oauth.nonce_demanded(policy), "use_dpop_nonce", drawn.nonce_status)
    if drawn.failure_burns:
        policy = oauth.failure_burns(policy)
    issue = policy.oauth.issue

    def typed(call: Call, code: Any) -> JsonObject:
        return {**issue(call, code), "tokenType": drawn.token_type}

    known = {"algorithms": drawn.algorithms, "clock_s": float(drawn.clock_s), "remember_jti": drawn.jti_tracked}
    return with_oauth(policy, issue=typed, **known)


_AFTER: dict[str, Callable[[float], tuple[tuple[str, str], ...]]] = {
    "seconds": lambda rest: (("Retry-After", "0"),) if rest == 0 else limiter.retry_after(rest),
    "date": lambda rest: (("Retry-After", formatdate(time.time() + rest, usegmt=True)),),
    "fields": lambda rest: (("RateLimit-Remaining", "0"), ("RateLimit-Reset", str(round(rest)))),
    "none": lambda _rest: (),
}


_BUCKETS = {
    "key": limiter.by_key,
    "installation": limiter.by_installation,
    "operation": limiter.by_operation,
    "address": limiter.by_address,
}


def _limits(policy: Policy, drawn: Drawn, _boundary: Boundary) -> Policy:
    if drawn.limiter == "never":
        policy = order.unlimited(policy)
    if drawn.limiter == "steady":
        policy = with_limits(policy, limit=STEADY[0], window_s=STEADY[1])
    policy = with_limits(policy, bucket=_BUCKETS[drawn.limit_per])
    admit, every = policy.limits.admit, drawn.chance_429

    def by_chance(call: Call) -> float | None:
        return 0.0 if call.limiter.tick() % every == 0 else admit(call)

    return with_limits(policy, headers=_AFTER[drawn.retry_after], admit=by_chance if every else admit)


def _answers(policy: Policy, drawn: Drawn, boundary: Boundary) -> Policy:
    if drawn.scopes_form != "list":
        policy = identity.scopes_as(policy, drawn.scopes_form)
    if drawn.meta != "all":
        policy = answers.meta_on_one(policy)
    if drawn.meta == "none":
        policy = with_shape(policy, _without_meta, "searchPublicProducts")
    if drawn.extra_members:
        policy = answers.extra_members(policy)
    if drawn.other_methods:
        policy = answers.other_methods(policy)
    return with_shape(evolve(policy, media_type=drawn.media_type), boundary.go_out)


def _without_meta(_call: Call, answer: Answer) -> Answer:
    kept = {name: item for name, item in answer.value.items() if name != "meta"}
    return evolve(answer, value=kept) if answer.status == 200 else answer


def _travel(policy: Policy, drawn: Drawn, _boundary: Boundary) -> Policy:
    transport = Transport(drawn.latency_ms / 1000, drawn.latency_every, drawn.chunked, drawn.gzip, drawn.close)
    policy = evolve(policy, transport=transport)
    hooks = {"compact": (), "pretty": (_pretty,), "escaped": (_escaped,)}
    return evolve(policy, wire=(*policy.wire, *hooks[drawn.json_text]))


def _pretty(_call: Call, reply: Reply) -> Reply:
    if not reply.body.startswith(b"{"):
        return reply
    text = json.dumps(json.loads(reply.body), ensure_ascii=False, indent=2)
    return Reply(reply.status, reply.headers, text.encode() + b"\n")


def _escaped(_call: Call, reply: Reply) -> Reply:
    if not reply.body.startswith(b"{"):
        return reply
    return Reply(reply.status, reply.headers, json.dumps(json.loads(reply.body)).replace("/", "\\/").encode())
