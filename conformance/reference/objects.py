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
class Resource:
    id: str
    kind: str
    installation: str
    state: str
    version: int
    data: JsonObject


def add(db: Connection, kind: str, installation: str, state: str, data: JsonObject) -> Resource:
    resource = Resource(new_id(kind), kind, installation, state, 1, data)
    row = {"id": resource.id, "kind": kind, "installation": installation, "state": state, "version": 1}
    db.execute(_ADD, {**row, "data": json.dumps(data), "created_at": time.time()})
    return resource


def get(db: Connection, name: str, *, lock: bool = False) -> Resource | None:
    row = db.execute(_FIND_AND_LOCK if lock else _FIND, {"key": name}).first()
    return Resource(row.id, row.kind, row.installation, row.state, row.version, json.loads(row.data)) if row else None


def change(db: Connection, resource: Resource, state: str, data: JsonObject) -> Resource:
    """Writes the resource in its new state; its version grows by one."""
    db.execute(_CHANGE, {"key": resource.id, "to": state, "new": json.dumps(data)})
    return Resource(resource.id, resource.kind, resource.installation, state, resource.version + 1, data)


def find(call: Call, db: Connection, kind: str) -> Resource:
    """The resource in the path, if the caller may see it; locked against other writers.

    Raises Refusal of kind `not_found`, `bad_id`, or the policy's kind for another installation.
    """
    name = call.resource
    if call.policy.id_grammar and not (_GRAMMAR.fullmatch(name) and name.startswith(f"{kind}_")):
        raise Refusal("bad_id", "The identifier is malformed.")
    resource = get(db, name, lock=call.operation in call.policy.idempotency.operations) if len(name) <= 100 else None
    if resource is None or resource.kind != kind:
        raise Refusal("not_found", "There is no such resource.")
    if kind != "session" and not call.policy.sees(call, resource.installation):
        raise Refusal(call.policy.unseen, "There is no such resource.")
    return resource


def find_in_state(call: Call, db: Connection, kind: str) -> Resource:
    """The resource in the path, in a state that allows the operation. Raises Refusal, of kind `state_conflict` too."""
    resource = find(call, db, kind)
    call.policy.guard(call, kind, resource.state)
    return resource


def guard(call: Call, kind: str, state: str) -> None:
    if state not in call.policy.states[call.operation]:
        refusal = call.policy.state_refusals.get(f"{kind}.{state}", "state_conflict")
        raise Refusal(refusal, f"The {kind} is {state.replace('_', ' ')}: this is no longer possible.")
