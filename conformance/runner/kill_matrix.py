"""The kill matrix: judges every fault and variant of the reference service, and random targets, like any other target.

It shows that the suite detects each fault and accepts each legitimate variant.
"""

from __future__ import annotations

import gc
import json
import os
import shlex
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

from conformance.core.environ import safe_import_path
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.gc_tuning import reduce_collections
from conformance.core.model import Result, Run
from conformance.core.outcomes import Level, Outcome, Verdict
from conformance.engine.in_process import judge, patched_profile
from conformance.judge.invariant_results import is_binding
from conformance.reference.random_targets.choices import RandomTarget, target_from
from conformance.reference.random_targets.strategy import random_targets
from conformance.reference.registry import Fault, faults, unknown, variants
from conformance.runner import embedded_reference as embedded
from conformance.runner import random_target as random_profile
from conformance.runner.priority import sort_for_depth
from conformance.runner.random_target_runs import judge_random_target, run_options

_RED_OUTCOMES = (Outcome.FAILED, Outcome.WARNED)
RANDOM_TARGETS = 300
_MAX_LINES: Final = 20
"""Of what failed for one target, where a row is printed; `--json` has all of it."""
_SOUND_WORDS = {"incomplete": "sound"}
"""The word for a random target that is judged correctly although its profile states too little for a verdict."""


@dataclass(frozen=True)
class Row:
    """The result for one target. `fine`: the fault was killed, or the variant or random target was judged correctly."""

    id: str
    title: str
    requirement: str
    """The one that the fault violates; for a variant, the one that is at risk."""
    fine: bool
    verdict: str
    by: tuple[str, ...]
    """The requirements that failed or warned."""
    collateral: tuple[str, ...]
    """The required and declared requirements that failed, without the fault's own."""
    inconclusive: int
    requests: int
    seconds: float
    problem: str = ""
    choices: Mapping[str, Any] | None = None
    """Of a random target: the choices that differ from the reference's, as `conformance faults --draw` takes them."""
    failing: tuple[str, ...] = ()
    """Where it is not `fine`: each check that prevents it, with its count and its first message."""
    unjudged: tuple[str, ...] = ()
    """The requirements without a judged result, about which a conformant run proves nothing."""
    found_by: tuple[str, ...] = ()
    """Of a fault: the ids of the instances of checks that show it, and `control:OPERATION` where a control does."""
    is_warning: bool = False
    """Of a fault: whether its own requirement warned only, since a standard says so and the interface does not."""


@dataclass(frozen=True)
class Subject:
    """One target to judge: a fault or variant by its id, or a random target with an id of the matrix."""

    id: str
    random_target: RandomTarget | None = None
    depth: str = ""


def select_subjects(ids: Sequence[str], *, with_variants: bool, only_random: bool = False) -> list[Subject]:
    """The subjects with these ids, each once; without ids, all faults unless `only_random`, and all variants on demand.

    Raises UsageError for an unknown id.
    """
    known_ids = [*faults(), *variants()]
    for subject_id in ids:
        if subject_id not in known_ids:
            raise unknown(subject_id)
    all_ids = [*(() if only_random else faults()), *(variants() if with_variants else ())]
    return [Subject(name) for name in dict.fromkeys(ids or all_ids)]


def random_subjects(count: int, seed: int, choices: Sequence[str] = ()) -> list[Subject]:
    """`count` random targets, which depend on the seed only, and the targets with these choices, each a JSON object.

    Raises UsageError for unknown choices.
    """
    targets = [
        *(random_targets(count, seed) if count else ()),
        *(target_from(_parse_choices(text)) for text in choices),
    ]
    return [Subject(f"R{number:03d}", target) for number, target in enumerate(targets, 1)]


def interleave(first: Sequence[Subject], second: Sequence[Subject]) -> list[Subject]:
    """Merges two lists evenly, since random targets are often slow and others can be judged meanwhile."""
    places = [((index + 0.5) / len(group), subject) for group in (first, second) for index, subject in enumerate(group)]
    return [subject for _, subject in sorted(places, key=lambda place: place[0])]


def _parse_choices(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"the choices are not valid JSON: {error}", where="--draw") from None


def judge_subjects(subjects: Sequence[Subject], jobs: int, depth: str = "") -> Iterator[Row]:
    """Yields one row for each subject, in order. Each job is a process with its own reference service.

    `depth` replaces the profile's for faults and variants.
    """
    subjects = [replace(subject, depth=depth) for subject in subjects]
    if jobs == 1:
        with _open_bench() as (service, folder):
            yield from (_judge_subject(subject, service, folder) for subject in subjects)
        return
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as shared_folder,
        safe_import_path(),
        _pool(jobs, shared_folder) as pool,
    ):
        # not `map`: it cancels pending futures, on which the pool's own thread fails when its processes have ended
        futures = [pool.submit(_judge_in_process_bench, subject) for subject in subjects]
        try:
            yield from (future.result() for future in futures)
        except KeyboardInterrupt:
            for process in active_children():
                process.terminate()
            raise


