"""Which answers other checks may rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.checks.support.case import Case


def is_certain(case: Case) -> bool:
    """Whether no answer of a case was lost, and none was to a code or ticket that may have expired.

    A check of which this is not true runs again, with calls of its own.
    """
    return not (case.expired_code_s or any(answer.possibly_applied for answer in case.answers))
