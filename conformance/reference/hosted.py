"""Hosted checkout sessions: open -> consumed, or open -> cancelled; the holder of the ticket may act."""

from __future__ import annotations

import hashlib
import hmac
import time

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, JsonObject, Refusal, success
from conformance.reference.objects import Resource, change, find


def ticket_digest(ticket: str) -> str:
    return hashlib.sha256(ticket.encode()).hexdigest()


def new_session(ticket: str) -> JsonObject:
    return {"ticket": ticket_digest(ticket), "issued_at": time.time(), "total": 7300, "currency": "USD"}


def _projection(session: Resource) -> JsonObject:
    totals = {"total": session.data["total"], "currency": session.data["currency"]}
    return {"sessionId": session.id, "state": session.state, "version": session.version, "totals": totals}


def _find_session(call: Call, db: Connection) -> Resource:
    """The session in the path, if the ticket is its own and its state allows the operation."""
    session = find(call, db, "session")
    if not hmac.compare_digest(ticket_digest(call.body["ticket"]), session.data["ticket"]):
        raise Refusal("bad_ticket", "There is no such session with this ticket.")
    if call.now - session.data["issued_at"] > call.policy.ticket_lifetime_s:
        raise Refusal("bad_ticket", "The ticket has expired.")
    call.policy.guard(call, "session", session.state)
    return session


def consume(call: Call, db: Connection) -> Answer:
    session = _find_session(call, db)
    return success(_projection(change(db, session, "consumed", session.data)))


def cancel(call: Call, db: Connection) -> Answer:
    session = _find_session(call, db)
    return success(_projection(change(db, session, "cancelled", session.data)))
