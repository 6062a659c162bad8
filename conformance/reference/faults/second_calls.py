"""Faults that show in a second call: keys, endpoints, codes, races of two callers, filters beside each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from sqlalchemy import Connection

from conformance.reference import hosted, oauth, objects, webhooks
from conformance.reference.call import Answer, Call, Refusal, Reply, success
from conformance.reference.idempotency import Record, perform
from conformance.reference.pipeline import execute, read_body
from conformance.reference.policy import (
    Handler,
    Policy,
    Waits,
    before_work,
    evolve,
    with_handler,
    with_handlers,
    with_idempotency,
    with_oauth,
    with_search,
    with_stage,
    with_wire,
)
from conformance.reference.registry import fault

_RACE_S = 0.01
"""Between a read and the write that rests on it."""
_CREATE, _UPDATE, _CHECKOUT = "createInstallationWebhook", "updateInstallationWebhook", "checkoutPublicCart"
_SEARCH = "searchPublicProducts"
_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")


def _with_burnt_keys(policy: Policy, is_refused: Callable[[Call], bool]) -> Policy:
    """A key is used up by a call that is refused for the form of its body, before the body is read."""
    burnt: set[str] = set()

    def look(call: Call) -> None:
        if call.key is None or not call.request.body:
            return
        if is_refused(call):
            burnt.add(call.key)
        elif call.key in burnt:
            raise Refusal("mismatch", "This Idempotency-Key was used with another payload.")

    return with_stage(policy, look, before=read_body)


@fault(
    "F810",
    requirement="IDEM-12",
    title="a refused media type uses the key up",
    source="the middleware of keys runs before the one that negotiates content",
)
def media_type_burns_key(policy: Policy) -> Policy:
    return _with_burnt_keys(policy, lambda call: not policy.reading.accepts(call.request.header(b"content-type")))


@fault(
    "F811",
    requirement="IDEM-12",
    title="a body above the largest size uses the key up",
    source="the middleware of keys runs before the one that limits bodies",
)
def size_burns_key(policy: Policy) -> Policy:
    return _with_burnt_keys(policy, lambda call: len(call.request.body) > policy.reading.max_bytes)


@fault(
    "F812",
    requirement="IDEM-12",
    title="the replay of a creation shows the endpoint as it is now",
    operations=(_CREATE,),
    source="a key stands for the id of what was created, and the replay reads it again",
)
def replay_reads_again(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        answer = policy.idempotency.replay(call, record, db, handler)
        if call.operation != _CREATE or answer.status != 200:
            return answer
        endpoint = objects.get(db, answer.value["data"]["id"])
        assert endpoint is not None
        data = {"id": endpoint.id, "version": endpoint.version, **endpoint.data}
        return Answer({"data": data}, answer.status, answer.headers)

    return with_idempotency(policy, replay=replay)


@fault(
    "F813",
    requirement="IDEM-14",
    title="keys of the second installation are not stored",
    source="a migration that has created the table of keys for the first tenant alone",
)
def one_installation_has_keys(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        if call.caller is None or call.caller.installation == "A":
            return policy.idempotency.run(call, handler)
        with call.store.write() as db:
            return perform(call, db, handler)

    return with_idempotency(policy, run=run)


@fault(
    "F814",
    requirement="IDEM-1",
    title="a repeat that is refused with 401 or 403 deletes the record of its key",
    source="an error handler that releases the key of every request that fails",
)
def refused_repeat_deletes_record(policy: Policy) -> Policy:
    released: set[str] = set()

    def release(call: Call, reply: Reply) -> Reply:
        if reply.status in (401, 403):
            released.add(call.request.first_header(b"idempotency-key").lower())
        return reply

    def is_forgotten(call: Call, _age_s: float) -> bool:
        is_released = call.key in released
        released.discard(call.key or "")
        return is_released

    return with_idempotency(with_wire(policy, release), is_forgotten=is_forgotten)


@fault(
    "F815",
    requirement="WH-2",
    title="of two updates at once one takes back what the other has changed",
    operations=(_UPDATE,),
    source="read, modify and write without a version: the lost update",
)
def lost_update(policy: Policy) -> Policy:
    known: dict[str, Any] = {}

    def read(call: Call) -> Waits | None:
        return _read(call) if call.operation == _UPDATE else None

    def _read(call: Call) -> Waits:
        with call.store.read() as db:
            endpoint = objects.get(db, call.resource[:100])
        if endpoint is not None:
            known[call.request_id] = endpoint.data
        yield _RACE_S

    def wrap(_inner: Handler) -> Handler:
        def write(call: Call, db: Connection) -> Answer:
            endpoint = objects.find(call, db, "wh")
            changes = {name: value for name, value in call.body.items() if name in webhooks.new_endpoint({})}
            data = policy.merge(known.pop(call.request_id, endpoint.data), changes)
            state = "active" if data["active"] else "paused"
            changed = objects.change(db, endpoint, state, data)
            members = {name: value for name, value in data.items() if name != "secret"}
            return success({"id": changed.id, "version": changed.version, **members})

        return write

    return with_handler(with_stage(policy, read, before=execute), _UPDATE, wrap)


@fault(
    "F816",
    requirement="CONF-2",
    title="checkouts of two API keys at once both succeed",
    operations=(_CHECKOUT,),
    source="a lock for each API key, not for each cart",
)
def lock_of_the_caller(policy: Policy) -> Policy:
    seen: dict[str, str] = {}
    winners: dict[str, str] = {}

    def read(call: Call) -> Waits | None:
        return _read(call) if call.operation == _CHECKOUT else None

    def _read(call: Call) -> Waits:
        with call.store.read() as db:
            cart = objects.get(db, call.resource[:100])
        if cart is not None:
            seen[call.request_id] = cart.state
        yield _RACE_S

    def guard(call: Call, kind: str, state: str) -> None:
        state_before = seen.pop(call.request_id, state)
        caller = call.caller.name if call.caller else ""
        is_race = state == "checked_out" and state_before == "quoted" and call.operation == _CHECKOUT
        if not is_race or winners.get(call.resource) == caller:
            policy.guard(call, kind, state)
        if call.operation == _CHECKOUT:
            winners[call.resource] = caller

    return evolve(with_stage(policy, read, before=execute), guard=guard)


@fault(
    "F817",
    requirement="WH-2",
    title="each update decodes the percent escapes of a kept URL",
    operations=(_UPDATE,),
    source="a setter that decodes, called with the stored value too",
)
def url_decoded_again(policy: Policy) -> Policy:
    return evolve(policy, merge=lambda old, changes: policy.merge({**old, "url": unquote(old["url"])}, changes))


def _with_other_search(policy: Policy, is_meant: Callable[[Mapping[str, str]], bool], **changes: Any) -> Policy:
    """With other rules for searches of some parameters."""
    other = with_search(policy, **changes)

    def look(call: Call, _db: Connection) -> Call:
        query = call.request.parameters()
        return replace(call, policy=other) if is_meant(query) else call

    return before_work(policy, look, _SEARCH)


@fault(
    "F818",
    requirement="SRCH-8",
    title="an unknown merchant is ignored beside a category",
    operations=(_SEARCH,),
    source="a query builder that drops a filter without a match where another one is left",
)
def unknown_merchant_beside_category(policy: Policy) -> Policy:
    merchants = policy.search.stock.merchants

    def is_meant(query: Mapping[str, str]) -> bool:
        return "category" in query and query.get("merchant", merchants[0]) not in merchants

    return _with_other_search(policy, is_meant, filters=("category",))


@fault(
    "F819",
    requirement="SRCH-8",
    title="a page past the end of a filtered search is answered 404",
    operations=(_SEARCH,),
    source="two code paths of paging, one of which raises for a page without items",
)
def filtered_page_past_the_end(policy: Policy) -> Policy:
    return _with_other_search(policy, lambda query: "category" in query, past_the_end="not_found")


@fault(
    "F820",
    requirement="OA-14",
    title="an expired code is exchanged at the second attempt",
    operations=("exchangeOAuthToken",),
    source="a cache whose entries live on with each access",
)
def access_renews_code(policy: Policy) -> Policy:
    attempts: set[str] = set()

    def is_unexpired(call: Call, code: Mapping[str, Any]) -> None:
        if code["digest"] not in attempts:
            attempts.add(code["digest"])
            oauth.is_unexpired(call, code)

    return with_oauth(policy, grant={**policy.oauth.grant, "unexpired": is_unexpired})


@fault(
    "F821",
    requirement="HO-3",
    title="tickets are compared without their case",
    operations=_HOSTED,
    source="a collation of the database that ignores case",
)
def ticket_in_any_case(policy: Policy) -> Policy:
    """A ticket is stored as its digest, so that the spellings with one letter in the other case are tried."""

    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            session, ticket = objects.get(db, call.resource[:100]), call.body["ticket"]
            spellings = [ticket[:at] + ticket[at].swapcase() + ticket[at + 1 :] for at in range(len(ticket))]
            for spelling in spellings if session is not None else []:
                with suppress(UnicodeEncodeError):
                    if hosted.ticket_digest(spelling) == session.data.get("ticket"):  # type: ignore[union-attr]
                        return inner(replace(call, body={**call.body, "ticket": spelling}), db)
            return inner(call, db)

        return act

    return with_handlers(policy, _HOSTED, wrap)


@fault(
    "F822",
    requirement="CONF-4",
    title="a cart whose promotion was removed cannot be revoked",
    operations=("revokePublicCart",),
    source="a new state for carts without promotion, which one transition does not know",
)
def no_revocation_after_removal(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        cart = objects.find(call, db, "cart")
        if cart.state == "open" and cart.version > 1 and cart.data["promotion"] is None:
            raise Refusal("state_conflict", "The cart is open: this is no longer possible.")

    return before_work(policy, look, "revokePublicCart")


@fault(
    "F823",
    requirement="OA-15",
    title="an exchange without a proof uses the code up",
    operations=("exchangeOAuthToken",),
    source="a code that is deleted from its store before the proof is verified",
)
def missing_proof_burns_code(policy: Policy) -> Policy:
    def take_code(call: Call, reply: Reply) -> Reply:
        if reply.status == 401 and not call.request.header_values(b"dpop"):
            with suppress(ValueError, AttributeError):
                call.body = json.loads(call.request.body)
                oauth.burn(call)
        return reply

    return with_wire(policy, take_code, "exchangeOAuthToken")
