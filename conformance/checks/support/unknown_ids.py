"""Ids that look like a known one and name nothing."""

from __future__ import annotations

import secrets


def like_but_unknown(known: str) -> str:
    """An id of the same make that names nothing: its last characters changed, each within its own class."""
    if known.isdigit():
        return str(int(known) + 987_654_321)
    changed = list(known)
    for index in [i for i, c in enumerate(known) if c.isalnum()][-8:]:
        old = changed[index]
        alphabet = "0123456789" if old.isdigit() else "abcdef" if old.islower() else "ABCDEF"
        changed[index] = secrets.choice([c for c in alphabet if c != old])
    return "".join(changed)
