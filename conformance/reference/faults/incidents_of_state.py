"""Faults beyond the catalogue (X14 to X23): states, races, bindings; each with its source."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, select, update

from conformance.reference import oauth, objects
from conformance.reference.call import Answer, Call, Caller, JsonObject, Refusal
from conformance.reference.catalogue import EMPTY_MERCHANT, MERCHANTS
from conformance.reference.faults.flight import WORK_S
from conformance.reference.idempotency import Record, address, find, perform
from conformance.reference.keys import CALLERS
from conformance.reference.pipeline import read_body
from conformance.reference.policy import (
    Handler,
    Policy,
    Schema,
    evolve,
    with_handler,
    with_idempotency,
    with_oauth,
    with_shape,
)
from conformance.reference.registry import fault
from conformance.reference.tables import codes
from conformance.reference.tables import objects as things

_TOKEN = ("exchangeOAuthToken",)


@fault(
    "X14",
    requirement="CONF-1",
    title="a replay restores the cart's state of the first answer",
    operations=("checkoutPublicCart", "quotePublicCart", "revokePublicCart"),
    source="the lost update: Fowler, Patterns of Enterprise Application Architecture, Optimistic Offline Lock",
)
def replay_writes_back(policy: Policy) -> Policy:
    """The stored answer updates a read model, which determines the state: visible only after another change."""

    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        answer = policy.idempotency.replay(call, record, db, handler)
        data = answer.value.get("data", {}) if answer.status == 200 else {}
        if "cartId" in call.path and "state" in data:
            db.execute(update(things).where(things.c.id == call.resource).values(state=data["state"]))
        return answer

    return with_idempotency(policy, replay=replay)


@fault(
    "X15",
    requirement="CONF-2",
    title="concurrent revoke and checkout both succeed",
    operations=("checkoutPublicCart", "revokePublicCart"),
    source="Warszawski and Bailis, ACIDRain, SIGMOD 2017: level-based isolation anomalies in shops",
)
def locked_by_operation(policy: Policy) -> Policy:
    """Each operation has its own lock, so that it does not see a concurrent change by the other one."""
    other_state = {"checkoutPublicCart": "revoked", "revokePublicCart": "checked_out"}

    def run(call: Call, handler: Handler) -> Answer:
        if call.operation not in other_state:
            return policy.idempotency.run(call, handler)
        with call.store.read() as db:
            record = find(db, address(call))
            if record is None:
                objects.find_in_state(call, db, "cart")
        if record is None:
            time.sleep(WORK_S)
        allowed_states = policy.states[call.operation] | {other_state[call.operation]}
        call.policy = evolve(policy, states={**policy.states, call.operation: allowed_states})
        return policy.idempotency.run(call, handler)

    return evolve(with_idempotency(policy, run=run), overlap=True)


@fault(
    "X16",
    requirement="OA-4",
    title="a code is checked and invalidated later: concurrent exchanges succeed",
    operations=_TOKEN,
    source="HackerOne report 55140 (The Internet): race conditions in OAuth 2 implementations; RFC 6749 section 10.5",
)
def code_raced(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        if call.operation != "exchangeOAuthToken":
            return policy.idempotency.run(call, handler)
        with call.store.read() as db:
            record = find(db, address(call))
            row = db.execute(select(codes).where(codes.c.digest == oauth.digest(call.body["code"]))).mappings().first()
        if record is None and row is not None:
            oauth.is_unused(call, dict(row))
            time.sleep(WORK_S)
        conditions = {name: condition for name, condition in policy.oauth.grant.items() if name != "unused"}
        call.policy = with_oauth(policy, grant=conditions)
        return policy.idempotency.run(call, handler)

    return evolve(with_idempotency(policy, run=run), overlap=True)


@fault(
    "X17",
    requirement="OA-5",
    title="only the origin of the redirect URI is compared",
    operations=_TOKEN,
    source="RFC 9700 section 4.1: insufficient redirection URI validation",
)
def redirect_by_origin(policy: Policy) -> Policy:
    def origin(call: Call, code: Mapping[str, Any]) -> None:
        sent_uri, registered_uri = (urlsplit(str(uri)) for uri in (call.body["redirectUri"], code["redirect_uri"]))
        if (sent_uri.scheme, sent_uri.netloc) != (registered_uri.scheme, registered_uri.netloc):
            raise oauth.bad_grant("The authorization code is not valid.")

    return with_oauth(policy, grant={**policy.oauth.grant, "redirect_uri": origin})


@fault(
    "X18",
    requirement="OA-3",
    title="a plain code challenge is accepted",
    operations=_TOKEN,
    source="CVE-2024-23647 (authentik) and RFC 9700 section 2.1.1: PKCE downgrade",
)
def plain_challenge(policy: Policy) -> Policy:
    def verify(call: Call, code: Mapping[str, Any]) -> None:
        if code["method"] != "plain":
            oauth.is_s256(call, code)
            oauth.is_verified(call, code)
        elif call.body["codeVerifier"] != code["challenge"]:
            raise oauth.bad_grant("The code verifier does not match.")

    conditions = {name: condition for name, condition in policy.oauth.grant.items() if name != "s256"}
    return with_oauth(policy, grant={**conditions, "verifier": verify})


@fault(
    "X19",
    requirement="HO-3",
    title="cancel accepts the ticket of any session",
    operations=("cancelHostedCheckoutBrowser",),
    source="RFC 9700 section 4.5: a code that was made for another session is injected",
)
def any_ticket_cancels(policy: Policy) -> Policy:
    def wrap(_handler: Handler) -> Handler:
        def cancel(call: Call, db: Connection) -> Answer:
            session = objects.find_in_state(call, db, "session")
            cancelled_session = objects.change(db, session, "cancelled", session.data)
            totals = {"total": session.data["total"], "currency": session.data["currency"]}
            data = {
                "sessionId": cancelled_session.id,
                "state": cancelled_session.state,
                "version": cancelled_session.version,
                "totals": totals,
            }
            return Answer({"data": data})

        return cancel

    return with_handler(policy, "cancelHostedCheckoutBrowser", wrap)


@fault(
    "X20",
    requirement="BODY-8",
    title="members before an invalid one are written",
    operations=("updateInstallationWebhook",),
    source="MySQL Reference Manual, MyISAM: no transactions, so that a failed statement leaves half of its work",
)
def half_an_update(policy: Policy) -> Policy:
    def read_and_write(call: Call) -> None:
        try:
            read_body(call)
        except Refusal as refusal:
            if refusal.kind == "invalid" and call.operation == "updateInstallationWebhook":
                _write_what_is_good(call)
            raise

    def _write_what_is_good(call: Call) -> None:
        document = policy.reading.parse(call, call.request.body)
        schema: Schema = policy.reading.schemas[call.operation]
        accepted_members: JsonObject = {}
        for name, value in document.items() if isinstance(document, dict) else ():
            try:
                policy.reading.validate(call, schema, {**accepted_members, name: value})
            except Refusal:
                break
            accepted_members[name] = value
        if accepted_members:
            call.body = accepted_members
            with call.store.write() as db:
                perform(call, db, policy.handlers[call.operation])

    return evolve(policy, stages=tuple(read_and_write if stage is read_body else stage for stage in policy.stages))


@fault(
    "X21",
    requirement="ERR-1",
    title="the gateway answers 401 in another error shape",
    source='Amazon API Gateway Developer Guide, Gateway responses: {"message": "Unauthorized"}',
)
def gateway_error(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        return evolve(answer, value={"message": "Unauthorized"}) if answer.status == 401 else answer

    return with_shape(policy, shaper)


@fault(
    "X22",
    requirement="PUB-3",
    title="an unknown store is answered as the first one",
    operations=("listPublicMerchantCategories", "listPublicMerchantProducts"),
    source="Apache HTTP Server documentation, Name-based Virtual Host Support: the first one is the default",
)
def default_store(policy: Policy) -> Policy:
    def wrap(handler: Handler) -> Handler:
        def serve_first_store(call: Call, db: Connection) -> Answer:
            if call.path["slug"] not in (*MERCHANTS, EMPTY_MERCHANT):
                call.path = {"slug": MERCHANTS[0]}
            return handler(call, db)

        return serve_first_store

    with_categories = with_handler(policy, "listPublicMerchantCategories", wrap)
    return with_handler(with_categories, "listPublicMerchantProducts", wrap)


@fault(
    "X23",
    requirement="AUTH-1",
    title="keys are compared up to the sent length: an empty key matches all",
    source="CVE-2017-5689 (Intel AMT): a comparison as long as the given response",
)
def as_long_as_sent(policy: Policy) -> Policy:
    def identify(call: Call) -> Caller:
        values = call.request.header_values(b"authorization")
        if len(values) == 1 and values[0].strip().lower() == "bearer":
            return CALLERS["full"]
        return policy.authenticate(call)

    return evolve(policy, authenticate=identify)
