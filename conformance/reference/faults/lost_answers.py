"""Answers that never come: the connection ends, each time, where an answer is due (STA-1)."""

from __future__ import annotations

from conformance.reference.call import Call, Reply
from conformance.reference.policy import Policy, evolve
from conformance.reference.registry import fault

_PROMOTION = "removePublicCartPromotion"


@fault(
    "F990",
    requirement="STA-1",
    title="a key conflict of one operation ends the connection instead of an answer",
    operations=(_PROMOTION,),
    source="an exception while the error is written, which the server of HTTP answers by closing the connection",
)
def conflict_without_answer(policy: Policy) -> Policy:
    def loses(call: Call, reply: Reply) -> bool:
        return call.operation == _PROMOTION and reply.status == 409 and b'"mismatch"' in reply.body

    return evolve(policy, transport=evolve(policy.transport, loses=loses))
