"""The law for answers to hostile requests: a declared status, no 5xx."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.judge.answer_scope import OVERSIZE

MARKUP: Final = "<script>alert(1)</script> ' UNION SELECT 1 -- ../../etc/passwd %s{0}"
"""A text that a firewall may take for an attack."""


async def require_other_alone(case: Case, answer: Answer, message: str, good: Request | None = None) -> None:
    """Inconclusive where the same call under a new key, alone, is answered so too: by the state of its resource.

    With another call, where that one is. A call that has no answer is not repeated.

    Then CONF-1 or HO-4 judges that answer.
    """
    operation = answer.request.operation
    if answer.status is None:
        return
    control = await case.send((good or answer.request).with_fresh_key(), "a call of the same resource, alone")
    if control.status == answer.status:
        requirement = "HO-4" if "hosted" in operation.words else "CONF-1"
        cause = f"{requirement} answered {answer.status}"
        raise Inconclusive(f"{message}, and so did a call that was alone", answer, control, cause=cause)


def expect_survival(case: Case, description: str, answer: Answer, *, oversize: bool) -> None:
    """Violated by a 5xx or a missing answer; STA-1 judges other undeclared statuses."""
    if answer.status is None and oversize and "within" not in answer.trouble:
        case.note(f"{description}: the connection was closed")
    elif answer.status in OVERSIZE and oversize:
        case.note(f"{description} is answered {answer.status}")
    elif answer.status is None or answer.status >= 500:
        raise case.violation(f"{description} broke the answer", answer, expected="a declared status")
