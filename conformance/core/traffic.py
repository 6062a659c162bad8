"""What a run sent: requests, latencies, waits."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Latency(msgspec.Struct, frozen=True):
    """Milliseconds over answered requests."""

    count: int
    p50: float
    p90: float
    p99: float
    max: float


class Traffic(msgspec.Struct, frozen=True):
    requests: int
    by_operation: Mapping[str, int]
    latency: Mapping[str, Latency]
    """By operationId, and "" over all."""
    waited_s: float = 0.0
    """Seconds that requests waited after 429s and gateway errors: the sum over all requests, which may overlap."""
    retries: int = 0
    waited_clock_s: float = 0.0
    """Seconds of wall-clock time in which at least one request waited."""
    limited: int = 0
    """Number of 429s after which a request was repeated."""
    lost: int = 0
    """Number of lost answers, and of 502, 503 and 504, after which a request was repeated."""
    most_in_flight: int = 0
    """Maximum number of concurrent requests."""
    slowest_rate: float | None = None
    """Requests per second to which the run slowed down, where the target answered most with 429; else None."""
