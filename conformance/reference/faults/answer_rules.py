"""Faults of what a profile states of every answer: ANS-1, ANS-2, ENV-4."""

from __future__ import annotations

import hashlib

from conformance.reference.call import Answer, Call
from conformance.reference.policy import Policy, evolve, with_shape
from conformance.reference.registry import fault
from conformance.reference.variants.answers import with_delivery_times


@fault(
    "F440",
    requirement="ANS-1",
    title="refusals have no request id",
    source="an error handler that runs outside of the middleware which adds the header",
)
def errors_without_id(policy: Policy) -> Policy:
    return evolve(policy, fresh_value=lambda call, status: call.request_id if status == 200 else None)


@fault(
    "F441",
    requirement="ANS-1",
    title="a replay has the request id of the first answer",
    source="a stored answer that is sent again with its headers",
)
def replay_repeats_id(policy: Policy) -> Policy:
    def value(call: Call, status: int) -> str:
        if call.key is None or status != 200:
            return call.request_id
        owner = f"{call.installation}|{call.operation}|{call.resource}|{call.key}"
        return "req_" + hashlib.sha256(owner.encode()).hexdigest()[:16]

    return evolve(policy, fresh_value=value)


@fault(
    "F442",
    requirement="ANS-1",
    title="the request id is the time in seconds",
    source="a log correlation id that was good enough at one request a second",
)
def id_is_the_time(policy: Policy) -> Policy:
    return evolve(policy, fresh_value=lambda call, _status: f"req_{call.now:.0f}")


@fault(
    "F443",
    requirement="ANS-2",
    title="a page without hits has a member with suggestions",
    operations=("searchPublicProducts",),
    source="a feature of the web shop's search that was left in the public answer",
)
def empty_search_suggests(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200 or answer.value["data"]:
            return answer
        return evolve(answer, value={**answer.value, "suggestions": []})

    return with_shape(policy, shaper, "searchPublicProducts")


@fault(
    "F444",
    requirement="ANS-2",
    title="the answer to a webhook's update shows the members that were changed",
    operations=("updateInstallationWebhook",),
    source="the change record of the update, which the serializer spreads over the answer",
)
def update_shows_changes(policy: Policy) -> Policy:
    def shaper(call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={**answer.value, "changed": sorted(call.body)})

    return with_shape(policy, shaper, "updateInstallationWebhook")


@fault(
    "X227",
    requirement="ANS-2",
    title="the answer to a token exchange shows the verifier",
    operations=("exchangeOAuthToken",),
    source="the request, which the serializer spreads over the answer",
)
def token_answer_shows_request(policy: Policy) -> Policy:
    def shaper(call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={**answer.value, "codeVerifier": call.body["codeVerifier"]})

    return with_shape(policy, shaper, "exchangeOAuthToken")


@fault(
    "F862",
    requirement="ENV-4",
    title="the times of deliveries lack the offset that RFC 3339 demands",
    source="Python's datetime.isoformat of a time without a zone",
    seeded_in="V519",
)
def time_without_offset(policy: Policy) -> Policy:
    return with_delivery_times(policy, lambda time: time[:19])
