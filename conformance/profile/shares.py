"""The share of a profile's limits and static lists for one process of several, and for a resumed run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from conformance.core.errors import UsageError
from conformance.profile.model import Profile
from conformance.profile.resources import Fixture


def check_shareable(profile: Profile, workers: int) -> None:
    """Raises UsageError where a static list has fewer fixtures than there are workers: two would use the same one."""
    for states in profile.fixtures.values():
        for fixture in states.values():
            if workers > 1 and _is_single_use(fixture) and len(fixture.places) < workers:
                raise UsageError(
                    f"{workers} processes cannot share {len(fixture.places)} values",
                    where=f"fixtures.{fixture.name}",
                    hint="list more values, or split the run less",
                )


def share_of(profile: Profile, index: int, workers: int) -> Profile:
    """The profile for one worker of several: together they respect the limits, and use no static fixture twice."""
    if workers == 1:
        return profile
    least, rest = divmod(profile.limits.max_requests, workers)
    limits = replace(
        profile.limits,
        max_requests=least + (index < rest),
        rate=profile.limits.rate / workers if profile.limits.rate else None,
    )
    return _with_places(replace(profile, limits=limits), lambda fixture: fixture.places[index::workers])


def remove_used(profile: Profile, used_places: Mapping[str, tuple[int, ...]]) -> Profile:
    """The profile without the used values of static lists: fixture -> indices."""
    if not used_places:
        return profile
    return _with_places(
        profile, lambda f: tuple(place for place in f.places if place not in used_places.get(f.name, ()))
    )


def _with_places(profile: Profile, places: Callable[[Fixture], tuple[int, ...]]) -> Profile:
    fixtures = {
        kind: {state: replace(f, unused_places=places(f)) if _is_single_use(f) else f for state, f in states.items()}
        for kind, states in profile.fixtures.items()
    }
    return replace(profile, fixtures=fixtures)


def _is_single_use(fixture: Fixture) -> bool:
    """Whether its values can be used only once."""
    return bool(fixture.values) and not fixture.reusable