def _pool(jobs: int, folder: str) -> ProcessPoolExecutor:
    """A process of it that is terminated removes none of its temporary files: the parent removes the folder of all."""
    return ProcessPoolExecutor(jobs, get_context("spawn"), _start_process, (folder,))


def _start_process(folder: str) -> None:
    """Ends this process when its parent ends, which a process of the pool does not notice by itself."""
    tempfile.tempdir = folder
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


@contextmanager
def _open_bench() -> Iterator[tuple[embedded.EmbeddedReference, Path]]:
    """A reference service and a folder for the runs against it."""
    with (
        reduce_collections(),
        embedded.reference() as service,
        embedded.environment(service.environment),
        tempfile.TemporaryDirectory() as folder,
    ):
        yield service, Path(folder)


@cache
def _process_bench() -> tuple[embedded.EmbeddedReference, Path]:
    """The bench of this process, closed when the process exits."""
    bench = ExitStack()
    Finalize(None, bench.close, exitpriority=1)
    return bench.enter_context(_open_bench())


def _judge_in_process_bench(subject: Subject) -> Row:
    return _judge_subject(subject, *_process_bench())


def _judge_subject(subject: Subject, service: embedded.EmbeddedReference, folder: Path) -> Row:
    make_row = _random_row if subject.random_target else _seeded_row
    try:
        return make_row(subject, service, folder)
    except Exception as error:  # noqa: BLE001 - one subject that cannot be judged must not end the matrix
        problem = f"{type(error).__name__}: {error}"
        choices = subject.random_target.differences() if subject.random_target else None
        return Row(subject.id, "", "all", False, "broken", (), (), 0, 0, 0.0, problem, choices)
    finally:
        gc.collect()  # a run has reference cycles: 30 MB a target, and each target is slower than the last


def _seeded_row(subject: Subject, service: embedded.EmbeddedReference, folder: Path) -> Row:
    name = subject.id
    seeded: Any = faults().get(name) or variants()[name]
    started = time.monotonic()
    options = replace(run_options(service, name, folder), depth=subject.depth)
    profile = patched_profile(options, seeded.profile) if seeded.profile else None
    try:
        run = judge(options, profile=profile, keep_journal=False, arrange=sort_for_depth)
    except ConformanceError as error:
        return Row(name, seeded.title, seeded.requirement, False, "broken", (), (), 0, 0, 0.0, str(error))
    return _row_of_run(seeded, run, time.monotonic() - started)


def _random_row(subject: Subject, service: embedded.EmbeddedReference, folder: Path) -> Row:
    target = subject.random_target
    assert target is not None
    started = time.monotonic()
    choices = target.differences()
    title = " ".join(f"{name}={value}" for name, value in choices.items()) or "the reference's choices"
    try:
        run = judge_random_target(target, subject.id, service, folder)
    except ConformanceError as error:
        return Row(subject.id, title, "all", False, "broken", (), (), 0, 0, 0.0, str(error), choices)
    is_sound = random_profile.is_sound(target, run)
    row = _row_of_run(_RandomSubject(subject.id, title), run, time.monotonic() - started, is_sound=is_sound)
    return replace(row, choices=choices)


@dataclass(frozen=True)
class _RandomSubject:
    """The members of a variant that a row needs, for a random target."""

    id: str
    title: str
    requirement: str = "all"


