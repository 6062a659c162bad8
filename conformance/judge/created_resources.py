"""The resources that a run created and those that remain, from the journal's `created` and `removed` lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.core.model import CreatedResources
from conformance.journal.lines import ResourceCreated, ResourceRemoved


def created_resources(lines: Iterable[ResourceCreated | ResourceRemoved]) -> tuple[CreatedResources, ...]:
    """One entry for each kind and state, in order of first creation."""
    ids_by_kind: dict[tuple[str, str], dict[str, None]] = {}
    removed_ids: dict[str, set[str]] = {}
    troubles: dict[str, str] = {}
    for line in lines:
        if isinstance(line, ResourceCreated):
            ids_by_kind.setdefault((line.of, line.state), {}).update(dict.fromkeys(line.ids))
        else:
            removed_ids.setdefault(line.of, set()).update(line.ids)
            troubles[line.of] = line.trouble or troubles.get(line.of, "")
    return tuple(_entry(kind, state, ids, removed_ids, troubles) for (kind, state), ids in ids_by_kind.items())


def _entry(
    kind: str, state: str, ids: Iterable[str], removed_ids: Mapping[str, set[str]], troubles: Mapping[str, str]
) -> CreatedResources:
    all_ids = tuple(ids)
    remaining = tuple(name for name in all_ids if name not in removed_ids.get(kind, ()))
    return CreatedResources(kind, state, len(all_ids), remaining, troubles.get(kind, "") if remaining else "")
