"""Which answers other checks may rest on, and what leaves a result in doubt."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from conformance.client.fixtures import Members
from conformance.client.response import Answer

if TYPE_CHECKING:
    from conformance.checks.support.case import Case
    from conformance.contract import Operation
    from conformance.profile.model import Profile

_MISSING: Final = (404, 409, 410)
"""What a read of a resource is answered that has ended."""
_LEAST_LIFETIME_S: Final = 10.0
"""Of an authorization code and of a ticket, where none is stated, and of the state of any other resource."""
_NOT_ABOUT_STATE: Final = (401, 403, 429)
"""The refusals that no end of a resource or of its state explains."""
_ROUNDING_S: Final = 1.0


@dataclass
class Doubts:
    """Why the result of a check may come from time or from a limit. A check of which this is true runs again."""

    expired_code_s: float = 0.0
    """The age at which a code, a ticket or a new resource was refused that may have expired; 0: none was."""
    first_use_s: dict[float, float] = field(default_factory=dict)
    """The ages at which new resources were first used, by the time at which their request was arranged."""
    has_expired_key: bool = False
    """Whether a violation rests on an idempotency key that was used again after its retention time."""
    has_limited_rivals: bool = False
    """Whether calls that were to compete were limited."""
    has_server_error: bool = False
    """Whether a call that may not fail was answered with an undeclared 5xx, which STA-1 reports."""
    missing_fixtures: dict[str, Members] = field(default_factory=dict)
    """`kind.state` -> the members of a fixture that all reads share, and that a read did not find."""

    @property
    def are_about_time(self) -> bool:
        """Whether new codes, keys or calls may leave no doubt."""
        return bool(self.expired_code_s or self.has_expired_key or self.has_limited_rivals)


def is_certain(case: Case) -> bool:
    """Whether no answer of a case was lost, and none was to a code, ticket or resource that may have expired.

    A check of which this is not true runs again, with calls of its own.
    """
    return not (case.doubts.expired_code_s or any(answer.possibly_applied for answer in case.answers))


def note_doubts(case: Case, answer: Answer, accepted: frozenset[int]) -> None:
    """Notes in a case that a code, a ticket or a new or shared resource may have expired, or the target may be erratic.

    `accepted`: statuses that the check expects, such as 500 to calls at once.
    """
    request, status = answer.request, answer.status or 0
    case.doubts.has_server_error |= status >= 500 and not answer.gateway_trouble and status not in accepted
    if request.fixtures.shared and answer.status in _MISSING:
        case.doubts.missing_fixtures |= request.fixtures.members
    if request.arranged_at is None:
        return
    now_s = time.monotonic()
    first_use_s = now_s - answer.duration_s - request.arranged_at
    first_use_s = case.doubts.first_use_s.setdefault(request.arranged_at, first_use_s)
    if answer.ok:
        return
    if request.operation.words.isdisjoint({"oauth", "hosted"}):
        # how long a check itself goes on using a resource is part of its question; what it began with is not
        age_s, lifetime_s = first_use_s, _LEAST_LIFETIME_S
        if not answer.is_refused or answer.status in _NOT_ABOUT_STATE:
            return
    else:
        age_s = now_s - request.arranged_at
        lifetime_s = stated_lifetime_s(case.profile, request.operation) or _LEAST_LIFETIME_S
    if age_s > lifetime_s - _ROUNDING_S:
        case.doubts.expired_code_s = age_s


def stated_lifetime_s(profile: Profile, operation: Operation) -> float | None:
    """For how many seconds the code or the ticket that an operation takes is good; None where not stated."""
    if "oauth" in operation.words:
        return profile.oauth.code_lifetime_s if profile.oauth else None
    return profile.hosted.ticket_lifetime_s
