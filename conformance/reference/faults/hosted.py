"""Faults of hosted checkout: HO-3, and keys that both operations share, IDEM-5."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection, select

from conformance.reference import hosted, objects, tables
from conformance.reference.call import Answer, Call, Refusal, success
from conformance.reference.hosted import ticket_digest
from conformance.reference.policy import Handler, Policy, before_work, with_handlers, with_idempotency, with_stage
from conformance.reference.registry import fault

_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")
_CHARACTERS = string.ascii_letters + string.digits + "-_"


@fault(
    "F614",
    requirement="HO-3",
    title="the last character of a ticket does not count",
    operations=_HOSTED,
    source="a column that is one character too short, in a database that cuts what does not fit",
)
def ticket_without_its_end(policy: Policy) -> Policy:
    """Only the digest of a ticket is stored, so every last character is tried."""

    def wrap(original: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            sent, session = call.body, objects.get(db, call.resource)
            if session is not None and session.kind == "session":
                tickets = [sent["ticket"][:-1] + character for character in _CHARACTERS]
                found = [ticket for ticket in tickets if ticket_digest(ticket) == session.data["ticket"]]
                call.body = {**sent, "ticket": found[0]} if found else sent
            try:
                return original(call, db)
            finally:
                call.body = sent

        return act

    return with_handlers(policy, _HOSTED, wrap)


@fault(
    "F615",
    requirement="IDEM-5",
    title="consume and cancel of one session share their keys",
    operations=_HOSTED,
    source="keys that are stored by session, since a browser has one session",
)
def keys_of_a_session(policy: Policy) -> Policy:
    def namespace(call: Call) -> tuple[str, ...]:
        return tuple("hosted" if part in _HOSTED else part for part in policy.idempotency.namespace(call))

    return with_idempotency(policy, namespace=namespace)


@fault(
    "F806",
    requirement="HO-7",
    title="a ticket never ends",
    operations=_HOSTED[:1],
    source="an expiry that a nightly job enforces",
    seeded_in="V329",
)
def endless_tickets(policy: Policy) -> Policy:
    return replace(policy, ticket_lifetime_s=float("inf"))


@fault(
    "F807",
    requirement="HO-7",
    title="a ticket ends after half of its lifetime",
    operations=_HOSTED[:1],
    source="a store of tickets whose sliding expiry was made absolute",
    seeded_in="V329",
)
def hasty_tickets(policy: Policy) -> Policy:
    return replace(policy, ticket_lifetime_s=policy.ticket_lifetime_s / 2)


def _with_ticket(policy: Policy, change: Callable[[str], str]) -> Policy:
    """The changed ticket is looked up instead of the one that was sent."""

    def look(call: Call, _db: Connection) -> Call:
        return replace(call, body={**call.body, "ticket": change(call.body["ticket"])})

    return before_work(policy, look, *_HOSTED)


@fault(
    "F790",
    requirement="HO-3",
    title="the first four characters of a ticket are not compared",
    operations=_HOSTED,
    source="ticket[4:], for a prefix that is the same for all tickets",
)
def ticket_without_its_prefix(policy: Policy) -> Policy:
    return _with_ticket(policy, lambda ticket: "tkt_" + ticket[4:])


@fault(
    "F791",
    requirement="HO-3",
    title="a ticket with further characters at its end is accepted",
    operations=_HOSTED,
    source="a column, or a pattern without an end, that cuts what does not fit",
)
def ticket_with_more_behind_it(policy: Policy) -> Policy:
    return _with_ticket(policy, lambda ticket: ticket[:36])


@fault(
    "X172",
    requirement="HO-3",
    title="a ticket in the query takes the place of that in the body",
    operations=_HOSTED,
    source="params of Rails and $_REQUEST of PHP, which merge the query and the body",
)
def ticket_of_the_query(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call | None:
        ticket = call.request.parameters().get("ticket")
        return replace(call, body={**call.body, "ticket": ticket}) if ticket else None

    return before_work(policy, look, *_HOSTED)


@fault(
    "X142",
    requirement="HO-3",
    title="a session whose ticket was consumed is cancelled with any ticket",
    operations=_HOSTED[1:],
    source="a ticket that is deleted when it is consumed, and compared only where there is one",
    seeded_in="V581",
)
def ticket_deleted_once_consumed(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            session = objects.get(db, call.resource)
            if session is None or session.kind != "session" or session.state != "consumed":
                return original(call, db)
            return success(hosted._projection(objects.change(db, session, "cancelled", session.data)))

        return act

    return with_handlers(policy, _HOSTED[1:], wrap)


@fault(
    "F876",
    requirement="HO-1",
    title="a hosted call with a cookie is refused without a CSRF token",
    operations=_HOSTED,
    source="session authentication of a web framework, which is meant for its own pages",
)
def csrf_token(policy: Policy) -> Policy:
    def demand_token(call: Call) -> None:
        if call.operation in _HOSTED and call.request.header_values(b"cookie"):
            raise Refusal("forbidden", "The CSRF token is missing.")

    return with_stage(policy, demand_token)


@fault(
    "X65",
    requirement="HO-2",
    title="a used ticket opens its session again for a returning buyer",
    operations=_HOSTED[:1],
    source="a session that is opened anew where the browser says that it was there before",
)
def ticket_of_a_returning_buyer(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        session = objects.get(db, call.resource)
        if call.body.get("returning") is True and session is not None and session.state == "consumed":
            objects.change(db, session, "open", session.data)

    return before_work(policy, look, *_HOSTED[:1])


@fault(
    "X66",
    requirement="HO-3",
    title="a cancellation without feedback needs no valid ticket",
    operations=_HOSTED[1:],
    source="a form of an earlier page, which knows no ticket, and whose route was kept",
)
def cancelled_without_ticket(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            session = objects.get(db, call.resource)
            if "feedback" in call.body or session is None or session.kind != "session":
                return original(call, db)
            call.policy.guard(call, "session", session.state)
            return success(hosted._projection(objects.change(db, session, "cancelled", session.data)))

        return act

    return with_handlers(policy, _HOSTED[1:], wrap)


@fault(
    "X35",
    requirement="NF-1",
    title="an unknown session is answered 400",
    operations=_HOSTED,
    source="one exception for every problem of a checkout, which is mapped to a bad request",
)
def unknown_session_is_invalid(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            if objects.get(db, call.resource) is None:
                raise Refusal("invalid", "There is no such session.")
            return original(call, db)

        return act

    return with_handlers(policy, _HOSTED, wrap)


def _with_tickets_of(policy: Policy, states: tuple[str, ...], *operations: str) -> Policy:
    """The ticket of any session in these states is taken for that of the session in the path."""

    def wrap(original: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            session = objects.get(db, call.resource)
            if session is None or session.kind != "session" or not _has_ticket_of(db, states, call.body["ticket"]):
                return original(call, db)
            call.policy.guard(call, "session", session.state)
            state = "consumed" if call.operation == _HOSTED[0] else "cancelled"
            return success(hosted._projection(objects.change(db, session, state, session.data)))

        return act

    return with_handlers(policy, operations, wrap)


def _has_ticket_of(db: Connection, states: tuple[str, ...], ticket: str) -> bool:
    rows = db.execute(
        select(tables.objects.c.data).where(tables.objects.c.kind == "session", tables.objects.c.state.in_(states))
    )
    return any(f'"{ticket_digest(ticket)}"' in row.data for row in rows)


@fault(
    "X237",
    requirement="HO-3",
    title="the ticket of a cancelled session opens any other one",
    operations=_HOSTED[:1],
    source="a buyer who comes back after a cancellation is let in by a ticket that is looked up without its session",
)
def cancelled_ticket_opens_others(policy: Policy) -> Policy:
    return _with_tickets_of(policy, ("cancelled",), *_HOSTED[:1])


@fault(
    "X238",
    requirement="HO-3",
    title="the ticket of a session that has ended cancels any other one",
    operations=_HOSTED[1:],
    source="an index of ended tickets without their sessions, which is asked first, for repeated cancellations",
)
def ended_ticket_cancels_others(policy: Policy) -> Policy:
    return _with_tickets_of(policy, ("consumed", "cancelled"), *_HOSTED[1:])
