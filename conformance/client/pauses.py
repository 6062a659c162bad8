"""Pauses in which nothing is sent, so that a limit of unknown length can end."""

from __future__ import annotations

from typing import Final

_SHORTEST_S: Final = 0.2


def growing_pauses_s(first_s: float, longest_s: float) -> list[float]:
    """Pauses of `longest_s` in total, each twice as long as the one before: a target may count what it refuses."""
    pauses_s = [min(first_s, longest_s)]
    while (remaining_s := longest_s - sum(pauses_s)) > _SHORTEST_S:
        pauses_s.append(min(2 * pauses_s[-1], remaining_s))
    return pauses_s
