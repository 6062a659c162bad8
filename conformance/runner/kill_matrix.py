"""The kill matrix: every fault and variant of the reference service, and drawn targets, judged like any other.

It is the proof behind a green run: what the suite is known to catch, and what it is known not to mind.
"""

from __future__ import annotations

import gc
import json
import os
import shlex
import tempfile
import threading
import time
import tomllib
import urllib.error
import urllib.request
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
from typing import Any

import yaml

from conformance.core.environ import safe_import_path
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.gc_tuning import reduce_collections
from conformance.core.model import Level, Outcome, Result, Run, Verdict
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import document_profile, judge, merged, patched_profile, reference_options
from conformance.reference.random_targets.choices import ALL_FACTS, RandomTarget, target_from
from conformance.reference.random_targets.profile_writer import profile_of, schemas_of
from conformance.reference.random_targets.strategy import random_targets
from conformance.reference.registry import Fault, faults, unknown, variants
from conformance.runner import embedded_reference as embedded
from conformance.runner import random_target as drawn_profile

_RED = (Outcome.FAILED, Outcome.WARNED)
DRAWN = 300
_SOUND = {"incomplete": "sound"}
"""What a drawn target is called of which nothing failed, and too little was stated for a verdict."""


@dataclass(frozen=True)
class Row:
    """What became of one target. `fine`: a fault was killed, a variant or a drawn target is conformant."""

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
    choices: Mapping[str, Any] | None = None
    """Of a drawn target: all that is not the reference's own, as `conformance faults --draw` takes it."""
    failing: tuple[str, ...] = ()
    """Of a drawn target that is not conformant: the checks that say so, each with how often and its first message."""
    unjudged: tuple[str, ...] = ()
    """Requirements of which no result is a judgement: whoever is conformant without one of them proves little by it."""


@dataclass(frozen=True)
class Subject:
    """What is to be judged: a fault or variant by its id, or a drawn target under a name of the matrix's own."""

    id: str
    drawn: RandomTarget | None = None


def chosen(words: Sequence[str], *, with_variants: bool, only_drawn: bool = False) -> list[Subject]:
    """What is named, or all faults, and all variants too; nothing by itself where only drawn targets are wanted.

    Raises UsageError on an unknown id.
    """
    known = [*faults(), *variants()]
    for word in words:
        if word not in known:
            raise unknown(word)
    everything = [*(() if only_drawn else faults()), *(variants() if with_variants else ())]
    return [Subject(name) for name in words or everything]


def drawn_subjects(count: int, seed: int, choices: Sequence[str] = ()) -> list[Subject]:
    """So many drawn targets, the same ones for the same seed, and those whose choices are given as JSON.

    Raises UsageError on choices that there are not.
    """
    targets = [*(random_targets(count, seed) if count else ()), *(target_from(_parsed(text)) for text in choices)]
    return [Subject(f"R{number:03d}", target) for number, target in enumerate(targets, 1)]


def woven(some: Sequence[Subject], others: Sequence[Subject]) -> list[Subject]:
    """Both lists in one, evenly: drawn targets are often slow, and while one is waited for, others can be judged."""
    places = [((index + 0.5) / len(group), subject) for group in (some, others) for index, subject in enumerate(group)]
    return [subject for _, subject in sorted(places, key=lambda place: place[0])]


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"the choices are no JSON: {error}", where="--draw") from None


def rows(subjects: Sequence[Subject], jobs: int) -> Iterator[Row]:
    """One row a subject, in order, as they come. Each job is a process with a reference service of its own."""
    if jobs == 1:
        with _bench() as (service, folder):
            yield from (_judged(subject, service, folder) for subject in subjects)
        return
    pooled = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_with_parent)
    with safe_import_path(), pooled as pool:
        # not `map`: it cancels what is left, and the pool's own thread fails over that when its processes are gone
        waiting = [pool.submit(_at_our_bench, subject) for subject in subjects]
        try:
            yield from (one.result() for one in waiting)
        except KeyboardInterrupt:
            for process in active_children():
                process.terminate()
            raise


