"""Unknown ids in the format of a known one."""

from __future__ import annotations

import re
import secrets
from typing import Final

_NUMBERED: Final = re.compile(r"\D*((19|20)\d\d\D+)?\d{1,11}")
"""`ORD-1001`, `2026-000017`: each installation may count so for itself."""


def is_distinctive(known: str) -> bool:
    """Whether an id names one resource only: a short one, or a number, may be that of another installation's too.

    So may a number with a word or a year before it.
    """
    return len(known) > 5 and not known.isdecimal() and not _NUMBERED.fullmatch(known)


def unknown_id_like(known: str) -> str:
    """An unknown id in the same format: its last characters changed, each within its class."""
    if known.isdecimal():
        return str(int(known) + 987_654_321)
    characters = list(known)
    for index in [i for i, c in enumerate(known) if c.isalnum()][-8:]:
        old = characters[index]
        alphabet = "0123456789" if old.isdigit() else "abcdef" if old.islower() else "ABCDEF"
        characters[index] = secrets.choice([c for c in alphabet if c != old])
    return "".join(characters)
