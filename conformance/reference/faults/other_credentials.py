"""Faults of credentials in another form, or in another place: AUTH-1, AUTH-2, AUTH-4, AUTH-5."""

from __future__ import annotations

import base64
import re

from sqlalchemy import Connection

from conformance.reference.authentication import CHALLENGE, bearer, require_active
from conformance.reference.call import Answer, Call, Caller, Refusal
from conformance.reference.keys import CALLERS
from conformance.reference.policy import Policy, before_work, evolve, with_shape, with_stage
from conformance.reference.registry import fault

_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")


@fault(
    "F639",
    requirement="AUTH-1",
    title="a key with a character that is not ASCII ends in 500",
    source="hmac.compare_digest, which raises TypeError on text that is not ASCII",
)
def key_beyond_ascii(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        if not call.request.first_header(b"authorization").isascii():
            raise TypeError("comparing strings with non-ASCII characters is not supported")
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F640",
    requirement="AUTH-5",
    title="the key is accepted as the user name of Basic credentials",
    source="Stripe's way of authentication, in a middleware that was taken over",
)
def key_as_user_name(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        scheme, _, rest = call.request.first_header(b"authorization").partition(" ")
        if scheme.lower() != "basic":
            return policy.authenticate(call)
        try:
            user = base64.b64decode(rest).decode("latin-1").partition(":")[0]
        except ValueError:
            user = ""
        return require_active(call.keys.by_secret(user))

    return evolve(policy, authenticate=authenticate)


@fault(
    "F641",
    requirement="AUTH-4",
    title="a revoked key is accepted where the scheme is not written Bearer",
    source="a second branch for other spellings of the scheme, which lacks the look at the key's status",
)
def revoked_in_other_spelling(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        if call.request.first_header(b"authorization").startswith("Bearer "):
            return policy.authenticate(call)
        caller = call.keys.by_secret(bearer(call))
        return caller or require_active(None)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F642",
    requirement="AUTH-5",
    title="a hosted session is unknown to who sends the key of another installation",
    operations=_HOSTED,
    source="optional authentication that sets the tenant of every query",
)
def tenant_of_an_ignored_key(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        try:
            caller = policy.authenticate(call)
        except Refusal:
            return
        if caller.installation != "A":
            raise Refusal("not_found", "There is no such resource.")

    return before_work(policy, look, *_HOSTED)


@fault(
    "F643",
    requirement="AUTH-5",
    title="an empty Authorization header is refused by public operations",
    source="a middleware of optional authentication: a header that is there must be valid, and proxies send it empty",
)
def empty_header_on_public(policy: Policy) -> Policy:
    def look(call: Call) -> None:
        values = call.request.header_values(b"authorization")
        if policy.access[call.operation] == "public" and values and not values[0].strip():
            raise Refusal("no_credential", "An API key is required.", headers=CHALLENGE)

    return with_stage(policy, look)


@fault(
    "F644",
    requirement="AUTH-2",
    title="a cookie of an earlier answer is as good as the key",
    source="a framework's session, which is set up with every authenticated request",
)
def session_cookie(policy: Policy) -> Policy:
    sessions: dict[str, str] = {}

    def authenticate(call: Call) -> Caller:
        if not call.request.header_values(b"authorization"):
            found = re.search(r"sid=([a-z-]+)", call.request.first_header(b"cookie"))
            if found and found[1] in sessions:
                return CALLERS[sessions[found[1]]]
        return policy.authenticate(call)

    def shape(call: Call, answer: Answer) -> Answer:
        if call.caller is None:
            return answer
        sessions[f"s-{call.caller.name}"] = call.caller.name
        return evolve(answer, headers=(*answer.headers, ("Set-Cookie", f"sid=s-{call.caller.name}; Path=/")))

    return with_shape(evolve(policy, authenticate=authenticate), shape)