def _failing_checks(run: Run, requirement: str = "") -> tuple[str, ...]:
    """What prevents a conformant verdict: a line for each outcome and check, and for each gap of a missing fact.

    With a requirement, what its checks have not judged, by outcome: they may be why a fault has survived.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for outcome in (Outcome.FAILED, Outcome.BROKEN, Outcome.UNTESTED, Outcome.INCONCLUSIVE):
        for result in run.results:
            if result.outcome is outcome and requirement in ("", result.requirement):
                groups.setdefault((outcome.value, result.check), []).append(result)
    failing = (
        f"{outcome} {len(group)} x {check} [{group[0].operation} {group[0].case}]: {group[0].message}"
        for (outcome, check), group in groups.items()
    )
    gaps = (g for g in run.scope.open if g.outcome is Outcome.UNSTATED and requirement in ("", g.requirement))
    return (*failing, *(f"unstated {gap.requirement} [{gap.operation}]: {gap.reason}" for gap in gaps))


def _row_of_run(seeded: Any, run: Run, seconds: float, *, is_sound: bool | None = None) -> Row:
    """`is_sound`: of a random target, whether it was judged correctly."""
    red = {result.requirement for result in run.results if result.outcome in _RED_OUTCOMES}
    failed = {result.requirement for result in run.results if result.outcome is Outcome.FAILED}
    is_fault = isinstance(seeded, Fault)
    is_sound = run.verdict is Verdict.CONFORMANT if is_sound is None else is_sound
    fine = seeded.requirement in red if is_fault else is_sound
    broken = next((result.message for result in run.results if result.outcome is Outcome.BROKEN), "")
    fine = fine and not broken
    inconclusive_count = sum(r.outcome is Outcome.INCONCLUSIVE and r.level is Level.REQUIRED for r in run.results)
    return Row(
        id=seeded.id,
        title=seeded.title,
        requirement=seeded.requirement,
        fine=fine,
        verdict=run.verdict.value,
        by=tuple(sorted(red)),
        collateral=tuple(sorted(failed - {seeded.requirement})),
        inconclusive=inconclusive_count,
        unjudged=unjudged_requirements(run),
        failing=() if fine else _failing_checks(run, seeded.requirement if is_fault else ""),
        found_by=_found_by(run) if is_fault else (),
        is_warning=is_fault and seeded.requirement in red - failed,
        requests=run.traffic.requests,
        seconds=round(seconds, 2),
        problem=broken,
    )


def _found_by(run: Run) -> tuple[str, ...]:
    """The instances that failed, or on whose behalf something was sent that violated an invariant."""
    checks = (r for r in run.results if r.outcome is Outcome.FAILED and not r.check.startswith("invariant::"))
    found = {f"{r.check}[{r.operation}{'-' * bool(r.case)}{r.case}]" for r in checks}
    for exchange in run.exchanges:
        if any(is_binding(finding) for finding in exchange.findings):
            found.add(f"control:{exchange.operation}" if exchange.check == "control" else exchange.check)
    return tuple(sorted(found))


def unjudged_requirements(run: Run) -> tuple[str, ...]:
    """The requirements without a judged result in a run."""
    judged = {result.requirement for result in run.results if result.outcome in (*_RED_OUTCOMES, Outcome.PASSED)}
    return tuple(sorted({result.requirement for result in run.results} - judged))


def format_row(row: Row) -> str:
    """A row as a line of text; where it is not `fine` also what failed, and of a random target its `--draw` option."""
    fault = row.id in faults()
    killed = "warned" if row.is_warning else "killed"
    label = (
        (killed if row.fine else "SURVIVED")
        if fault
        else (_SOUND_WORDS.get(row.verdict, row.verdict) if row.fine else row.verdict.upper())
    )
    others = f", also {' '.join(row.collateral)}" if row.collateral else ""
    problem = f" ({row.problem})" if row.problem else ""
    if fault and not row.fine and row.verdict == Verdict.INCOMPLETE.value:
        problem += " (incomplete: not everything was judged)"
    text = (
        f"{row.id:6} {label:10} {row.requirement:8} {row.title:58.58} "
        f"{row.requests:6,} requests {row.seconds:6.1f} s{others}{problem}"
    )
    if row.fine:
        return text
    lines = [text, *row.failing[:_MAX_LINES]]
    if row.choices is not None:
        lines.append(f"--draw {shlex.quote(json.dumps(row.choices, ensure_ascii=False))}")
    return "\n       ".join(lines)


def summarize(judged_rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of a matrix, as a JSON object."""
    fault_rows = [row for row in judged_rows if row.id in faults()]
    random_rows = [row for row in judged_rows if row.choices is not None]
    variant_rows = [row for row in judged_rows if row.id not in faults() and row.choices is None]
    collateral = [len(row.collateral) for row in fault_rows] or [0]
    return {
        "faults": len(fault_rows),
        "killed": sum(row.fine for row in fault_rows),
        "warned": sum(row.fine and row.is_warning for row in fault_rows),
        "survived": [row.id for row in fault_rows if not row.fine],
        "collateral_median": median(collateral),
        "collateral_mean": round(mean(collateral), 3),
        "variants": len(variant_rows),
        "conformant": sum(row.fine for row in variant_rows),
        "random_targets": len(random_rows),
        "random_targets_sound": sum(row.fine for row in random_rows),
        "false_alarms": [row.id for row in (*variant_rows, *random_rows) if not row.fine],
        "requests": sum(row.requests for row in judged_rows),
        "seconds": round(sum(row.seconds for row in judged_rows), 1),
        "rows": [asdict(row) for row in judged_rows],
    }


def kills_record(judged_rows: Sequence[Row]) -> dict[str, Any]:
    """The content of `kills.json`, for `conformance list` and `explain`: the requirements that each fault turned red,
    and the conformant variants with the requirements not judged of them."""
    fault_rows = {row.id: row for row in judged_rows if row.id in faults()}
    fine_rows = [row for row in judged_rows if row.id not in faults() and row.fine]
    return {
        "faults": {
            name: {"title": row.title, "by": list(row.by), **({"warned": True} if row.is_warning else {})}
            for name, row in sorted(fault_rows.items())
        },
        "conformant": {row.id: list(row.unjudged) for row in sorted(fine_rows, key=lambda row: row.id)},
    }


def format_summary(figures: Mapping[str, Any]) -> str:
    """A summary as a line of text."""
    return (
        f"{figures['killed']} of {figures['faults']} faults killed, {figures['warned']} of them by a warning, "
        f"{figures['conformant']} of {figures['variants']} variants conformant, "
        f"{figures['random_targets_sound']} of {figures['random_targets']} random targets judged correctly; "
        "other requirements red for each fault: "
        f"median {figures['collateral_median']}, mean {figures['collateral_mean']}; {figures['requests']:,} requests"
    )
