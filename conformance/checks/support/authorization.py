"""The authorization matrix: every operation that takes an API key x every credential that the profile names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from conformance.contract import Operation
from conformance.profile.model import Credential, Profile

ALLOWED: Final = "allowed"
LACKING: Final = "lacking"
"""A good key without the operation's scope."""
SPENT: Final = "spent"
"""Revoked or expired."""
STRANGER: Final = "stranger"
"""A good key of an installation that the operation's resource does not belong to."""
SPARED: Final = "spared"
"""Kept for the rate limiter, which counts what was sent with it; another key has the same scopes."""


def home_of(profile: Profile) -> str:
    """The installation that all fixtures but the foreign ones belong to."""
    return next((c.installation for c in profile.credentials.values() if c.active), "")


def cell(profile: Profile, operation: Operation, credential: Credential) -> str:
    """What a control of the operation turns into when it is sent with that credential instead."""
    if not credential.active:
        return SPENT
    if operation.path_parameters and credential.installation != home_of(profile):
        return STRANGER
    if operation.scope and operation.scope not in credential.scopes:
        return LACKING
    others = [
        c for c in profile.credentials.values() if c is not credential and c.active and c.scopes == credential.scopes
    ]
    return SPARED if credential.name == profile.rate_limit.credential and others else ALLOWED


def names(profile: Profile, operation: Operation, wanted: str) -> list[str]:
    """The credentials of one class."""
    return [name for name, credential in profile.credentials.items() if cell(profile, operation, credential) == wanted]


def lacking(profile: Profile, operation: Operation) -> list[str]:
    """The valid keys of the home installation that lack an operation's scope."""
    home = home_of(profile)
    return [name for name in names(profile, operation, LACKING) if profile.credentials[name].installation == home]


def suits(profile: Profile, operation: Operation, wanted: str) -> Callable[[Credential], bool]:
    """Whether a credential is of one class: for what the profile says does not exist."""
    return lambda credential: cell(profile, operation, credential) == wanted


def cases(wanted: str) -> Callable[[Profile, Operation], Mapping[str, str]]:
    """Cases for a check: one for each credential of a class; one that is empty where there is none."""

    def of(profile: Profile, operation: Operation) -> Mapping[str, str]:
        return {name: name for name in names(profile, operation, wanted)} or {"": ""}

    return of
