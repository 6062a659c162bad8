"""Faults beyond the catalogue (X01 to X13): failures of real services, each with its source."""

from __future__ import annotations

import json
import time

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, Caller, JsonValue, Refusal, Reply, canonical
from conformance.reference.idempotency import Record, address, digest, find, save
from conformance.reference.keys import CALLERS
from conformance.reference.pipeline import authorize, execute, limit, read_body, read_key
from conformance.reference.policy import (
    Handler,
    Policy,
    Stage,
    evolve,
    with_idempotency,
    with_search,
    with_stage,
    with_wire,
)
from conformance.reference.registry import fault
from conformance.reference.routes import split_path


@fault(
    "X01",
    requirement="IDEM-10",
    title="idempotency key truncated to 32 characters",
    source="MySQL Reference Manual, Server SQL Modes: without strict mode, values that are too long are cut",
)
def key_is_cut(policy: Policy) -> Policy:
    def key(call: Call) -> str | None:
        whole = policy.idempotency.key(call)
        return whole and whole[:32]

    return with_idempotency(policy, key=key)


@fault(
    "X02",
    requirement="IDEM-4",
    title="fingerprint of the first KiB only",
    source="Okta security advisory of 2024-10-30: a hash that reads no more than a prefix of its input (bcrypt)",
)
def fingerprint_of_a_prefix(policy: Policy) -> Policy:
    def fingerprint(call: Call) -> str:
        start = canonical(call.body)[:1024]
        return digest(start, call.proof.jkt if call.proof else "")

    return with_idempotency(policy, fingerprint=fingerprint)


