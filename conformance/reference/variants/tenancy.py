"""Legitimate forms of what an installation is shown of itself, and of how another one's objects are stated."""

from __future__ import annotations

import time

from conformance.reference.call import Answer, Call
from conformance.reference.policy import Policy, evolve, with_shape
from conformance.reference.registry import variant

_TELLS_OF_CALLER = ("getInstallationCredentialReadiness", "getApiKeyIdentity")
_OPEN_SCHEMAS = {
    "InstallationCredentialReadinessResponse": "OpenOperationResponse",
    "ApiKeyIdentityResponse": "OtherIdentityResponse",
}


@variant(
    "V362",
    requirement="TEN-1",
    title="another installation's carts are stated in states of their own only",
    profile={"fixtures": {"cart": {"foreign": None}}},
)
def foreign_states_only(policy: Policy) -> Policy:
    return policy


@variant(
    "V363",
    requirement="TEN-2",
    title="readiness does not name the installation",
    profile={
        "schemas": {"names": _OPEN_SCHEMAS},
        "tenancy": {"installation_in_readiness": {"none": "it is not named"}},
    },
)
def readiness_without_installation(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        data = {name: value for name, value in answer.value["data"].items() if name != "installationId"}
        return evolve(answer, value={**answer.value, "data": data})

    return with_shape(policy, shaper, "getInstallationCredentialReadiness")


@variant("V364", requirement="TEN-2", title="only deliveries that were tried are listed")
def tried_deliveries_only(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        deliveries = [item for item in answer.value["data"]["deliveries"] if item["state"] != "skipped"]
        return evolve(answer, value={**answer.value, "data": {"deliveries": deliveries}})

    return with_shape(policy, shaper, "listInstallationWebhookDeliveries")


@variant(
    "V365",
    requirement="TEN-2",
    title="readiness and identity show the time in seconds, and a mode that is the same for some installations",
    profile={"schemas": {"names": _OPEN_SCHEMAS}},
)
def times_and_modes(policy: Policy) -> Policy:
    """The mode of identity is the key's, that of readiness the installation's: one name for two things."""

    def shaper(call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(call.now))
        mode = "live" if call.operation != "getApiKeyIdentity" or call.installation == "A" else "test"
        return evolve(answer, value={**answer.value, "data": {**answer.value["data"], "checkedAt": at, "mode": mode}})

    return with_shape(policy, shaper, *_TELLS_OF_CALLER)
