"""The difference of the target's clock and this machine's, which DPoP proofs carry."""

from __future__ import annotations

import email.utils
import time
from typing import Final

from conformance.client.response import Answer
from conformance.profile.behavior import OAuth

PROOFS_CARRY_IT: Final = "DPoP proofs carry the time of this machine: set one of the clocks"
_USUAL_ALLOWANCE_S: Final = 60.0
"""Where none is stated."""


def offset_of(answer: Answer) -> float | None:
    """The Date (RFC 9110 section 6.6.1) of an answer that has just come, less the local time; None without one."""
    try:
        return email.utils.parsedate_to_datetime(answer.header("Date") or "").timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None


def describe_offset(offset_s: float, oauth: OAuth | None) -> str:
    """What is said of it; its Date may be a gateway's, and only proofs show who is wrong."""
    allowance_s = _allowance_s(offset_s, oauth)
    is_beyond = allowance_s is not None and abs(offset_s) > allowance_s
    return f"the target's Date is {offset_s:+.0f} s off{', more than [oauth] allows' if is_beyond else ''}"


def explain_refused_proof(answer: Answer, oauth: OAuth | None) -> str:
    """Why a good proof may have been refused, if the clocks differ by more than is accepted; empty otherwise."""
    offset_s = offset_of(answer)
    if offset_s is None:
        return ""
    allowance_s = _allowance_s(offset_s, oauth)
    if abs(offset_s) <= (_USUAL_ALLOWANCE_S if allowance_s is None else allowance_s):
        return ""
    return f"{describe_offset(offset_s, oauth)}; {PROOFS_CARRY_IT}"


def _allowance_s(offset_s: float, oauth: OAuth | None) -> float | None:
    if oauth is None:
        return None
    return oauth.behind_s if offset_s > 0 else oauth.ahead_s
