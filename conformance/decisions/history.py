"""The runs of a target over time, from the `run.json` of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.core.errors import ConformanceError, UsageError
from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.journal.journal import NAME as JOURNAL
from conformance.reports.runjson import FILE, load_run


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a target."""

    folder: str
    started_at: str
    verdict: str
    tiers: Mapping[str, str]
    counts: Mapping[str, int]
    requests: int
    p50_ms: float | None
    p99_ms: float | None
    checks: str
    """The check set's digest, shortened: results of different check sets are not comparable."""
    newly_failed: tuple[str, ...] = ()
    """Requirements that failed here and not in the run before."""
    newly_passed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trend:
    """All runs of one target under one profile, the oldest first."""

    target: str
    profile: str
    points: tuple[Point, ...]


def history(folder: Path) -> tuple[list[Trend], list[str]]:
    """The trends of the run folders below a folder, and the problems of unreadable ones.

    Raises UsageError where there is no run at all.
    """
    runs: dict[tuple[str, str], list[tuple[Path, Run]]] = {}
    problems = []
    for path in _run_files(folder):
        try:
            run = load_run(path)
        except ConformanceError as error:
            problems.append(str(error))
            continue
        runs.setdefault((run.profile.name, run.target), []).append((path.parent, run))
    problems += [
        f"{path}: holds no {FILE} (`conformance report {path}` makes it)" for path in _folders_without_report(folder)
    ]
    if not runs:
        detail = f" that can be read, of {len(problems)}: {problems[0]}" if problems else ""
        raise UsageError(
            f"holds no run{detail}", where=str(folder), hint="name the folder that contains the run folders"
        )
    trends = [_trend(target, profile, target_runs) for (profile, target), target_runs in sorted(runs.items())]
    return trends, problems


def _run_files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(path for pattern in (FILE, f"*/{FILE}") for path in folder.glob(pattern))
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(folder)) from None


def _folders_without_report(folder: Path) -> list[Path]:
    """The folders of runs that were killed before their reports were written."""
    journals = (path for pattern in (JOURNAL, f"*/{JOURNAL}") for path in folder.glob(pattern))
    return sorted(path.parent for path in journals if not (path.parent / FILE).exists())


def _trend(target: str, profile: str, runs: Sequence[tuple[Path, Run]]) -> Trend:
    by_date = sorted(runs, key=lambda pair: (pair[1].started_at, pair[0].name))
    points, before = [], None
    for path, run in by_date:
        points.append(_point(path, run, before))
        before = run
    return Trend(target, profile, tuple(points))


def _point(path: Path, run: Run, before: Run | None) -> Point:
    latency = run.traffic.latency.get("")
    failed = {row.id for row in run.requirements if row.counted_as == Outcome.FAILED}
    earlier = {row.id for row in before.requirements if row.counted_as == Outcome.FAILED} if before else failed
    return Point(
        folder=path.name,
        started_at=run.started_at,
        verdict=run.verdict.value,
        tiers={name: tier.verdict.value for name, tier in run.tiers.items()},
        counts=dict(run.counts),
        requests=run.traffic.requests,
        p50_ms=latency.p50 if latency else None,
        p99_ms=latency.p99 if latency else None,
        checks=run.suite.checks[:12],
        newly_failed=tuple(sorted(failed - earlier)),
        newly_passed=tuple(sorted(earlier - failed)),
    )
