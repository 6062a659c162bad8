"""Members of answers that say when an answer was made, or by whom: what a replay may show anew."""

from __future__ import annotations

import time
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

_SHORTEST: Final = len("2026-01-01T00:00")
_NEAR_S: Final = 86_400.0
_UNITS: Final = (1.0, 1e3, 1e6, 1e9)
"""Numbers of a second."""
_MAX: Final = 1e20
"""Beyond it an integer may be too large for a float."""


def is_within_data(place: str) -> bool:
    """Whether a JSON pointer names a part of `data`: what stands beside it is about the answer."""
    return place == "" or place == "/data" or place.startswith("/data/")


def is_time(value: Any) -> bool:
    """Whether a value is a date with a time, in ISO 8601 or as in HTTP, or a number of a time within a day of now."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value) < _MAX and any(abs(value - time.time() * unit) < _NEAR_S * unit for unit in _UNITS)
    return isinstance(value, str) and len(value) >= _SHORTEST and (_is_iso(value) or _is_http(value))


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_http(text: str) -> bool:
    try:
        parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return False
    return True
