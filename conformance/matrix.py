"""The kill matrix: every fault and variant of the reference service, judged like any target.

It is the proof behind a green run: what the suite is known to catch, and what it is known not to mind.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, median
from typing import Any

from conformance import embedded
from conformance.direct import judge, patched_profile, reference_options
from conformance.errors import ConformanceError, UsageError
from conformance.model import Level, Outcome, Run, Verdict
from conformance.reference.registry import Fault, faults, variants

_RED = (Outcome.FAILED, Outcome.WARNED)


@dataclass(frozen=True)
class Row:
    """What became of one fault or variant. `fine`: a fault was killed, a variant is conformant."""

    id: str
    title: str
    requirement: str
    """Which the fault violates; for a variant, which is at risk."""
    fine: bool
    verdict: str
    by: tuple[str, ...]
    """The requirements that went red."""
    collateral: tuple[str, ...]
    """Required and declared requirements beside the fault's own that failed."""
    inconclusive: int
    requests: int
    seconds: float
    problem: str = ""


def chosen(words: Sequence[str], *, with_variants: bool) -> list[str]:
    """The ids to judge: those named, or all faults, and all variants too. Raises UsageError on an unknown one."""
    known = [*faults(), *variants()]
    unknown = [word for word in words if word not in known]
    if unknown:
        raise UsageError(f"there is no fault or variant {unknown[0]!r}", hint=f"they are {known[0]} to {known[-1]}")
    return list(words) or [*faults(), *(variants() if with_variants else ())]


def rows(ids: Sequence[str], jobs: int) -> Iterator[Row]:
    """One row an id, in order, as they come. Each job is a process with a reference service of its own."""
    if jobs == 1:
        yield from _judged(ids)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for batch in pool.map(_listed, [ids[index : index + 4] for index in range(0, len(ids), 4)]):
            yield from batch


def _listed(ids: Sequence[str]) -> list[Row]:
    return list(_judged(ids))


def _judged(ids: Sequence[str]) -> Iterator[Row]:
    with (
        embedded.reference() as service,
        embedded.environment(service.environment),
        tempfile.TemporaryDirectory() as folder,
    ):
        for name in ids:
            yield _row(name, service, Path(folder) / name)


def _row(name: str, service: embedded.Embedded, folder: Path) -> Row:
    seeded: Any = faults().get(name) or variants()[name]
    started = time.monotonic()
    options = reference_options(
        service.base_url, service.control_url, name, embedded.bundled_profiles() / "reference.toml", folder
    )
    profile = None if isinstance(seeded, Fault) else patched_profile(options, seeded.profile)
    try:
        run = judge(options, profile=profile)
    except ConformanceError as error:
        return Row(name, seeded.title, seeded.requirement, False, "broken", (), (), 0, 0, 0.0, str(error))
    return _told(seeded, run, time.monotonic() - started)


def _told(seeded: Any, run: Run, seconds: float) -> Row:
    red = {result.requirement for result in run.results if result.outcome in _RED}
    failed = {result.requirement for result in run.results if result.outcome is Outcome.FAILED}
    fine = seeded.requirement in red if isinstance(seeded, Fault) else run.verdict is Verdict.CONFORMANT
    broken = next((result.message for result in run.results if result.outcome is Outcome.BROKEN), "")
    open_ends = sum(r.outcome is Outcome.INCONCLUSIVE and r.level is Level.REQUIRED for r in run.results)
    return Row(
        id=seeded.id,
        title=seeded.title,
        requirement=seeded.requirement,
        fine=fine and not broken,
        verdict=run.verdict.value,
        by=tuple(sorted(red)),
        collateral=tuple(sorted(failed - {seeded.requirement})),
        inconclusive=open_ends,
        requests=run.traffic.requests,
        seconds=round(seconds, 2),
        problem=broken,
    )


def line(row: Row) -> str:
    """A row as a line of text."""
    fault = row.id in faults()
    word = ("killed" if row.fine else "SURVIVED") if fault else ("conformant" if row.fine else row.verdict.upper())
    others = f", also {' '.join(row.collateral)}" if row.collateral else ""
    problem = f" ({row.problem})" if row.problem else ""
    return (
        f"{row.id:6} {word:10} {row.requirement:8} {row.title:58.58} "
        f"{row.requests:6,} requests {row.seconds:6.1f} s{others}{problem}"
    )


def summary(done: Sequence[Row]) -> dict[str, Any]:
    """The figures that people cite, as a JSON object."""
    seeded = [row for row in done if row.id in faults()]
    readings = [row for row in done if row.id not in faults()]
    collateral = [len(row.collateral) for row in seeded] or [0]
    return {
        "faults": len(seeded),
        "killed": sum(row.fine for row in seeded),
        "survived": [row.id for row in seeded if not row.fine],
        "collateral_median": median(collateral),
        "collateral_mean": round(mean(collateral), 3),
        "variants": len(readings),
        "conformant": sum(row.fine for row in readings),
        "false_alarms": [row.id for row in readings if not row.fine],
        "requests": sum(row.requests for row in done),
        "seconds": round(sum(row.seconds for row in done), 1),
        "rows": [asdict(row) for row in done],
    }
