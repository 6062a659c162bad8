"""Legitimate answers of hosted checkout."""

from __future__ import annotations

from conformance.reference.call import Answer, Call
from conformance.reference.policy import Policy, evolve, with_shape
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
