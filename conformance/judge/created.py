"""What a run created and what of it is still there, out of the journal's `created` and `removed` lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.core.model import Created
from conformance.journal.lines import ResourceCreated, ResourceRemoved


def created(lines: Iterable[ResourceCreated | ResourceRemoved]) -> tuple[Created, ...]:
    """One entry a kind and state, in the order in which they were first made."""
    made: dict[tuple[str, str], dict[str, None]] = {}
    gone: dict[str, set[str]] = {}
    troubles: dict[str, str] = {}
    for line in lines:
        if isinstance(line, ResourceCreated):
            made.setdefault((line.of, line.state), {}).update(dict.fromkeys(line.ids))
        else:
            gone.setdefault(line.of, set()).update(line.ids)
            troubles[line.of] = line.trouble or troubles.get(line.of, "")
    return tuple(_entry(kind, state, ids, gone, troubles) for (kind, state), ids in made.items())


def _entry(
    kind: str, state: str, ids: Iterable[str], gone: Mapping[str, set[str]], troubles: Mapping[str, str]
) -> Created:
    all_of_it = tuple(ids)
    left = tuple(name for name in all_of_it if name not in gone.get(kind, ()))
    return Created(kind, state, len(all_of_it), left, troubles.get(kind, "") if left else "")
