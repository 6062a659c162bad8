"""Versions of UUIDs (RFC 9562 section 4.2): the interface names none."""

from __future__ import annotations

import uuid
from typing import Final

from conformance.core.outcomes import Level
from conformance.profile.behavior import Idempotency

_USUAL_VERSION: Final = 4


def level_of_version(idempotency: Idempotency, key: str) -> Level | None:
    """Of a well-formed key that is refused: a target may take UUIDs of the usual version only, which is a warning."""
    is_rare = idempotency.format == "uuid" and uuid.UUID(key).version != _USUAL_VERSION
    return Level.RECOMMENDED if is_rare else None
