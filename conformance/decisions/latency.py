"""Comparison of latencies by effect size and interval, never by single samples.

Cliff's delta is the probability that an answer of one target takes longer than one of the other, less the reverse (1:
always, 0: equal); the interval is of the ratio of medians, by bootstrap (Efron 1979) with a fixed seed.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from conformance.core.traffic import Latency

MIN_SAMPLES: Final = 20
"""Minimum number of answers to compare."""
_MAX_SAMPLES: Final = 200
_ROUNDS: Final = 300
_LARGE_EFFECT: Final = 0.474
"""Lower bound of a large effect (Romano and others, 2006)."""
_MIN_RATIO: Final = 1.25
"""Smallest ratio of medians that is reported."""


@dataclass(frozen=True, slots=True)
class Shift:
    """The change of latency from the first run to the second; a ratio above 1 is slower."""

    before_ms: float
    after_ms: float
    ratio: float
    low: float
    """The ratio's interval, of 95 %."""
    high: float
    delta: float
    """Cliff's delta, from -1 to 1."""

    def __str__(self) -> str:
        return (
            f"median {self.before_ms:.1f} ms, then {self.after_ms:.1f} ms: {self.ratio:.2f} times "
            f"(95 % of {self.low:.2f} to {self.high:.2f}), Cliff's delta {self.delta:+.2f}"
        )


def shift(before: Sequence[float], after: Sequence[float]) -> Shift | None:
    """The change from the first to the second; None where there is none, or too few answers."""
    if min(len(before), len(after)) < MIN_SAMPLES:
        return None
    source = random.Random(0)
    first, second = (_sample(values, source) for values in (before, after))
    delta = _cliff(first, second)
    if abs(delta) < _LARGE_EFFECT:
        return None
    ratio = median(second) / max(median(first), 1e-9)
    if 1 / _MIN_RATIO < ratio < _MIN_RATIO:
        return None
    ratios = sorted(
        median(source.choices(second, k=len(second))) / max(median(source.choices(first, k=len(first))), 1e-9)
        for _ in range(_ROUNDS)
    )
    low, high = ratios[int(0.025 * _ROUNDS)], ratios[int(0.975 * _ROUNDS) - 1]
    if low <= 1 <= high:
        return None
    return Shift(median(first), median(second), ratio, low, high, delta)


def is_slower(before: Latency, after: Latency) -> bool:
    """Whether half of the later answers took longer than nine tenths of the earlier ones, by a quarter at the median.

    This is for runs of which only the percentiles are known; `shift` compares samples.
    """
    if min(before.count, after.count) < MIN_SAMPLES:
        return False
    return after.p50 > before.p90 and after.p50 >= _MIN_RATIO * before.p50


def _sample(values: Sequence[float], source: random.Random) -> list[float]:
    return sorted(values if len(values) <= _MAX_SAMPLES else source.sample(list(values), _MAX_SAMPLES))


def _cliff(first: Sequence[float], second: Sequence[float]) -> float:
    """Both sorted. The share of pairs in which the second is larger, less that in which it is smaller."""
    larger = sum(bisect.bisect_left(first, value) for value in second)
    smaller = sum(len(first) - bisect.bisect_right(first, value) for value in second)
    return (larger - smaller) / (len(first) * len(second))
