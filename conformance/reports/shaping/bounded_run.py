"""A run as reports show it: with texts of bounded length, and a stable id for each result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import asdict, replace

from conformance.core.model import Cause, Result, Run
from conformance.reports.shaping.text import cut

TEXT_LIMIT = 8_000
"""Characters of one message, expectation or observation that any report repeats."""
_LIMITS = {"message": TEXT_LIMIT, "expected": TEXT_LIMIT, "observed": TEXT_LIMIT, "case": 1_000}
_LIMITS |= dict.fromkeys(("cause", "fact", "signature", "reproduce"), 2_000)
NOTES, NOTE_LIMIT = 50, 1_000


def identity(result: Result) -> str:
    """A stable id of a result: the same check, operation and case have it in every run; 12 hexadecimal digits."""
    parts = (result.check, result.requirement, result.operation, result.case)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


class BoundRun(Run, frozen=True, dict=True):
    """A run whose texts are bounded for reports, with what every format looks up in it."""

    @cached_property
    def names(self) -> Sequence[str]:
        """The `identity` of each result, with `-2`, `-3`, ... where siblings do not differ."""
        return identities(self.results)

    @cached_property
    def tier_by_operation(self) -> Mapping[str, str]:
        return {operation.id: operation.stability.value for operation in self.operations}

    def tier_of(self, operation: str) -> str:
        return self.tier_by_operation.get(operation, "")


def identities(results: Iterable[Result]) -> list[str]:
    """`identity` of each, with `-2`, `-3`, ... where siblings do not differ."""
    seen: dict[str, int] = {}
    names = []
    for result in results:
        name = identity(result)
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names


def bound_texts(run: Run) -> BoundRun:
    """The run with every result's texts bounded for reports; the same one, where they are bounded already."""
    if isinstance(run, BoundRun):
        return run
    members = asdict(run)
    members["results"] = tuple(map(_bound_result, run.results))
    members["causes"] = tuple(map(_bound_cause, run.causes))
    return BoundRun(**members)


def _bound_cause(cause: Cause) -> Cause:
    """Its `id` is bounded as `cause` of its results is."""
    limits = {"id": _LIMITS["cause"], "title": 500, "requirement": 100, "waiver": 500}
    changes: dict[str, Any] = {name: cut(getattr(cause, name), limit) for name, limit in limits.items()}
    changes |= {name: tuple(cut(text, 200) for text in getattr(cause, name)) for name in ("operations", "checks")}
    return replace(cause, **changes)


def _bound_result(result: Result) -> Result:
    changes: dict[str, Any] = {}
    for name, limit in _LIMITS.items():
        if len(text := getattr(result, name)) > limit:
            changes[name] = cut(text, limit)
    if len(result.notes) > NOTES or any(len(note) > NOTE_LIMIT for note in result.notes):
        changes["notes"] = tuple(cut(note, NOTE_LIMIT) for note in result.notes[:NOTES])
    return replace(result, **changes) if changes else result
