"""The resources that a run created and those that remain, from the journal's `created` and `removed` lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.core.model import Created


def created_resources(records: Iterable[Mapping[str, Any]]) -> tuple[Created, ...]:
    """One entry for each kind and state, in order of first creation."""
    ids_by_kind: dict[tuple[str, str], dict[str, None]] = {}
    removed_ids: dict[str, set[str]] = {}
    troubles: dict[str, str] = {}
    for record in records:
        kind = str(record["of"])
        if record["kind"] == "created":
            ids_by_kind.setdefault((kind, str(record["state"])), {}).update(dict.fromkeys(map(str, record["ids"])))
        else:
            removed_ids.setdefault(kind, set()).update(map(str, record["ids"]))
            troubles[kind] = str(record["trouble"]) or troubles.get(kind, "")
    return tuple(_entry(kind, state, ids, removed_ids, troubles) for (kind, state), ids in ids_by_kind.items())


def _entry(
    kind: str, state: str, ids: Iterable[str], removed_ids: Mapping[str, set[str]], troubles: Mapping[str, str]
) -> Created:
    all_ids = tuple(ids)
    remaining = tuple(name for name in all_ids if name not in removed_ids.get(kind, ()))
    return Created(kind, state, len(all_ids), remaining, troubles.get(kind, "") if remaining else "")