def _end_with_parent() -> None:
    """A process that waits for more work does not see that nobody is left to give it any."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


@contextmanager
def _bench() -> Iterator[tuple[embedded.Embedded, Path]]:
    """A reference service and a folder for the runs against it."""
    with (
        reduce_collections(),
        embedded.reference() as service,
        embedded.environment(service.environment),
        tempfile.TemporaryDirectory() as folder,
    ):
        yield service, Path(folder)


@cache
def _our_bench() -> tuple[embedded.Embedded, Path]:
    """The bench of this process, as long as it lives."""
    bench = ExitStack()
    Finalize(None, bench.close, exitpriority=1)
    return bench.enter_context(_bench())


def _at_our_bench(subject: Subject) -> Row:
    return _judged(subject, *_our_bench())


def _judged(subject: Subject, service: embedded.Embedded, folder: Path) -> Row:
    judged = _drawn_row if subject.drawn else _row
    try:
        return judged(subject, service, folder)
    except Exception as error:  # noqa: BLE001 - one subject that cannot be judged must not end the other 500
        problem = f"{type(error).__name__}: {error}"
        choices = subject.drawn.differences() if subject.drawn else None
        return Row(subject.id, "", "all", False, "broken", (), (), 0, 0, 0.0, problem, choices)
    finally:
        gc.collect()  # a run is full of circles: 30 MB a target, each a little slower than the one before


def _row(subject: Subject, service: embedded.Embedded, folder: Path) -> Row:
    name = subject.id
    seeded: Any = faults().get(name) or variants()[name]
    started = time.monotonic()
    options = _options(service, name, folder)
    profile = None if isinstance(seeded, Fault) else patched_profile(options, seeded.profile)
    try:
        run = judge(options, profile=profile, keep=False)
    except ConformanceError as error:
        return Row(name, seeded.title, seeded.requirement, False, "broken", (), (), 0, 0, 0.0, str(error))
    return _told(seeded, run, time.monotonic() - started)


def _drawn_row(subject: Subject, service: embedded.Embedded, folder: Path) -> Row:
    target = subject.drawn
    assert target is not None
    started = time.monotonic()
    choices = target.differences()
    title = " ".join(f"{name}={value}" for name, value in choices.items()) or "the reference's own"
    try:
        run = drawn_run(target, subject.id, service, folder)
    except ConformanceError as error:
        return Row(subject.id, title, "all", False, "broken", (), (), 0, 0, 0.0, str(error), choices)
    row = _told(_Reading(subject.id, title), run, time.monotonic() - started)
    row = replace(row, fine=drawn_profile.is_sound(target, run) and not row.problem)
    return replace(row, choices=choices, failing=() if row.fine else _failing(run))


@dataclass(frozen=True)
class _Reading:
    """What a drawn target has of a variant."""

    id: str
    title: str
    requirement: str = "all"


def _failing(run: Run) -> tuple[str, ...]:
    """What keeps a run from being conformant, a line a check."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for outcome in (Outcome.FAILED, Outcome.BROKEN, Outcome.UNTESTED, Outcome.INCONCLUSIVE):
        for result in run.results:
            if result.outcome is outcome:
                groups.setdefault((outcome.value, result.check), []).append(result)
    return tuple(
        f"{outcome} {len(group)} x {check} [{group[0].operation} {group[0].case}]: {group[0].message}"
        for (outcome, check), group in groups.items()
    )


def drawn_run(
    target: RandomTarget, name: str, service: embedded.Embedded, folder: Path, examples: int | None = None
) -> Run:
    """A whole run against a drawn target, with the profile that its owner would write. `name` is new to the service.

    `examples`: so many of each generated request, None: as in any run. Raises ConformanceError as `judge` does.
    """
    _register(target, name, service)
    profiles = embedded.bundled_profiles()
    document = tomllib.loads((profiles / "reference.toml").read_text(encoding="utf-8"))
    schemas = _schemas(profiles / document["schemas"]["file"])
    file = folder / f"{name}.schemas.json"
    file.write_text(json.dumps(schemas_of(target, schemas)), encoding="utf-8")
    options = replace(_options(service, name, folder), examples=examples)
    patch = {**profile_of(target, document), "schemas": {"file": str(file.resolve())}}
    own = merged(document, patch)
    if target.silence == "excluded":
        own = drawn_profile.with_exclusions(target, own, document)
    if target.facts != ALL_FACTS:
        own = drawn_profile.reduced(own, target.facts, options)
    return judge(options, profile=document_profile(options, own), keep=False)


