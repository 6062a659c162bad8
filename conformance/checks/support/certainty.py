"""Which answers other checks may rest on, and what leaves a result in doubt."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from conformance.client.response import Answer

if TYPE_CHECKING:
    from conformance.checks.support.case import Case

_MISSING: Final = (404, 409, 410)
"""What a read of a resource is answered that has ended."""
_LEAST_LIFETIME_S: Final = 10.0
"""Of an authorization code and of a ticket, where none is stated."""
_ROUNDING_S: Final = 1.0


def is_certain(case: Case) -> bool:
    """Whether no answer of a case was lost, and none was to a code or ticket that may have expired.

    A check of which this is not true runs again, with calls of its own.
    """
    return not (case.expired_code_s or any(answer.possibly_applied for answer in case.answers))


def note_doubts(case: Case, answer: Answer) -> None:
    """Notes in a case that a code or ticket may have expired, or that a fixture of all reads may have ended."""
    request, operation = answer.request, answer.request.operation
    if request.fixtures.shared and answer.status in _MISSING:
        case.missing_fixtures |= request.fixtures.members
    if request.arranged_at is None or answer.ok or operation.words.isdisjoint({"oauth", "hosted"}):
        return
    profile = case.profile
    stated_s = profile.hosted.ticket_lifetime_s
    if "oauth" in operation.words:
        stated_s = profile.oauth.code_lifetime_s if profile.oauth else None
    age_s = time.monotonic() - request.arranged_at
    if age_s > (stated_s or _LEAST_LIFETIME_S) - _ROUNDING_S:
        case.expired_code_s = age_s
