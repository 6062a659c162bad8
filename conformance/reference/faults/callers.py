"""Faults of who may do what with one body only, and of callers that are confused: SCO-2, TEN-1, IDN-1."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from conformance.reference import pipeline
from conformance.reference.call import Call, Caller, Refusal
from conformance.reference.policy import Policy, before_work, evolve, with_stage
from conformance.reference.registry import fault

_UPDATE = "updateInstallationWebhook"
_CREATE = "createInstallationWebhook"


@fault(
    "F645",
    requirement="SCO-2",
    title="to change an endpoint's url takes a further scope",
    operations=(_UPDATE,),
    source="permissions by field, added after an incident with redirected webhooks",
)
def url_takes_a_scope(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if "url" in call.body and call.caller and "catalog:read" not in call.caller.scopes:
            raise Refusal("forbidden", "The API key lacks the scope of this operation.")

    return before_work(policy, look, _UPDATE)


@fault(
    "F646",
    requirement="SCO-2",
    title="a checkout by invoice takes a further scope",
    operations=("checkoutPublicCart",),
    source="a permission of payment methods behind the one of the operation",
)
def invoice_takes_a_scope(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if call.body["payment"]["method"] == "invoice" and call.caller and "checkout:quote" not in call.caller.scopes:
            raise Refusal("forbidden", "The API key lacks the scope of this operation.")

    return before_work(policy, look, "checkoutPublicCart")


@fault(
    "F647",
    requirement="TEN-1",
    title="endpoints of every installation are created for the first one",
    operations=(_CREATE,),
    source="a column whose default is 1, and an insert that does not name the tenant",
)
def created_for_the_first(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        assert call.caller is not None
        return evolve(call, caller=evolve(call.caller, installation="A"))

    return before_work(policy, look, _CREATE)


@fault(
    "F648",
    requirement="IDN-1",
    title="of identity requests at the same time, each shows the last caller",
    operations=("getApiKeyIdentity", "getInstallationCredentialReadiness"),
    source="the current caller in a global of an asynchronous service",
)
def caller_in_a_global(policy: Policy) -> Policy:
    current: list[Caller] = []

    def remember(call: Call) -> Any:
        if call.operation not in ("getApiKeyIdentity", "getInstallationCredentialReadiness") or not call.caller:
            return None
        caller = call.caller

        def steps() -> Any:
            current[:] = [caller]
            yield 0.004
            call.caller = current[0]

        return steps()

    return with_stage(policy, remember, pipeline.execute)
