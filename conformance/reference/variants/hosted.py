"""Legitimate answers of hosted checkout."""

from __future__ import annotations

import re
from typing import Final

from sqlalchemy import Connection

from conformance.reference.authentication import CHALLENGE
from conformance.reference.call import Answer, Call, JsonObject, JsonValue, Refusal
from conformance.reference.policy import (
    Policy,
    before_work,
    evolve,
    with_reading,
    with_shape,
    with_stage,
    with_states,
)
from conformance.reference.registry import variant


@variant(
    "V574",
    requirement="HO-5",
    title="the projection of a cancelled session says who ended it, in a branch of its schema",
    profile={"schemas": {"names": {"HostedCheckoutBrowserProjectionResponse": "BranchedProjectionResponse"}}},
)
def projection_of_branches(policy: Policy) -> Policy:
    def shape(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={"data": {**answer.value["data"], "endedBy": "shopper"}})

    return with_shape(policy, shape, "cancelHostedCheckoutBrowser")


_CONSUME, _CANCEL = "consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser"
_CARTS = ("quotePublicCart", "checkoutPublicCart", "revokePublicCart", "removePublicCartPromotion")
_OTHERS = (*_CARTS, "requestStorefrontOrderAfterSales", "createInstallationWebhook", "updateInstallationWebhook")


@variant(
    "V581",
    requirement="HO-3",
    title="a session may be cancelled before or after its ticket is consumed",
    profile={
        "transitions": [
            {"operation": _CONSUME, "fixture": "session.open", "leads_to": "session.consumed"},
            {"operation": _CONSUME, "fixture": "session.open", "after": [_CONSUME], "single_winner": True},
            {"operation": _CONSUME, "fixture": "session.open", "after": [_CANCEL]},
            {"operation": _CANCEL, "fixture": "session.open", "leads_to": "session.cancelled"},
            {"operation": _CANCEL, "fixture": "session.consumed", "leads_to": "session.cancelled"},
            {"operation": _CANCEL, "fixture": "session.open", "after": [_CANCEL], "single_winner": True},
            *({"operation": name, "none": "its states are not stated"} for name in _OTHERS),
            {"operation": "exchangeOAuthToken", "none": "a code has no states"},
        ]
    },
)
def cancelled_after_its_ticket(policy: Policy) -> Policy:
    """As two operators describe it: an open checkout page has a button that cancels."""
    return with_states(policy, _CANCEL, "consumed")


@variant(
    "V672",
    requirement="HO-1",
    title="a hosted call with cookies needs an Origin, and an unknown session of the shop is refused",
)
def origin_beside_cookies(policy: Policy) -> Policy:
    """Against forged requests of a browser (CSRF). The shop's own sessions are in a cookie of the name `session`."""

    def look(call: Call) -> None:
        request = call.request
        cookie = request.first_header(b"cookie") if call.operation in (_CONSUME, _CANCEL) else ""
        if "session=" in cookie:
            raise Refusal("bad_credential", "The session has ended.", headers=CHALLENGE)
        if cookie and not request.header_values(b"origin"):
            raise Refusal("forbidden", "A request with cookies needs an Origin.")

    return with_stage(policy, look)


_TICKET: Final = re.compile(r"tkt_[A-Za-z0-9_-]{32}")
_BODY: Final[JsonObject] = {"ticket": None, "store": "{merchant.slug}", "token": "{session.ticket}"}
_CONSUME_BODY: Final[JsonObject] = {**_BODY, "browser": None, "hints": None, "returning": None}
_CANCEL_BODY: Final[JsonObject] = {**_BODY, "reason": None, "feedback": None, "reopen": None}


@variant(
    "V650",
    requirement="HO-3",
    title="a body names the store, which is not read, before its token; one of another form than tkt_... is malformed",
    profile={
        "operations": {
            _CONSUME: {"body": _CONSUME_BODY, "bodies": None},
            _CANCEL: {"body": _CANCEL_BODY, "bodies": None},
        },
        "schemas": None,
    },
)
def tickets_of_one_form(policy: Policy) -> Policy:
    """A ticket of that form which does not exist is answered 404, as stated."""
    parse = policy.reading.parse

    def parse_token(call: Call, text: bytes) -> JsonValue:
        value = parse(call, text)
        is_hosted = call.operation in (_CONSUME, _CANCEL) and isinstance(value, dict)
        return {**value, "ticket": value["token"]} if is_hosted and "token" in value else value

    def look(call: Call, _db: Connection) -> None:
        if not _TICKET.fullmatch(call.body["ticket"]):
            raise Refusal("invalid", "The ticket is malformed.")

    return before_work(with_reading(policy, parse=parse_token), look, _CONSUME, _CANCEL)
