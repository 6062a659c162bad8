"""Faults of calls that ask for what is so already: the same update, endpoint or quote (WH-1, CONF-4, STA-1)."""

from __future__ import annotations

import json

from sqlalchemy import Connection, select, update

from conformance.reference import objects
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.policy import Handler, Policy, before_work, with_handler
from conformance.reference.registry import fault
from conformance.reference.tables import objects as resources
from conformance.reference.webhooks import _members_to_store

_CREATE, _UPDATE, _QUOTE = "createInstallationWebhook", "updateInstallationWebhook", "quotePublicCart"


@fault(
    "F848",
    requirement="WH-1",
    title="an update with the values that an endpoint has is answered 404",
    operations=(_UPDATE,),
    source="MySQL's count of affected rows, 0 for an UPDATE that changes nothing, taken for that of found rows",
)
def no_affected_rows(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        endpoint = objects.find(call, db, "wh")
        if policy.merge(endpoint.data, _members_to_store(call)) == endpoint.data:
            raise Refusal("not_found", "There is no such resource.")

    return before_work(policy, look, _UPDATE)


@fault(
    "F849",
    requirement="CONF-4",
    title="the quote of a quoted cart opens it again",
    operations=(_QUOTE,),
    source="a hook that drops the quote of a cart with each change, of which a new quote is one",
)
def second_quote_opens(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def quote(call: Call, db: Connection) -> Answer:
            before = objects.get(db, call.resource[:100])
            answer = inner(call, db)
            if before is not None and before.state == "quoted":
                db.execute(update(resources).where(resources.c.id == before.id).values(state="open"))
            return answer

        return quote

    return with_handler(policy, _QUOTE, wrap)


@fault(
    "F855",
    requirement="STA-1",
    title="a second endpoint with the same URL ends in 500",
    operations=(_CREATE,),
    source="a unique index over installation and URL, whose violation has no handler",
)
def unique_url(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        is_own = (resources.c.kind == "wh", resources.c.installation == call.installation)
        known = db.execute(select(resources.c.data).where(*is_own)).scalars()
        if any(json.loads(data)["url"] == call.body["url"] for data in known):
            raise RuntimeError("duplicate key value violates unique constraint")

    return before_work(policy, look, _CREATE)
