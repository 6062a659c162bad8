"""Faults of updates of webhook endpoints: what they keep, and on which endpoints they are carried out: WH-2, BODY-9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from conformance.reference import objects
from conformance.reference.call import Answer, Call, JsonObject, Refusal
from conformance.reference.policy import Handler, Policy, before_work, evolve, with_handler, with_shape
from conformance.reference.registry import fault

_UPDATE = "updateInstallationWebhook"
Change = Callable[[Call, Connection, Handler], Answer]


def _with_update(policy: Policy, change: Change) -> Policy:
    return with_handler(policy, _UPDATE, lambda inner: lambda call, db: change(call, db, inner))


@fault(
    "F618",
    requirement="WH-2",
    title="an update that does not name active makes the endpoint active",
    operations=(_UPDATE,),
    source="the default of a model's member, applied to the body of PATCH",
)
def active_by_default(policy: Policy) -> Policy:
    return evolve(policy, merge=lambda old, changes: policy.merge({**old, "active": True}, changes))


@fault(
    "F619",
    requirement="WH-2",
    title="a second update starts from the state before the first one",
    operations=(_UPDATE,),
    source="a cache of rows that a write does not invalidate: the lost update",
)
def stale_second_update(policy: Policy) -> Policy:
    first: dict[str, JsonObject] = {}

    def change(call: Call, db: Connection, inner: Handler) -> Answer:
        found = objects.get(db, call.resource)
        if found is None:
            return inner(call, db)
        old_data = first.setdefault(found.id, found.data)
        changed = evolve(call.policy, merge=lambda _old, changes: policy.merge(old_data, changes))
        return inner(evolve(call, policy=changed), db)

    return _with_update(policy, change)


@fault(
    "F620",
    requirement="WH-2",
    title="an endpoint that is not active is unknown to updates",
    operations=(_UPDATE,),
    source="a default scope of active rows, as in Rails or Django managers",
)
def paused_is_unknown(policy: Policy) -> Policy:
    def change(call: Call, db: Connection, inner: Handler) -> Answer:
        found = objects.get(db, call.resource)
        if found is not None and found.state == "paused":
            raise Refusal("not_found", "There is no such resource.")
        return inner(call, db)

    return _with_update(policy, change)


@fault(
    "F621",
    requirement="WH-2",
    title="the answer to an update shows the endpoint before it",
    operations=(_UPDATE,),
    source="MongoDB's findOneAndUpdate, which returns the document before the update by default",
)
def old_document(policy: Policy) -> Policy:
    def change(call: Call, db: Connection, inner: Handler) -> Answer:
        found = objects.get(db, call.resource)
        answer = inner(call, db)
        if found is None:
            return answer
        data = {name: value for name, value in found.data.items() if name != "secret"}
        return evolve(answer, value={"data": {"id": found.id, "version": found.version, **data}})

    return _with_update(policy, change)


@fault(
    "F622",
    requirement="WH-2",
    title="false, 0 and empty values in an update are ignored",
    operations=(_UPDATE,),
    source="`if changes.get(name):` in place of `if name in changes:`",
)
def falsy_ignored(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        return policy.merge(old, {name: value for name, value in changes.items() if value})

    return evolve(policy, merge=merge)


@fault(
    "F751",
    requirement="WH-2",
    title="an endpoint that is not active cannot be updated",
    operations=(_UPDATE,),
    source="a state machine whose paused state has one way out only",
)
def paused_is_frozen(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        found = objects.get(db, call.resource)
        if found is not None and found.state == "paused" and not call.body.get("active"):
            raise Refusal("state_conflict", "The endpoint is paused.")

    return before_work(policy, look, _UPDATE)


@fault(
    "F752",
    requirement="WH-2",
    title="a change of active removes the metadata of an endpoint",
    operations=(_UPDATE,),
    source="a row that is written anew to switch it, from the columns that the switch knows",
)
def active_drops_metadata(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        return {**old, **({"metadata": {}} if "active" in changes else {}), **changes}

    return evolve(policy, merge=merge)


def _shape_update(policy: Policy, change: Callable[[JsonObject], JsonObject]) -> Policy:
    def shape(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={**answer.value, "data": change(answer.value["data"])})

    return with_shape(policy, shape, _UPDATE)


def _shape_metadata(policy: Policy, name: str, change: Callable[[Any], Any]) -> Policy:
    """Changes that member of the metadata where it has a value."""

    def shape(data: JsonObject) -> JsonObject:
        value = data["metadata"].get(name)
        return {**data, "metadata": {**data["metadata"], name: change(value)}} if value else data

    return _shape_update(policy, shape)


@fault(
    "F753",
    requirement="WH-2",
    title="a change of an endpoint sorts the labels of its metadata",
    operations=(_UPDATE,),
    source="labels kept as a set, whose order the writer replaces by its own",
)
def sorted_labels(policy: Policy) -> Policy:
    return _shape_metadata(policy, "labels", lambda labels: sorted(set(labels)))


@fault(
    "F754",
    requirement="WH-2",
    title="a change of an endpoint cuts the priority of its metadata to 16 bits",
    operations=(_UPDATE,),
    source="a column of 16 bits in the table of changes, and of 32 in that of endpoints",
)
def short_priority(policy: Policy) -> Policy:
    return _shape_metadata(policy, "priority", lambda priority: int(priority) & 0xFFFF)


@fault(
    "F755",
    requirement="WH-2",
    title="a change of an endpoint replaces letters beyond Latin-1 in its metadata",
    operations=(_UPDATE,),
    source="a connection of another character set for writes of one kind",
)
def latin_metadata(policy: Policy) -> Policy:
    return _shape_metadata(policy, "team", lambda team: str(team).encode("latin-1", "replace").decode("latin-1"))


@fault(
    "F756",
    requirement="WH-2",
    title="a change of an endpoint keeps ten of its events",
    operations=(_UPDATE,),
    source="a page of ten rows where all rows of a relation are meant",
)
def ten_events(policy: Policy) -> Policy:
    return _shape_update(policy, lambda data: {**data, "events": data["events"][:10]})


@fault(
    "F757",
    requirement="WH-2",
    title="a change gives an endpoint without metadata the labels of none",
    operations=(_UPDATE,),
    source="the defaults of a nested model, filled in when a row is loaded to be changed",
)
def default_labels(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        return {**old, "metadata": old["metadata"] or {"labels": []}, **changes}

    return evolve(policy, merge=merge)


@fault(
    "F758",
    requirement="BODY-9",
    title="an unknown member version of a change sets the version of an endpoint",
    operations=(_UPDATE,),
    source="mass assignment (CWE-915): what is sent is written over the row that is answered",
)
def assigned_version(policy: Policy) -> Policy:
    def shape(call: Call, answer: Answer) -> Answer:
        if answer.status != 200 or type(call.body.get("version")) is not int:
            return answer
        return evolve(answer, value={"data": {**answer.value["data"], "version": call.body["version"]}})

    return with_shape(policy, shape, _UPDATE)


@fault(
    "F866",
    requirement="WH-2",
    title="an update that does not name the description empties it",
    operations=(_UPDATE,),
    source="the default of a model's member, where the caller has set it some updates ago",
)
def empty_description(policy: Policy) -> Policy:
    return evolve(policy, merge=lambda old, changes: policy.merge({**old, "description": ""}, changes))


@fault(
    "F867",
    requirement="WH-2",
    title="an update does not change active",
    operations=(_UPDATE,),
    source="a member of the schema that the writer's list of columns lacks",
    seeded_in="V520",
)
def active_without_effect(policy: Policy) -> Policy:
    return evolve(policy, merge=lambda old, changes: {**policy.merge(old, changes), "active": old["active"]})


@fault(
    "F868",
    requirement="WH-2",
    title="a description is changed once only",
    operations=(_UPDATE,),
    source="a column that is written where it has its default, such as COALESCE(NULLIF(description, ''), ...)",
)
def described_once(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        is_final = str(old["description"]).startswith("changed ")
        return policy.merge(old, {**changes, "description": old["description"]} if is_final else changes)

    return evolve(policy, merge=merge)


def _with_rare_endpoint(policy: Policy, refuse: Callable[[], Refusal]) -> Policy:
    """Refuses an update of an endpoint that was created without a description."""

    def look(call: Call, db: Connection) -> None:
        found = objects.get(db, call.resource)
        if found is not None and found.data.get("description") == "":
            raise refuse()

    return before_work(policy, look, _UPDATE)


@fault(
    "F869",
    requirement="WH-1",
    title="an endpoint created without a description is not found by an update",
    operations=(_UPDATE,),
    source="an inner join on the table of an optional member",
)
def undescribed_is_unknown(policy: Policy) -> Policy:
    return _with_rare_endpoint(policy, lambda: Refusal("not_found", "There is no such resource."))


@fault(
    "F870",
    requirement="WH-1",
    title="an update of an endpoint created without a description is answered 500",
    operations=(_UPDATE,),
    source="a null dereference on the old value of an optional member",
)
def undescribed_is_fatal(policy: Policy) -> Policy:
    return _with_rare_endpoint(policy, lambda: Refusal("internal", "The server failed."))


@fault(
    "F970",
    requirement="WH-2",
    title="an update that names only the metadata subscribes the endpoint to all events",
    operations=(_UPDATE,),
    source="a default of a form that is filled in where its field is absent",
)
def metadata_alone(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        merged = policy.merge(old, changes)
        return {**merged, "events": ["*"]} if set(changes) == {"metadata"} else merged

    return evolve(policy, merge=merge)


@fault(
    "F983",
    requirement="WH-2",
    title="an update adds its events to those that an endpoint has",
    operations=(_UPDATE,),
    source="append(old, new...) where the new list is meant, or a merge of objects that joins their lists",
)
def appended_events(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        events = [*old["events"], *(event for event in changes.get("events", ()) if event not in old["events"])]
        return {**policy.merge(old, changes), "events": events}

    return evolve(policy, merge=merge)


@fault(
    "F984",
    requirement="WH-2",
    title="a shorter list of events keeps the end of the longer one",
    operations=(_UPDATE,),
    source="Go's copy() into the old slice, or json.Unmarshal into an array of fixed length",
)
def kept_end_of_events(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        merged = policy.merge(old, changes)
        return {**merged, "events": [*merged["events"], *old["events"][len(merged["events"]) :]]}

    return evolve(policy, merge=merge)


@fault(
    "F985",
    requirement="WH-2",
    title="an update that only makes an endpoint inactive takes back its events",
    operations=(_UPDATE,),
    source="an unsubscription that forgets the choice of events, to be made anew when the endpoint is active again",
)
def inactive_without_events(policy: Policy) -> Policy:
    first: dict[str, JsonObject] = {}

    def change(call: Call, db: Connection, inner: Handler) -> Answer:
        found = objects.get(db, call.resource)
        if found is None or "events" not in found.data:
            return inner(call, db)
        events = first.setdefault(found.id, found.data)["events"]
        is_off = call.body.get("active") is False and "events" not in call.body
        changed = evolve(call.policy, merge=lambda old, changes: {**policy.merge(old, changes), "events": events})
        return inner(evolve(call, policy=changed) if is_off else call, db)

    return _with_update(policy, change)
