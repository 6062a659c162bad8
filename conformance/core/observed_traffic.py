"""What a run saw that sent nothing, and judged the traffic of other clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

TRUNCATED: Final = "truncated"
"""The comment of a body in `exchanges.har` that is longer than what is written of it."""


class TrafficGap(msgspec.Struct, frozen=True):
    """What traffic could decide and did not: a requirement on an operation, and what to send."""

    requirement: str
    operation: str
    advice: str


class ObservedTraffic(msgspec.Struct, frozen=True):
    """Of a run that sent nothing: where its exchanges come from, and what they could and did decide."""

    sources: tuple[str, ...]
    """`HAR checkout.har`, `proxy 127.0.0.1:8899`."""
    bodies: str
    """`redacted`, or `shape` where only shapes and types were kept."""
    foreign: int
    """The number of exchanges with other hosts, which were left out."""
    unknown: Mapping[str, int]
    """Requests to the target that are not operations of the interface: `GET /api/v1/status` -> number."""
    skipped: Mapping[str, int]
    """The reason why an exchange was not judged -> number."""
    decidable: tuple[str, ...]
    """The requirements that traffic can decide on at least one operation."""
    decided: tuple[str, ...]
    """Those of them that this traffic decided on at least one operation."""
    gaps: tuple[TrafficGap, ...]
