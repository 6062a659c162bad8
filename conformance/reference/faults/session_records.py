"""Faults of hosted checkout that mix sessions up: HO-3, IDEM-5, NF-1."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from conformance.reference import hosted, objects
from conformance.reference.call import Answer, Call, canonical
from conformance.reference.policy import Handler, Policy, before_work, with_handler, with_idempotency
from conformance.reference.registry import fault

_CONSUME = "consumeHostedCheckoutBrowserTicket"
_ID_LENGTH = len("session_") + 20


@fault(
    "X107",
    requirement="HO-3",
    title="the ticket of a consumed session opens any session",
    operations=(_CONSUME,),
    source="a browser's cookie that is set once a ticket was consumed, and read without its session",
)
def used_ticket_opens_any_session(policy: Policy) -> Policy:
    used: set[str] = set()

    def wrap(inner: Handler) -> Handler:
        def consume(call: Call, db: Connection) -> Answer:
            ticket = hosted.ticket_digest(call.body["ticket"])
            session = objects.get(db, call.resource)
            if ticket in used and session is not None and session.data["ticket"] != ticket:
                objects.change(db, session, session.state, {**session.data, "ticket": ticket})
            answer = inner(call, db)
            used.add(ticket)
            return answer

        return consume

    return with_handler(policy, _CONSUME, wrap)


@fault(
    "X108",
    requirement="NF-1",
    title="a session is found by the beginning of a longer id",
    operations=(_CONSUME,),
    source="a column of fixed length, to which a database shortens what it compares",
)
def longer_session_id_is_found(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        return replace(call, path={name: value[:_ID_LENGTH] for name, value in call.path.items()})

    return before_work(policy, look, _CONSUME)


@fault(
    "X109",
    requirement="HO-3",
    title="consuming a ticket answers the session that was consumed before",
    operations=(_CONSUME,),
    source="a cache of the last projection that is written after the answer",
)
def projection_of_the_session_before(policy: Policy) -> Policy:
    last: list[Answer] = []

    def wrap(inner: Handler) -> Handler:
        def consume(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            last.append(answer)
            return last[-2] if len(last) > 1 else answer

        return consume

    return with_handler(policy, _CONSUME, wrap)


@fault(
    "X210",
    requirement="IDEM-5",
    title="the record of a consumed ticket answers the same call on another session",
    operations=(_CONSUME,),
    source="a cache in front of the records, by key and body, with the ticket in it",
)
def record_without_session(policy: Policy) -> Policy:
    cache: dict[tuple[str, str], Answer] = {}

    def run(call: Call, handler: Handler) -> Answer:
        if call.operation != _CONSUME:
            return policy.idempotency.run(call, handler)
        entry = (call.key or "", canonical(call.body))
        if entry not in cache:
            cache[entry] = policy.idempotency.run(call, handler)
        return cache[entry]

    return with_idempotency(policy, run=run)
