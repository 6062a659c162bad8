"""Forged secrets in the format of a valid one, for targets that compare only a part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from conformance.checks.support.strategies import neighbour_of

LEAST_MADE_UP: Final = 8
"""A shorter forged secret may be another valid one."""


def _of_nobody(secret: str) -> str:
    for at in range(len(secret)):
        secret = neighbour_of(secret, at)
    return secret


def _near_its_end(secret: str) -> str:
    """A change before the last two characters, whose lowest bits an encoding may ignore."""
    at = next((at for at in range(len(secret) - 3, -1, -1) if neighbour_of(secret, at) != secret), 0)
    return neighbour_of(secret, at)


MADE_UP: Final[Mapping[str, Callable[[str], str]]] = {"made-up": _of_nobody, "near-its-end": _near_its_end}
