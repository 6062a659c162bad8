"""What a run created and what of it is still there, out of the journal's `created` and `removed` lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.core.model import Created


def created(records: Iterable[Mapping[str, Any]]) -> tuple[Created, ...]:
    """One entry a kind and state, in the order in which they were first made."""
    made: dict[tuple[str, str], dict[str, None]] = {}
    gone: dict[str, set[str]] = {}
    troubles: dict[str, str] = {}
    for record in records:
        kind = str(record["of"])
        if record["kind"] == "created":
            made.setdefault((kind, str(record["state"])), {}).update(dict.fromkeys(map(str, record["ids"])))
        else:
            gone.setdefault(kind, set()).update(map(str, record["ids"]))
            troubles[kind] = str(record["trouble"]) or troubles.get(kind, "")
    return tuple(_entry(kind, state, ids, gone, troubles) for (kind, state), ids in made.items())


def _entry(
    kind: str, state: str, ids: Iterable[str], gone: Mapping[str, set[str]], troubles: Mapping[str, str]
) -> Created:
    all_of_it = tuple(ids)
    left = tuple(name for name in all_of_it if name not in gone.get(kind, ()))
    return Created(kind, state, len(all_of_it), left, troubles.get(kind, "") if left else "")
