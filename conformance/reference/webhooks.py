"""Webhook endpoints, the events sent to them, and the list of deliveries.

An event is written into `deliveries` in the transaction that causes it (an outbox); `courier.py` sends it.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, bindparam, insert, select

from conformance.reference.call import Answer, Call, JsonObject, new_id, success
from conformance.reference.objects import Resource, add, change, find
from conformance.reference.tables import deliveries, objects

FANOUT = 5
"""Maximum number of an installation's endpoints for one event: the newest subscribed ones, loopback first."""
MAX_ENDPOINTS = 50
LOOPBACK = ("127.0.0.1", "::1", "localhost")
MAX_DELIVERIES = 50

_ENDPOINTS = (
    select(objects.c.id, objects.c.data)
    .where(objects.c.installation == bindparam("whose"), objects.c.kind == "wh", objects.c.state == "active")
    .order_by(objects.c.created_at.desc())
    .limit(MAX_ENDPOINTS)
)
ALL_DELIVERIES = select(deliveries).order_by(deliveries.c.created_at.desc()).limit(MAX_DELIVERIES)
_DELIVERIES = ALL_DELIVERIES.where(deliveries.c.installation == bindparam("whose"))
_ADD = insert(deliveries)


def new_endpoint(members: JsonObject) -> JsonObject:
    """An endpoint's members, with defaults for what is omitted."""
    plain = {"events": [], "description": "", "active": True, "metadata": {}}
    return {
        **plain,
        **members,
        "secret": "whsec_" + secrets.token_hex(16),
    }


def _members_to_store(call: Call) -> JsonObject:
    """The members of a body that an endpoint keeps."""
    reserved = ("id", "version", "secret")
    is_kept = call.policy.reading.keeps_unknown
    return {n: item for n, item in call.body.items() if n in _MEMBERS or (is_kept and n not in reserved)}


_MEMBERS = ("url", "events", "description", "active", "metadata")


def _to_json(endpoint: Resource, *, secret: bool) -> JsonObject:
    data = {name: value for name, value in endpoint.data.items() if secret or name != "secret"}
    return {"id": endpoint.id, "version": endpoint.version, **data}


def _state(data: JsonObject) -> str:
    return "active" if data["active"] else "paused"


def create(call: Call, db: Connection) -> Answer:
    """Creates an endpoint; only this answer shows its signing secret."""
    data = new_endpoint(_members_to_store(call))
    return success(_to_json(add(db, "wh", call.installation, _state(data), data), secret=True))


def update(call: Call, db: Connection) -> Answer:
    endpoint = find(call, db, "wh")
    data = call.policy.merge(endpoint.data, _members_to_store(call))
    return success(_to_json(change(db, endpoint, _state(data), data), secret=False))


def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
    """The members of the change are replaced, all others stay."""
    return {**old, **changes}


def is_loopback(url: str) -> bool:
    """Whether a URL is a loopback address: no other host is contacted."""
    try:
        return urlsplit(url).scheme == "http" and urlsplit(url).hostname in LOOPBACK
    except ValueError:
        return False


def emit(db: Connection, call: Call, event: str, payload: JsonObject, *, known_as: str = "") -> None:
    """Writes an event for the endpoints that are subscribed to it, or to `known_as`, into the outbox."""
    subscription = known_as or event
    text = f'"{subscription}"'
    # a search on the text: parsing fifty endpoints would take longer than the rest of a checkout
    subscribers = [row for row in db.execute(_ENDPOINTS, {"whose": call.installation}) if text in row.data]
    subscribers.sort(key=lambda row: not any(host in row.data for host in LOOPBACK))
    now = time.time()
    rows = [
        {
            "id": new_id("del"),
            "installation": call.installation,
            "endpoint": endpoint,
            "event": event,
            "url": data["url"],
            "secret": data["secret"],
            "payload": json.dumps({"type": event, "data": payload}),
            "state": "pending" if is_loopback(data["url"]) else "skipped",
            "attempts": 0,
            "created_at": now,
            "due_at": now,
        }
        for endpoint, data in ((row.id, json.loads(row.data)) for row in subscribers[:FANOUT])
        if subscription in data["events"]
    ]
    if rows:
        db.execute(_ADD, rows)
        call.store.outbox = call.store.outbox or any(row["state"] == "pending" for row in rows)


def list_deliveries(call: Call, db: Connection) -> Answer:
    return list_of(db.execute(_DELIVERIES, {"whose": call.installation}))


def list_of(rows: Iterable[Any]) -> Answer:
    """The answer with these rows of the table `deliveries`."""
    items = [
        {
            "id": row.id,
            "endpointId": row.endpoint,
            "event": row.event,
            "state": row.state,
            "attempts": row.attempts,
            "createdAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row.created_at)),
        }
        for row in rows
    ]
    return success({"deliveries": items})
