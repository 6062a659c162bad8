"""How old a target may have found a DPoP proof, although its clock is not known."""

from __future__ import annotations

import email.utils
import json
from typing import Final

from conformance.client.dpop import decode
from conformance.client.response import Answer

_ROUNDING_S: Final = 1.0
"""A target may compare in whole seconds."""
_UNKNOWN_CLOCK_S: Final = 10.0
"""A target without Date may have a clock that is off by this."""
_RESOLUTION_OF_DATE_S: Final = 1.2
"""Date is in whole seconds, and may be renewed only once a second (RFC 9110 section 6.6.1)."""


def sent_proof(answer: Answer) -> str:
    """The compact form of the last proof of an answer's request; the empty string without one."""
    return next((value for name, value in answer.sent_headers if name == "DPoP"), "")


def possible_ages(answer: Answer, age_s: float, ended_at: float) -> tuple[float, float]:
    """The least and the greatest age in seconds that the target may have found, by this clock and by the target's Date.

    Without a Date the target's clock is unknown: it may be some seconds off.

    `age_s` is the age of the proof when it was written, `ended_at` the time by this clock after the answer came.
    """
    payload = sent_proof(answer).split(".")[1]
    iat: float = json.loads(decode(payload))["iat"]
    least, greatest = age_s, ended_at - iat
    try:
        date_s = email.utils.parsedate_to_datetime(answer.header("Date") or "").timestamp()
    except (ValueError, TypeError, OverflowError):
        return least - _ROUNDING_S - _UNKNOWN_CLOCK_S, greatest + _ROUNDING_S + _UNKNOWN_CLOCK_S
    least = min(least, date_s - answer.duration_s - iat)
    return least - _ROUNDING_S, max(greatest, date_s + _RESOLUTION_OF_DATE_S - iat) + _ROUNDING_S
