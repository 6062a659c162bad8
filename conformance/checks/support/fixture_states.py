"""The states of the fixtures that an operation's path names."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.profile.model import Profile
from conformance.profile.render import placeholders
from conformance.profile.resources import OperationFacts


def states_in_path(profile: Profile, operation: str) -> Mapping[str, tuple[str, str]]:
    """Name of a case -> (kind, state), for every state that does not belong to another installation."""
    path = profile.operations.get(operation, OperationFacts()).path
    kinds = {name.partition(".")[0] for name in placeholders(dict(path))} & set(profile.fixtures)
    return {
        f"{kind}-{state}": (kind, state)
        for kind in sorted(kinds)
        for state, fixture in profile.fixtures[kind].items()
        if not fixture.is_foreign
    }
