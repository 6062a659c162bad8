"""Two runs of one target under one profile -> what is new, gone, or slower in the second.

Causes are matched by their id. A cause is new if the earlier run judged, without it, one of the checks that show it; it
is gone if the later run judged, without it, one of the checks that showed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from conformance.core.changes import CauseChange, Changes, LatencyChange
from conformance.core.messages import plural
from conformance.core.model import Cause, Run
from conformance.core.outcomes import JUDGED_OUTCOMES
from conformance.decisions.latency import is_slower

_Key = tuple[str, str, str]


@dataclass(frozen=True)
class _Causes:
    """The causes of a run with the checks that show them."""

    run: Run

    @cached_property
    def by_id(self) -> Mapping[str, CauseChange]:
        """A cause that is waived in part stands twice in a run: here once, with the operations of both."""
        found: dict[str, CauseChange] = {}
        for cause in self.run.causes:
            known = found.get(cause.id, _change(cause))
            operations = tuple(dict.fromkeys((*known.operations, *cause.operations)))
            found[cause.id] = replace(known, operations=operations)
        return found

    @cached_property
    def checks(self) -> Mapping[str, set[_Key]]:
        found: dict[str, set[_Key]] = {}
        for result in self.run.results:
            if result.cause in self.by_id:
                found.setdefault(result.cause, set()).add((result.check, result.operation, result.case))
        return found

    @cached_property
    def judged(self) -> set[_Key]:
        return {(r.check, r.operation, r.case) for r in self.run.results if r.outcome in JUDGED_OUTCOMES}

    @cached_property
    def judged_places(self) -> set[tuple[str, str]]:
        return {(r.requirement, r.operation) for r in self.run.results if r.outcome in JUDGED_OUTCOMES}

    def missing_in(self, other: _Causes) -> Iterator[tuple[CauseChange, bool]]:
        """The causes that the other run does not have, and whether it judged one of their checks."""
        for name, cause in self.by_id.items():
            if name not in other.by_id:
                yield cause, bool(other.judged & self.checks.get(name, set()))


def _change(cause: Cause) -> CauseChange:
    return CauseChange(cause.id, cause.requirement, cause.title, cause.operations)


def changes_between(before: Run, after: Run) -> Changes:
    """Without the folder of the earlier run and the link to it."""
    earlier, later = _Causes(before), _Causes(after)
    removed = list(earlier.missing_in(later))
    changes = Changes(
        folder="",
        link="",
        started_at=before.started_at,
        verdict=before.verdict,
        scope=before.scope.summary,
        summary="",
        new=tuple(cause for cause, was_judged in later.missing_in(earlier) if was_judged),
        wider=tuple(_wider(earlier, later)),
        resolved=tuple(cause for cause, is_judged in removed if is_judged),
        unjudged=tuple(cause for cause, is_judged in removed if not is_judged),
        opened=() if _is_partial(after, before) else tuple(sorted(_gaps(after) - _gaps(before))),
        closed=() if _is_partial(before, after) else tuple(sorted(_gaps(before) - _gaps(after))),
        slower=tuple(_slower(before, after)),
        faster=tuple(LatencyChange(c.operation, c.after_ms, c.before_ms) for c in _slower(after, before)),
        notes=tuple(_notes(before, after)),
    )
    return replace(changes, summary=_summary(changes))


def _wider(earlier: _Causes, later: _Causes) -> Iterator[CauseChange]:
    for name, cause in later.by_id.items():
        if name not in earlier.by_id:
            continue
        known = earlier.by_id[name].operations
        judged = (o for o in cause.operations if (cause.requirement, o) in earlier.judged_places)
        if further := [operation for operation in judged if operation not in known]:
            yield replace(cause, operations=tuple(further))


def _is_partial(run: Run, other: Run) -> bool:
    """Whether a run leaves open what the other one may have judged: it was not meant to, or had no time for it."""
    return bool(run.interrupted or run.observed or run.filtered or _is_quicker(run, other))


def _is_quicker(run: Run, other: Run) -> bool:
    return run.depth == "quick" != other.depth


def _gaps(run: Run) -> set[str]:
    """What keeps the verdict open: requirement and operation, or an operation that was never answered 200."""
    gaps = {f"{gap.requirement} {gap.operation}".strip() for gap in run.scope.open}
    return gaps | {f"no good request of {operation}" for operation in run.scope.unproven}


def _slower(before: Run, after: Run) -> Iterator[LatencyChange]:
    """None where one of the runs is partial: its load was another one."""
    if _is_partial(before, after) or _is_partial(after, before):
        return
    for operation, latency in after.traffic.latency.items():
        earlier = before.traffic.latency.get(operation)
        if operation and earlier is not None and is_slower(earlier, latency):
            yield LatencyChange(operation, earlier.p50, latency.p50)


def _notes(before: Run, after: Run) -> Iterator[str]:
    if before.target == after.target and before.profile.digest != after.profile.digest:
        yield "The profile was changed between the two runs."
    if before.suite.contract != after.suite.contract or before.suite.checks != after.suite.checks:
        yield "The suite judged with other checks in the previous run: a new cause may come from a new check."
    for name, run, other in (("The previous run", before, after), ("This run", after, before)):
        if run.interrupted:
            yield f"{name} ended early: what it did not judge is not compared."
        elif run.observed:
            yield f"{name} judged observed traffic: what was not seen is not compared."
        elif run.filtered:
            yield f"{name} judged only selected checks: what it did not judge is not compared."
        elif _is_quicker(run, other):
            yield f"{name} ran in quick depth: what that leaves out is not compared."


def _summary(changes: Changes) -> str:
    counts = (
        (changes.new, "new cause", ""),
        (changes.wider, "cause on more operations", "causes on more operations"),
        (changes.resolved, "cause gone", "causes gone"),
        (changes.unjudged, "cause not judged again", "causes not judged again"),
        (changes.opened, "new gap", ""),
        (changes.closed, "gap closed", "gaps closed"),
        (changes.slower, "operation slower", "operations slower"),
        (changes.faster, "operation faster", "operations faster"),
    )
    parts = [plural(len(found), noun, plural_form) for found, noun, plural_form in counts if found]
    return ", ".join(parts) or "no differences"