@cache
def _schemas(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _register(target: RandomTarget, name: str, service: embedded.Embedded) -> None:
    request = urllib.request.Request(  # noqa: S310 - the embedded service's own address
        f"{service.control_url}/targets/{name}", json.dumps(target.differences()).encode(), method="PUT"
    )
    try:
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310
    except urllib.error.HTTPError as error:
        raise ConformanceError(error.read().decode("utf-8", "replace"), where=name) from error


def _options(service: embedded.Embedded, name: str, folder: Path) -> RunOptions:
    profile = embedded.bundled_profiles() / "reference.toml"
    return reference_options(service.base_url, service.control_url, name, profile, folder / name)


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
        unjudged=unjudged(run),
        requests=run.traffic.requests,
        seconds=round(seconds, 2),
        problem=broken,
    )


def unjudged(run: Run) -> tuple[str, ...]:
    """The requirements of which a run judged nothing."""
    judged = {one.requirement for one in run.results if one.outcome in (*_RED, Outcome.PASSED)}
    return tuple(sorted({one.requirement for one in run.results} - judged))


def line(row: Row) -> str:
    """A row as a line of text; below a drawn target that is not conformant, what failed and how to draw it again."""
    fault = row.id in faults()
    word = (
        ("killed" if row.fine else "SURVIVED")
        if fault
        else (_SOUND.get(row.verdict, row.verdict) if row.fine else row.verdict.upper())
    )
    others = f", also {' '.join(row.collateral)}" if row.collateral else ""
    problem = f" ({row.problem})" if row.problem else ""
    told = (
        f"{row.id:6} {word:10} {row.requirement:8} {row.title:58.58} "
        f"{row.requests:6,} requests {row.seconds:6.1f} s{others}{problem}"
    )
    if row.choices is None or row.fine:
        return told
    again = f"--draw {shlex.quote(json.dumps(row.choices, ensure_ascii=False))}"
    return "\n       ".join((told, *row.failing, again))


def summary(done: Sequence[Row]) -> dict[str, Any]:
    """The figures that people cite, as a JSON object."""
    seeded = [row for row in done if row.id in faults()]
    targets = [row for row in done if row.choices is not None]
    readings = [row for row in done if row.id not in faults() and row.choices is None]
    collateral = [len(row.collateral) for row in seeded] or [0]
    return {
        "faults": len(seeded),
        "killed": sum(row.fine for row in seeded),
        "survived": [row.id for row in seeded if not row.fine],
        "collateral_median": median(collateral),
        "collateral_mean": round(mean(collateral), 3),
        "variants": len(readings),
        "conformant": sum(row.fine for row in readings),
        "drawn": len(targets),
        "drawn_conformant": sum(row.fine for row in targets),
        "false_alarms": [row.id for row in (*readings, *targets) if not row.fine],
        "requests": sum(row.requests for row in done),
        "seconds": round(sum(row.seconds for row in done), 1),
        "rows": [asdict(row) for row in done],
    }


def recorded(done: Sequence[Row]) -> dict[str, Any]:
    """Which requirements each fault turned red, as `conformance list` and `explain` show it, and who was conformant,
    with what was not judged of him."""
    seeded = {row.id: row for row in done if row.id in faults()}
    others = [row for row in done if row.id not in faults() and row.fine]
    return {
        "faults": {name: {"title": row.title, "by": list(row.by)} for name, row in sorted(seeded.items())},
        "conformant": {row.id: list(row.unjudged) for row in sorted(others, key=lambda row: row.id)},
    }


def last_line(told: Mapping[str, Any]) -> str:
    """A summary as a line of text."""
    return (
        f"{told['killed']} of {told['faults']} faults killed, {told['conformant']} of {told['variants']} variants "
        f"conformant, {told['drawn_conformant']} of {told['drawn']} drawn targets judged soundly; "
        "other requirements red per fault: "
        f"median {told['collateral_median']}, mean {told['collateral_mean']}; {told['requests']:,} requests"
    )
