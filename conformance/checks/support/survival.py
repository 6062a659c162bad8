"""The law for answers to hostile requests: a declared status, no 5xx."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.case import Case
from conformance.client.response import Answer
from conformance.judge.answer_scope import OVERSIZE

MARKUP: Final = "<script>alert(1)</script> ' UNION SELECT 1 -- ../../etc/passwd %s{0}"
"""A text that a firewall may take for an attack."""


def expect_survival(case: Case, description: str, answer: Answer, *, oversize: bool) -> None:
    """Violated by a 5xx or a missing answer; STA-1 judges other undeclared statuses."""
    if answer.status is None and oversize and "within" not in answer.trouble:
        case.note(f"{description}: the connection was closed")
    elif answer.status in OVERSIZE and oversize:
        case.note(f"{description} is answered {answer.status}")
    elif answer.status is None or answer.status >= 500:
        raise case.violation(f"{description} broke the answer", answer, expected="a declared status")
