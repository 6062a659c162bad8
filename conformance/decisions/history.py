"""The runs of a target over time, from the `run.json` of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.core.errors import ConformanceError, UsageError
from conformance.core.model import Run
from conformance.core.outcomes import JUDGED_OUTCOMES, OPEN_OUTCOMES, Outcome
from conformance.decisions.run_folders import folders_without_report, run_files
from conformance.reports.runjson import FILE, load_run


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a target."""

    folder: str
    """Relative to the reports folder."""
    target: str
    """Its address."""
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
    """Requirements that failed in the run before, and were judged here on the same operations without a failure."""
    failed: int = 0
    """Failed results that no waiver accepts."""
    open: int = 0
    """Results that are inconclusive, untested or unstated, and that no waiver accepts."""
    waived: int = 0


@dataclass(frozen=True, slots=True)
class Trend:
    """All runs of one target, the oldest first. Its name is that of its profile."""

    profile: str
    targets: tuple[str, ...]
    """Its addresses, the last one first."""
    points: tuple[Point, ...]

    @property
    def target(self) -> str:
        """The address of the last run."""
        return self.targets[0]

    @property
    def regressions(self) -> tuple[str, ...]:
        """The requirements that fail in the last run and did not in the run before."""
        return self.points[-1].newly_failed


def history(folder: Path) -> tuple[list[Trend], list[str]]:
    """The trends of the run folders below a folder, those that regressed first, and the problems of unreadable ones.

    Raises UsageError where there is no run at all.
    """
    runs: dict[str, list[tuple[str, Run]]] = {}
    problems = []
    for path in _run_files(folder):
        try:
            run = load_run(path)
        except ConformanceError as error:
            problems.append(str(error))
            continue
        runs.setdefault(run.profile.name, []).append((path.parent.relative_to(folder).as_posix(), run))
    problems += [
        f"{path}: holds no {FILE} (`conformance report {path}` makes it)" for path in folders_without_report(folder)
    ]
    if not runs:
        detail = f" that can be read, of {len(problems)}: {problems[0]}" if problems else ""
        raise UsageError(
            f"holds no run{detail}", where=str(folder), hint="name the folder that contains the run folders"
        )
    trends = [_trend(profile, target_runs) for profile, target_runs in sorted(runs.items())]
    return sorted(trends, key=lambda trend: not trend.regressions), problems


def _run_files(folder: Path) -> list[Path]:
    """Of the runs in a folder, or of the one run that it is."""
    try:
        return [path for path in (folder / FILE,) if path.exists()] + run_files(folder)
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(folder)) from None


def _trend(profile: str, runs: Sequence[tuple[str, Run]]) -> Trend:
    by_date = sorted(runs, key=lambda pair: (pair[1].started_at, pair[0]))
    points, before = [], None
    for folder, run in by_date:
        points.append(_point(folder, run, before))
        before = run
    targets = dict.fromkeys(run.target for _, run in reversed(by_date))
    return Trend(profile, tuple(targets), tuple(points))


def _point(folder: str, run: Run, before: Run | None) -> Point:
    latency = run.traffic.latency.get("")
    failed, earlier = _failures(run), _failures(before or run)
    unwaived_results = [result for result in run.results if result.waived_by is None]
    judged = {(r.requirement, r.operation) for r in unwaived_results if r.outcome in JUDGED_OUTCOMES}
    unwaived = Counter(result.outcome for result in unwaived_results)
    return Point(
        folder=folder,
        target=run.target,
        started_at=run.started_at,
        verdict=run.verdict.value,
        tiers={name: tier.verdict.value for name, tier in run.tiers.items()},
        counts=dict(run.counts),
        requests=run.traffic.requests,
        p50_ms=latency.p50 if latency else None,
        p99_ms=latency.p99 if latency else None,
        checks=run.suite.checks[:12],
        newly_failed=tuple(sorted(_requirements(failed) - _requirements(earlier))),
        newly_passed=tuple(sorted(_requirements(earlier) - _requirements(failed | earlier - judged))),
        failed=unwaived[Outcome.FAILED],
        open=sum(unwaived[outcome] for outcome in OPEN_OUTCOMES),
        waived=sum(result.waived_by is not None for result in run.results),
    )


def _failures(run: Run) -> set[tuple[str, str]]:
    """(requirement, operationId) of what failed and is not waived."""
    return {
        (result.requirement, result.operation)
        for result in run.results
        if result.outcome in (Outcome.FAILED, Outcome.BROKEN) and result.waived_by is None
    }


def _requirements(pairs: Iterable[tuple[str, str]]) -> set[str]:
    return {requirement for requirement, _ in pairs}
