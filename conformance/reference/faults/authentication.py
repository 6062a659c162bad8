"""Faults of authentication: AUTH."""

from __future__ import annotations

import string
from collections.abc import Callable
from urllib.parse import parse_qsl

from sqlalchemy import Connection

from conformance.reference.authentication import bearer, require_active
from conformance.reference.call import Answer, Call, Caller, Refusal
from conformance.reference.keys import CALLERS
from conformance.reference.policy import Policy, before_work, evolve, with_status
from conformance.reference.registry import fault


@fault("F030", requirement="AUTH-1", title="readiness has no auth", operations=("getInstallationCredentialReadiness",))
def readiness_is_public(policy: Policy) -> Policy:
    return evolve(policy, access={**policy.access, "getInstallationCredentialReadiness": "public"})


@fault("F031", requirement="AUTH-1", title="any non-empty Authorization accepted")
def any_key(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        try:
            return policy.authenticate(call)
        except Refusal as refusal:
            if refusal.kind == "no_credential":
                raise
            return CALLERS["full"]

    return evolve(policy, authenticate=authenticate)


@fault("F032", requirement="AUTH-1", title="prefix compare accepts truncated key")
def truncated_key(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        credential = bearer(call)
        names = [name for name, secret in call.keys.secrets.items() if secret.startswith(credential)]
        return require_active(CALLERS[names[0]] if names else None)

    return evolve(policy, authenticate=authenticate)


@fault(
    "X179",
    requirement="AUTH-1",
    title="one operation compares the beginning of a key",
    operations=("getInstallationCredentialReadiness",),
    source="a route that verifies keys by itself, with startsWith",
)
def truncated_key_on_one_operation(policy: Policy) -> Policy:
    by_beginning = truncated_key(policy).authenticate

    def authenticate(call: Call) -> Caller:
        is_own = call.operation == "getInstallationCredentialReadiness" and bool(bearer(call))
        return by_beginning(call) if is_own else policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "X180",
    requirement="PUB-2",
    title="an Authorization header of one word ends in 500 where it is not needed",
    operations=("getPublicRuntimeConfig",),
    source="the second part of a header that is split at its blank, read without a look at their number",
)
def header_of_one_word(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        words = call.request.first_header(b"authorization").split(" ")
        if words != [""] and len(words) < 2:
            raise IndexError("list index out of range")

    return before_work(policy, look, "getPublicRuntimeConfig")


@fault("F035", requirement="AUTH-1", title="missing key answers 403")
def missing_key_is_403(policy: Policy) -> Policy:
    return with_status(policy, "no_credential", 403)


_QUERY_NAMES = {"apikey", "key", "token", "accesstoken", "authorization", "xapikey"}


@fault("F036", requirement="AUTH-2", title="key accepted in query string")
def key_in_query(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        if call.request.header_values(b"authorization"):
            return policy.authenticate(call)
        for name, value in parse_qsl(call.request.query.decode("latin-1")):
            if name.lower().replace("_", "").replace("-", "") in _QUERY_NAMES:
                return require_active(call.keys.by_secret(value.removeprefix("Bearer ")))
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F037",
    requirement="AUTH-4",
    title="revoked key works on one route",
    operations=("listInstallationWebhookDeliveries",),
)
def revoked_key_on_one(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        caller = call.keys.by_secret(bearer(call))
        if caller is not None and call.operation == "listInstallationWebhookDeliveries":
            return caller
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


_FORWARDING = (b"x-original-url", b"x-rewrite-url", b"x-forwarded-uri", b"x-forwarded-path")


@fault("F039", requirement="AUTH-1", title="forwarded/original-URL header skips auth")
def trusted_header(policy: Policy) -> Policy:
    """Requests that seem to come from the gateway count as authenticated."""

    def authenticate(call: Call) -> Caller:
        local = any(
            "127.0.0.1" in value
            for name in (b"x-forwarded-for", b"forwarded")
            for value in call.request.header_values(name)
        )
        if local or any(call.request.header_values(name) for name in _FORWARDING):
            return CALLERS["full"]
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F980",
    requirement="AUTH-1",
    title="keys are compared without case",
    source="the default collation of a column in MySQL",
)
def keys_without_case(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        credential = bearer(call).casefold()
        names = [name for name, secret in call.keys.secrets.items() if secret.casefold() == credential]
        return require_active(CALLERS[names[0]] if names else None)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F880",
    requirement="AUTH-1",
    title="one route accepts a key without its last character",
    operations=("updateInstallationWebhook",),
    source="a loop over the characters of the key that was sent, as an own comparison in constant time",
)
def comparison_of_what_was_sent(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        sent = bearer(call)
        if call.operation != "updateInstallationWebhook":
            return policy.authenticate(call)
        completed = (call.keys.by_secret(sent + character) for character in ("", *string.ascii_letters, *string.digits))
        return require_active(next(filter(None, completed), None))

    return evolve(policy, authenticate=authenticate)


@fault(
    "F975",
    requirement="AUTH-1",
    title="the last character of a key is not compared",
    source="a comparison that ends one character early",
)
def last_character_of_a_key(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        sent = bearer(call)
        names = [
            name for name, secret in call.keys.secrets.items() if len(secret) == len(sent) and secret[:-1] == sent[:-1]
        ]
        return require_active(CALLERS[names[0]] if names else None)

    return evolve(policy, authenticate=authenticate)


@fault(
    "X41",
    requirement="AUTH-1",
    title="the key `null` is that of any caller",
    source="clients that send the text of an absent value, and a service that looks a missing key up",
)
def null_is_a_key(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        values = call.request.header_values(b"authorization")
        return CALLERS["full"] if values == ["Bearer null"] else policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "X199",
    requirement="AUTH-1",
    title="what follows a key after a space is ignored",
    source="a header that is split at its spaces, of which the second part is taken",
)
def first_word_of_a_key(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        headers = tuple(
            (name, b" ".join(text.split(b" ")[:2]) if name == b"authorization" else text)
            for name, text in call.request.headers
        )
        return policy.authenticate(evolve(call, request=evolve(call.request, headers=headers)))

    return evolve(policy, authenticate=authenticate)


@fault(
    "X51",
    requirement="AUTH-3",
    title="the 401 to a revoked key has no WWW-Authenticate",
    source="an error of the key store that passes the filter of authentication by",
)
def bare_401_to_a_revoked_key(policy: Policy) -> Policy:
    def error(call: Call, refusal: Refusal) -> Answer:
        reply = policy.error(call, refusal)
        return evolve(reply, headers=()) if refusal.kind == "revoked_credential" else reply

    return evolve(policy, error=error)


def _also_by(policy: Policy, operation: str, find: Callable[[Call], str]) -> Policy:
    """On one operation a key is found in another place, too, where there is no Authorization."""

    def authenticate(call: Call) -> Caller:
        if call.operation == operation and not call.request.header_values(b"authorization"):
            caller = call.keys.by_secret(find(call))
            if caller is not None:
                return require_active(caller)
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "X52",
    requirement="AUTH-2",
    title="a key in X-Api-Key is accepted for after-sales requests",
    operations=("requestStorefrontOrderAfterSales",),
    source="an older route whose own filter was never removed",
)
def key_in_a_header_of_one_operation(policy: Policy) -> Policy:
    def find(call: Call) -> str:
        return call.request.first_header(b"x-api-key")

    return _also_by(policy, "requestStorefrontOrderAfterSales", find)


@fault(
    "X53",
    requirement="AUTH-2",
    title="a key in the query is accepted for the identity",
    operations=("getApiKeyIdentity",),
    source="a page of a developer portal that calls it by a link",
)
def key_in_the_query_of_one_operation(policy: Policy) -> Policy:
    def find(call: Call) -> str:
        return call.request.parameters().get("api_key", "")

    return _also_by(policy, "getApiKeyIdentity", find)
