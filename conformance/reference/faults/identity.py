"""Faults of identity: IDN."""

from __future__ import annotations

from collections.abc import Callable

from conformance.reference.call import Answer, Call, success
from conformance.reference.keys import ALL_SCOPES, CALLERS
from conformance.reference.policy import Policy, evolve, with_handler, with_shape
from conformance.reference.registry import fault

_IDENTITY = ("getApiKeyIdentity",)


def _with_scopes(policy: Policy, change: Callable[[list[str]], list[str]]) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        data = answer.value["data"]
        return evolve(answer, value={**answer.value, "data": {**data, "scopes": change(data["scopes"])}})

    return with_shape(policy, shaper, *_IDENTITY)


@fault(
    "F220",
    requirement="IDN-1",
    title="identity reports every scope for every key",
    operations=_IDENTITY,
    source="observed in a tested service: identity listed all existing scopes, not those of the key",
)
def every_scope_for_every_key(policy: Policy) -> Policy:
    return _with_scopes(policy, lambda _scopes: sorted(ALL_SCOPES))


@fault(
    "F221",
    requirement="IDN-1",
    title="identity answers the same for every key",
    operations=_IDENTITY,
    source="CWE-524, use of cache containing sensitive information: the cache's key leaves out the credential",
)
def one_identity_for_all(policy: Policy) -> Policy:
    data = {"keyId": "key_1", "installationId": "inst_1", "scopes": sorted(ALL_SCOPES), "status": "active"}
    return with_handler(policy, "getApiKeyIdentity", lambda _handler: lambda _call, _db: success(data))


@fault(
    "F222",
    requirement="IDN-1",
    title="identity omits one scope",
    operations=_IDENTITY,
    source="an enumeration written before the newest scope was added: unknown values are dropped when it is rendered",
)
def one_scope_omitted(policy: Policy) -> Policy:
    return _with_scopes(policy, lambda scopes: [scope for scope in scopes if scope != "checkout:quote"])


@fault(
    "F223",
    requirement="IDN-1",
    title="identity shows the scopes of the key, but another installation",
    operations=_IDENTITY,
    source="CWE-639, authorization through a user-controlled key: a lookup by name alone finds the first tenant's row",
)
def identity_of_the_first_installation(policy: Policy) -> Policy:
    def shaper(call: Call, answer: Answer) -> Answer:
        if answer.status != 200 or call.caller is None or call.caller.installation == CALLERS["full"].installation:
            return answer
        home = {"keyId": "key_full", "installationId": f"inst_{CALLERS['full'].installation}"}
        return evolve(answer, value={**answer.value, "data": {**answer.value["data"], **home}})

    return with_shape(policy, shaper, *_IDENTITY)
