"""Carts, orders, webhook endpoints and hosted sessions: rows with an owner, a state and a JSON value."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, insert, select, update

from conformance.reference.call import Call, JsonObject, Refusal, new_id
from conformance.reference.tables import objects

_FIND = select(objects).where(objects.c.id == bindparam("key"))
_FIND_AND_LOCK = _FIND.with_for_update()
_ADD = insert(objects)
_CHANGE = (
    update(objects)
    .where(objects.c.id == bindparam("key"))
    .values(state=bindparam("to"), data=bindparam("new"), version=objects.c.version + 1)
)
_GRAMMAR = re.compile(r"[a-z]+_[0-9a-f]{20}")


@dataclass(frozen=True, slots=True)
class Thing:
    id: str
    kind: str
    installation: str
    state: str
    version: int
    data: JsonObject


def add(db: Connection, kind: str, installation: str, state: str, data: JsonObject) -> Thing:
    thing = Thing(new_id(kind), kind, installation, state, 1, data)
    row = {"id": thing.id, "kind": kind, "installation": installation, "state": state, "version": 1}
    db.execute(_ADD, {**row, "data": json.dumps(data), "created_at": time.time()})
    return thing


def get(db: Connection, name: str, *, lock: bool = False) -> Thing | None:
    row = db.execute(_FIND_AND_LOCK if lock else _FIND, {"key": name}).first()
    return Thing(row.id, row.kind, row.installation, row.state, row.version, json.loads(row.data)) if row else None


def change(db: Connection, thing: Thing, state: str, data: JsonObject) -> Thing:
    """The thing in its new state, written; its version grows by one."""
    db.execute(_CHANGE, {"key": thing.id, "to": state, "new": json.dumps(data)})
    return Thing(thing.id, thing.kind, thing.installation, state, thing.version + 1, data)


def find(call: Call, db: Connection, kind: str) -> Thing:
    """What the path names, if the caller may see it; locked against other writers.

    Raises Refusal of kind `not_found`, `bad_id`, or what the policy says of things of another installation.
    """
    name = call.resource
    if call.policy.id_grammar and not (_GRAMMAR.fullmatch(name) and name.startswith(f"{kind}_")):
        raise Refusal("bad_id", "The identifier is malformed.")
    thing = get(db, name, lock=call.operation in call.policy.idempotency.operations) if len(name) <= 100 else None
    if thing is None or thing.kind != kind:
        raise Refusal("not_found", "There is no such resource.")
    if kind != "session" and not call.policy.sees(call, thing.installation):
        raise Refusal(call.policy.unseen, "There is no such resource.")
    return thing


def guarded(call: Call, db: Connection, kind: str) -> Thing:
    """What the path names, in a state that allows the operation. Raises Refusal, of kind `state_conflict` too."""
    thing = find(call, db, kind)
    call.policy.guard(call, kind, thing.state)
    return thing


def guard(call: Call, kind: str, state: str) -> None:
    if state not in call.policy.states[call.operation]:
        raise Refusal("state_conflict", f"The {kind} is {state.replace('_', ' ')}: this is not possible any more.")
