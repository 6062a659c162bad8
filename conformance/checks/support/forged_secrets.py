"""Secrets that nobody issued, of the make of a good one: what a target that looks at part of one takes for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from conformance.checks.support.strategies import neighbour_of

LEAST_MADE_UP: Final = 8
"""A shorter one may be another good one."""


def _of_nobody(secret: str) -> str:
    for at in range(len(secret)):
        secret = neighbour_of(secret, at)
    return secret


def _near_its_end(secret: str) -> str:
    """Not in the last two characters, whose lowest bits an encoding may ignore."""
    at = next((at for at in range(len(secret) - 3, -1, -1) if neighbour_of(secret, at) != secret), 0)
    return neighbour_of(secret, at)


MADE_UP: Final[Mapping[str, Callable[[str], str]]] = {"made-up": _of_nobody, "near-its-end": _near_its_end}
