"""Retry-After of an answer (RFC 9110 section 10.2.3)."""

from __future__ import annotations

import email.utils

from conformance.client.response import Answer


def retry_after_s(answer: Answer) -> float | None:
    """The seconds of a Retry-After, 0 for a date that has passed; None where it cannot be read."""
    delay_s = stated_delay_s(answer)
    return None if delay_s is None else max(0.0, delay_s)


def stated_delay_s(answer: Answer) -> float | None:
    """The seconds of a Retry-After, a date relative to the Date header, before which it may be; None where unreadable.

    The target's clock may differ from this one by minutes, so a date says nothing without the Date beside it.
    """
    text = (answer.header("Retry-After") or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        retry_date, sent_date = (
            email.utils.parsedate_to_datetime(header) for header in (text, answer.header("Date") or "")
        )
        return (retry_date - sent_date).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
