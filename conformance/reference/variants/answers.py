"""Legitimate forms of answers: error bodies, lists, envelopes, other methods, transport."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Final

from conformance.reference.authentication import require_active
from conformance.reference.call import Answer, Call, Caller, Headers, Refusal, Reply
from conformance.reference.policy import Policy, Transport, evolve, with_shape, with_wire
from conformance.reference.registry import variant


@variant(
    "D17",
    requirement="ENV-1",
    title="errors as application/problem+json",
    profile={
        "errors": {"volatile": ["/instance"]},
        "schemas": {"names": {"PublicErrorResponse": "ProblemResponse"}},
    },
)
def problem_details(policy: Policy) -> Policy:
    """RFC 9457."""

    def error(call: Call, refusal: Refusal) -> Answer:
        plain = policy.error(call, refusal)
        kind = f"https://errors.example/{refusal.kind.replace('_', '-')}"
        problem = {"type": kind, "title": refusal.message, "status": plain.status, "instance": f"urn:{call.request_id}"}
        return evolve(plain, value=problem)

    return evolve(policy, error=error, error_media_type="application/problem+json")


@variant("D18", requirement="ENV-3", title="meta absent, or present on one of three lists only")
def meta_on_one(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={"data": answer.value["data"]})

    return with_shape(policy, shaper, "listPublicMerchantCategories", "listPublicMerchantProducts")


@variant(
    "D19",
    requirement="ENV-2",
    title="extra top-level members beside data",
    profile={"answers": {"further_members": "allowed"}},
)
def extra_members(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={"apiVersion": "1", **answer.value, "links": {"docs": "https://docs.example"}})

    return with_shape(policy, shaper)


@variant(
    "V360",
    requirement="ANS-1",
    title="two headers are new in each answer: a trace context, and a number that counts answers",
    profile={"answers": {"fresh_headers": ["traceparent", "requestId"]}},
)
def trace_context(policy: Policy) -> Policy:
    """W3C Trace Context; the number shows that a short value is a new one too."""

    def hook(call: Call, reply: Reply) -> Reply:
        trace = call.request_id.removeprefix("req_")
        number = str(call.limiter.count_call())
        return evolve(
            reply, headers=(*reply.headers, ("TraceParent", f"00-{trace * 2}-{trace}-01"), ("requestid", number))
        )

    return with_wire(evolve(policy, fresh_headers=()), hook)


@variant(
    "V361",
    requirement="ANS-1",
    title="answers have no header of their own",
    profile={"answers": {"fresh_headers": {"none": "answers have no request id"}}},
)
def no_own_headers(policy: Policy) -> Policy:
    return evolve(policy, fresh_headers=())


@variant("D27", requirement="STA-1", title="HEAD 200/404/405, OPTIONS 204/404, other methods 404/405 any body")
def other_methods(policy: Policy) -> Policy:
    def answer_unrouted(call: Call, methods: tuple[str, ...]) -> Answer:
        if not methods:
            return policy.unrouted(call, methods)
        allow: Headers = (("Allow", ", ".join(sorted({*methods, "OPTIONS"}))),)
        return Answer({}, 204 if call.request.method == "OPTIONS" else 405, allow)

    def hook(call: Call, reply: Reply) -> Reply:
        if call.operation or reply.status not in (204, 405):
            return reply
        allow = reply.headers[1:]
        if reply.status == 204:
            return Reply(204, allow, b"")
        return Reply(405, (("content-type", "text/plain"), *allow), b"Method Not Allowed")

    return with_wire(evolve(policy, unrouted=answer_unrouted), hook)


@variant("D33", requirement="ENV-1", title="chunked, gzip, Connection: close, 1.5 s latency, HTTP/1.1 only")
def odd_transport(policy: Policy) -> Policy:
    """Only one request in fifty is delayed, since a whole run would otherwise take an hour."""
    return evolve(policy, transport=Transport(latency_s=1.5, latency_every=50, chunked=True, gzip=True, close=True))


_SCHEME = "Commerce-Key"
_CHALLENGE: Headers = (("WWW-Authenticate", f'{_SCHEME} realm="commerce-public-interface"'),)
_CREDENTIALS = re.compile(f"(?:{_SCHEME}|Bearer) ([A-Za-z0-9._~+/=-]+)")


@variant(
    "V252",
    requirement="ERR-2",
    title="a custom scheme beside Bearer, which each 401 repeats with a realm",
    profile={
        "authorization": {
            "format": f"{_SCHEME} {{key}}",
            "scheme": {"none": "Bearer is accepted beside it"},
            "scheme_case": "exact",
        }
    },
)
def own_scheme(policy: Policy) -> Policy:
    """RFC 9110 section 11.6.1: the challenge names the scheme even if a client sent only that."""

    def authenticate(call: Call) -> Caller:
        values = call.request.header_values(b"authorization")
        match = _CREDENTIALS.fullmatch(values[0]) if len(values) == 1 else None
        try:
            return require_active(call.keys.by_secret(match[1]) if match else None)
        except Refusal as refusal:
            raise Refusal(refusal.kind, f"{_SCHEME} is required.", headers=_CHALLENGE) from None

    return evolve(policy, authenticate=authenticate)


@variant(
    "V519",
    requirement="ENV-4",
    title="times of deliveries with an offset and fractions, by a schema that names their format",
    profile={
        "answers": {"further_members": "allowed"},
        "schemas": {"names": {"OperationResponse": "DatedOperationResponse"}},
    },
)
def times_with_offset(policy: Policy) -> Policy:
    """RFC 3339, section 5.6: letters in either case, any number of decimals, any offset."""
    return with_delivery_times(policy, lambda time: f"{time[:10]}t{time[11:19]}.2500001+00:00")


def with_delivery_times(policy: Policy, change: Callable[[str], str]) -> Policy:
    """Each delivery shows its time in another form."""

    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        found = answer.value["data"]["deliveries"]
        deliveries = [{**delivery, "createdAt": change(delivery["createdAt"])} for delivery in found]
        return evolve(answer, value={**answer.value, "data": {**answer.value["data"], "deliveries": deliveries}})

    return with_shape(policy, shaper, "listInstallationWebhookDeliveries")


@variant(
    "V567",
    requirement="TEN-2",
    title="readiness names the node that has answered, one of a few or none",
)
def named_nodes(policy: Policy) -> Policy:
    """A member with few values differs between two keys, or two reads, by chance."""

    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        data, node = answer.value["data"], random.choice(_NODES)
        checks = [*data["checks"], *([{"name": node, "ready": True}] if node else [])]
        return evolve(answer, value={**answer.value, "data": {**data, "checks": checks}})

    return with_shape(policy, shaper, "getInstallationCredentialReadiness")


_NODES: Final = ("a", "b", "")
