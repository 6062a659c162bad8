"""What any answer to a hostile request must be: an answer, and no 5xx."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.client.response import Answer

_OVERSIZE = (413, 414, 431)


def expect_survival(case: Case, what: str, answer: Answer, *, oversize: bool) -> None:
    """Violated by a 5xx or no answer at all; another undeclared status is STA-1's question."""
    if answer.status is None and oversize and "within" not in answer.trouble:
        case.note(f"{what}: the connection was closed")
    elif answer.status in _OVERSIZE and oversize:
        case.note(f"{what} is answered {answer.status}")
    elif answer.status is None or answer.status >= 500:
        raise case.violated(f"{what} broke the answer", answer, expected="a declared status")