@fault(
    "X03",
    requirement="IDEM-4",
    title="only the last element of an array is in the fingerprint",
    source="OWASP WSTG-INPV-04, HTTP parameter pollution: flattened to a form, the last of equal names wins",
)
def last_of_an_array(policy: Policy) -> Policy:
    def flat(value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return {name: flat(item) for name, item in value.items()}
        return flat(value[-1]) if isinstance(value, list) and value else value

    def fingerprint(call: Call) -> str:
        return digest(canonical(flat(call.body)), call.proof.jkt if call.proof else "")

    return with_idempotency(policy, fingerprint=fingerprint)


@fault(
    "X04",
    requirement="IDEM-1",
    title="a record loses characters beyond the Basic Multilingual Plane",
    source="CVE-2015-3438: MySQL's three-byte utf8 ends a value at the first four-byte character",
)
def narrow_record(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        answer = policy.idempotency.replay(call, record, db, handler)
        text = json.dumps(answer.value, ensure_ascii=False)
        return evolve(answer, value=json.loads("".join("?" if ord(c) > 0xFFFF else c for c in text)))

    return with_idempotency(policy, replay=replay)


@fault(
    "X05",
    requirement="IDEM-8",
    title="a 403 is stored under the key",
    source="Stripe API reference, Idempotent requests: the first answer is saved, whether it succeeds or fails",
)
def stored_403(policy: Policy) -> Policy:
    def authorize_and_store(call: Call) -> None:
        try:
            authorize(call)
        except Refusal as refusal:
            if call.operation in policy.idempotency.operations:
                read_key(call)
                read_body(call)
                with call.store.write() as db:
                    if find(db, address(call)) is None:
                        save(db, call, address(call), policy.error(call, refusal))
            raise

    return evolve(policy, stages=tuple(authorize_and_store if stage is authorize else stage for stage in policy.stages))


@fault(
    "X06",
    requirement="IDEM-9",
    title="a replay is served before the scope is checked",
    source="draft-ietf-httpapi-idempotency-key-header, Security Considerations: who may see a stored answer",
)
def replay_before_scope(policy: Policy) -> Policy:
    def authorize_what_is_new(call: Call) -> None:
        if call.operation in policy.idempotency.operations:
            read_key(call)
            read_body(call)
            with call.store.read() as db:
                if call.key is not None and find(db, address(call)) is not None:
                    return
        authorize(call)

    stages = tuple(authorize_what_is_new if stage is authorize else stage for stage in policy.stages)
    return evolve(policy, stages=stages)


@fault(
    "X07",
    requirement="AUTH-1",
    title="a shared cache answers any caller",
    operations=("getInstallationCredentialReadiness",),
    source="Valve's statement of 2015-12-30 on cached pages of other users; RFC 9111 section 3.5",
)
def shared_cache(policy: Policy) -> Policy:
    cached_until: dict[int, float] = {}

    def authenticate_unless_cached(call: Call) -> Caller:
        if call.operation != "getInstallationCredentialReadiness":
            return policy.authenticate(call)
        if time.monotonic() < cached_until.get(id(call.store), 0.0) and not call.request.header_values(
            b"authorization"
        ):
            return CALLERS["full"]
        caller = policy.authenticate(call)
        cached_until[id(call.store)] = time.monotonic() + 5
        return caller

    return evolve(policy, authenticate=authenticate_unless_cached)


@fault(
    "X08",
    requirement="NF-1",
    title="path parameters after a semicolon skip authentication",
    operations=("quotePublicCartCheckout", "getStorefrontOrderCancellationEligibility"),
    source="CVE-2020-1957 and CVE-2020-17523 (Apache Shiro): filter and router read a path differently",
)
def semicolon(policy: Policy) -> Policy:
    def without_parameters(path: bytes) -> tuple[str, ...] | None:
        return split_path(b"/".join(part.partition(b";")[0] for part in path.split(b"/")))

    def authenticate_what_is_listed(call: Call) -> Caller:
        reading = call.operation in ("quotePublicCartCheckout", "getStorefrontOrderCancellationEligibility")
        return CALLERS["full"] if reading and b";" in call.request.path else policy.authenticate(call)

    return evolve(policy, split=without_parameters, authenticate=authenticate_what_is_listed)


@fault(
    "X09",
    requirement="SCO-1",
    title="a connection keeps the scopes of an earlier request",
    source="CVE-2014-0015 (curl) and RFC 4559 section 6: authentication that belongs to a connection",
)
def scopes_of_a_connection(policy: Policy) -> Policy:
    scopes_by_peer: dict[int, frozenset[str]] = {}

    def permits(call: Call, caller: Caller) -> bool:
        scopes = scopes_by_peer.get(call.request.peer, frozenset()) | caller.scopes
        scopes_by_peer[call.request.peer] = scopes
        return policy.permits(call, evolve(caller, scopes=scopes))

    return evolve(policy, permits=permits)


@fault(
    "X10",
    requirement="TEN-1",
    title="only reads check the owner of an order",
    operations=("requestStorefrontOrderAfterSales",),
    source="KrebsOnSecurity, 2018-11-21 (USPS): any account could change any other; OWASP API1:2023",
)
def unowned_write(policy: Policy) -> Policy:
    def sees(call: Call, installation: str) -> bool:
        return call.operation == "requestStorefrontOrderAfterSales" or policy.sees(call, installation)

    return evolve(policy, sees=sees)


@fault(
    "X11",
    requirement="RATE-4",
    title="the limit is checked after the work is done",
    operations=("createInstallationWebhook", "revokePublicCart"),
    source="OWASP API4:2023, Unrestricted Resource Consumption: a limit that bounds answers and not work",
)
def limited_too_late(policy: Policy) -> Policy:
    def limit_before(call: Call) -> None:
        if call.operation not in ("createInstallationWebhook", "revokePublicCart"):
            limit(call)

    def execute_and_limit(call: Call) -> None:
        execute(call)
        if call.operation in ("createInstallationWebhook", "revokePublicCart"):
            limit(call)

    replacements: dict[Stage, Stage] = {limit: limit_before, execute: execute_and_limit}
    return evolve(policy, stages=tuple(replacements.get(stage, stage) for stage in policy.stages))


@fault(
    "X12",
    requirement="SRCH-6",
    title="each page begins with the last item of the previous page",
    operations=("searchPublicProducts",),
    source="the fencepost error; as in GitHub's rule to page by cursor, REST docs, Using pagination",
)
def overlapping_pages(policy: Policy) -> Policy:
    def window(page: int, size: int, _requested: int) -> slice:
        start = max(0, page * size - page)
        return slice(start, start + size)

    return with_search(policy, window=window)


@fault(
    "X13",
    requirement="ENV-1",
    title="Content-Length counts characters, which truncates non-ASCII bodies",
    source="Node.js documentation, http, response.writeHead: Content-Length is in bytes, not characters",
)
def length_in_characters(policy: Policy) -> Policy:
    def hook(_call: Call, reply: Reply) -> Reply:
        return evolve(reply, body=reply.body[: len(reply.body.decode("utf-8", "replace"))])

    return with_wire(policy, hook)


_SAME_PEER_S = 0.9
"""Later another connection may have the port: Linux gives one of its own host away again after a second."""


@fault(
    "X205",
    requirement="STA-2",
    title="the content of a call without a valid key is read as the next request of its connection",
    source="RFC 9112, section 9.3: a server answers before it has read a request, and keeps the connection",
)
def unread_content(policy: Policy) -> Policy:
    unread_at: dict[int, float] = {}

    def note(call: Call, reply: Reply) -> Reply:
        if reply.status == 401 and call.request.body:
            unread_at[call.request.peer] = time.monotonic()
        return reply

    def parse(call: Call) -> None:
        if time.monotonic() - unread_at.pop(call.request.peer, -_SAME_PEER_S) < _SAME_PEER_S:
            raise Refusal("bad_request", "This is not an HTTP request.")

    return with_stage(with_wire(policy, note), parse)
