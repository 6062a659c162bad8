"""Faults of codes, verifiers and redirect URIs that show only in a second look: OA-1, OA-2, OA-4, OA-5."""

from __future__ import annotations

import hmac
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from conformance.reference.call import Answer, Call, JsonObject, Refusal
from conformance.reference.oauth import bad_grant
from conformance.reference.oauth import digest as code_digest
from conformance.reference.policy import Handler, Policy, with_idempotency, with_oauth, with_schema
from conformance.reference.registry import fault

_EXCHANGE = "exchangeOAuthToken"
_TOKEN = (_EXCHANGE,)
_REMEMBERED = 12


def _with_grant(policy: Policy, **conditions: Any) -> Policy:
    return with_oauth(policy, grant={**policy.oauth.grant, **conditions})


def _with_verifier(policy: Policy, **bounds: Any) -> Policy:
    """With further bounds of the verifier in the request's schema."""
    schema = policy.reading.schemas[_EXCHANGE]
    verifier = {**schema["properties"]["codeVerifier"], **bounds}
    return with_schema(policy, _EXCHANGE, {**schema, "properties": {**schema["properties"], "codeVerifier": verifier}})


@fault(
    "F600",
    requirement="OA-2",
    title="a wrong verifier clears the challenge of its code, and the next one passes",
    operations=_TOKEN,
    source="a session attribute that is taken out when it is read, and absent means that no PKCE was used",
)
def second_verifier_passes(policy: Policy) -> Policy:
    cleared: set[str] = set()

    def verifier(call: Call, code: Mapping[str, Any]) -> None:
        if code["digest"] not in cleared:
            policy.oauth.grant["verifier"](call, code)

    def run(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if call.operation == _EXCHANGE and "verifier" in refusal.message:
                cleared.add(code_digest(call.body["code"]))
            raise

    return with_idempotency(_with_grant(policy, verifier=verifier), run=run)


@fault(
    "F601",
    requirement="OA-1",
    title="a verifier with a dot or a tilde is refused",
    operations=_TOKEN,
    source="the alphabet of base64url taken for that of RFC 7636 section 4.1",
)
def verifier_alphabet(policy: Policy) -> Policy:
    return _with_verifier(policy, pattern="^[A-Za-z0-9_-]+$")


@fault(
    "F602",
    requirement="OA-1",
    title="a verifier of 128 characters is refused",
    operations=_TOKEN,
    source="a column of 127 characters, or a bound that is compared with < instead of <=",
)
def verifier_bound(policy: Policy) -> Policy:
    return _with_verifier(policy, maxLength=127)


def _with_uses(
    policy: Policy, name_of: Callable[[Call, Mapping[str, Any]], object], uses: set[object] | deque[object]
) -> Policy:
    """A code is used up where its use has this name, and stands among the uses."""

    def expect_unused(call: Call, code: Mapping[str, Any]) -> None:
        if name_of(call, code) in uses:
            raise Refusal("spent_grant", "The authorization code is not valid.")

    def issue(call: Call, code: Mapping[str, Any]) -> JsonObject:
        name = name_of(call, code)
        uses.append(name) if isinstance(uses, deque) else uses.add(name)
        return policy.oauth.issue(call, code)

    return with_oauth(_with_grant(policy, unused=expect_unused), issue=issue)


@fault(
    "F603",
    requirement="OA-4",
    title="a code is used once by each proof key",
    operations=_TOKEN,
    source="a unique index over the code and the thumbprint of the proof's key",
)
def once_for_each_key(policy: Policy) -> Policy:
    def name_of(call: Call, code: Mapping[str, Any]) -> object:
        return code["digest"], call.proof.jkt if call.proof else ""

    return _with_uses(policy, name_of, set())


@fault(
    "F604",
    requirement="OA-4",
    title="only the last dozen used codes are known as used",
    operations=_TOKEN,
    source="used codes in a bounded cache, beside self-contained codes that nothing is stored of",
)
def few_used_codes(policy: Policy) -> Policy:
    return _with_uses(policy, lambda _call, code: code["digest"], deque(maxlen=_REMEMBERED))


class _ShortMemory(set[object]):
    """Has what was added in the last seconds only."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._times: dict[object, float] = {}

    def add(self, item: object) -> None:
        self._times[item] = time.monotonic()

    def __contains__(self, item: object) -> bool:
        return time.monotonic() - self._times.get(item, -self._seconds) < self._seconds


@fault(
    "X190",
    requirement="OA-4",
    title="a used code is known as used for two seconds",
    operations=_TOKEN,
    source="used codes in a cache whose entries live too short, beside self-contained codes",
)
def codes_used_for_seconds(policy: Policy) -> Policy:
    return _with_uses(policy, lambda _call, code: code["digest"], _ShortMemory(2.0))


def _with_compared_redirect(policy: Policy, normal: Callable[[str], str]) -> Policy:
    def redirect_uri(call: Call, code: Mapping[str, Any]) -> None:
        sent, stored = (normal(str(uri)) for uri in (call.body["redirectUri"], code["redirect_uri"]))
        if not hmac.compare_digest(sent.encode(), stored.encode()):
            raise bad_grant("The authorization code is not valid.")

    return _with_grant(policy, redirect_uri=redirect_uri)


@fault(
    "F605",
    requirement="OA-5",
    title="redirect URIs are compared without a final slash",
    operations=_TOKEN,
    source="URIs normalised before they are compared; RFC 6749 section 4.1.3 demands identical values",
)
def redirect_without_slash(policy: Policy) -> Policy:
    return _with_compared_redirect(policy, lambda uri: uri.rstrip("/"))


@fault(
    "F606",
    requirement="OA-5",
    title="redirect URIs are compared in lower case",
    operations=_TOKEN,
    source="a database collation that ignores case",
)
def redirect_in_lower_case(policy: Policy) -> Policy:
    return _with_compared_redirect(policy, str.lower)


@fault(
    "F702",
    requirement="OA-5",
    title="a redirect URI with the default port added is accepted",
    operations=_TOKEN,
    source="a URL that is parsed and written again; RFC 6749 section 4.1.3 demands identical values",
)
def redirect_with_default_port(policy: Policy) -> Policy:
    return _with_compared_redirect(policy, lambda uri: uri.replace(":443/", "/", 1))


@fault(
    "F700",
    requirement="OA-2",
    title="white space around a verifier is ignored",
    operations=_TOKEN,
    source="a framework that trims each text of a request",
)
def verifier_is_trimmed(policy: Policy) -> Policy:
    def check(call: Call, code: Mapping[str, Any]) -> None:
        call.body = {**call.body, "codeVerifier": call.body["codeVerifier"].strip()}
        policy.oauth.grant["verifier"](call, code)

    return _with_grant(policy, verifier=check)


@fault(
    "F706",
    requirement="OA-4",
    title="a used code is good again for another audience",
    operations=_TOKEN,
    source="a unique index over the code and the audience",
)
def once_for_each_audience(policy: Policy) -> Policy:
    seen: set[tuple[str, str]] = set()

    def check(call: Call, code: Mapping[str, Any]) -> None:
        use = (code["digest"], str(call.body.get("audience")))
        if use in seen:
            policy.oauth.grant["unused"](call, code)
        seen.add(use)

    return _with_grant(policy, unused=check)


@fault(
    "X70",
    requirement="OA-3",
    title="a code that was issued without a challenge is exchanged with any verifier, and with none",
    operations=_TOKEN,
    source="the verifier is compared only if a challenge was stored",
)
def code_without_challenge(policy: Policy) -> Policy:
    grant, schema = policy.oauth.grant, policy.reading.schemas[_EXCHANGE]
    conditions = {name: _where_challenged(grant[name]) for name in ("s256", "verifier")}
    required = [name for name in schema["required"] if name != "codeVerifier"]
    policy = with_schema(policy, _EXCHANGE, {**schema, "required": required})
    return _with_grant(policy, **conditions)


def _where_challenged(
    condition: Callable[[Call, Mapping[str, Any]], None],
) -> Callable[[Call, Mapping[str, Any]], None]:
    def check(call: Call, code: Mapping[str, Any]) -> None:
        if code["challenge"]:
            if "codeVerifier" not in call.body:
                raise bad_grant("The verifier is missing.")
            condition(call, code)

    return check
