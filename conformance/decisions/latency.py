"""Whether one target is slower than another: an effect size and an interval, never one sample against another.

Cliff's delta says how surely an answer of one takes longer than one of the other (1: always, 0: as often as not); the
interval is of the ratio of medians, by bootstrap (Efron 1979), from a fixed seed.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

LEAST: Final = 20
"""Fewer answers than this say nothing."""
_MOST: Final = 200
_ROUNDS: Final = 300
_LARGE: Final = 0.474
"""From here on an effect is called large (Romano and others, 2006)."""
_WORTH: Final = 1.25
"""Smaller changes of the median are not worth a line."""


@dataclass(frozen=True, slots=True)
class Shift:
    """How much slower (ratio above 1) or faster the second of two is."""

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
    """How the second differs from the first; None where it does not, or too few answers tell."""
    if min(len(before), len(after)) < LEAST:
        return None
    source = random.Random(0)
    first, second = (_sample(values, source) for values in (before, after))
    delta = _cliff(first, second)
    if abs(delta) < _LARGE:
        return None
    ratio = median(second) / max(median(first), 1e-9)
    if 1 / _WORTH < ratio < _WORTH:
        return None
    ratios = sorted(
        median(source.choices(second, k=len(second))) / max(median(source.choices(first, k=len(first))), 1e-9)
        for _ in range(_ROUNDS)
    )
    low, high = ratios[int(0.025 * _ROUNDS)], ratios[int(0.975 * _ROUNDS) - 1]
    if low <= 1 <= high:
        return None
    return Shift(median(first), median(second), ratio, low, high, delta)


def _sample(values: Sequence[float], source: random.Random) -> list[float]:
    return sorted(values if len(values) <= _MOST else source.sample(list(values), _MOST))


def _cliff(first: Sequence[float], second: Sequence[float]) -> float:
    """Both sorted. The share of pairs in which the second is larger, less that in which it is smaller."""
    more = sum(bisect.bisect_left(first, value) for value in second)
    less = sum(len(first) - bisect.bisect_right(first, value) for value in second)
    return (more - less) / (len(first) * len(second))
