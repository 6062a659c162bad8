"""A command, not a test: which seeded faults the traffic of the suite's own runs shows, without what the checks know.

Every run is recorded with its bodies; then the names and purposes of the checks are dropped, and the invariants and the
laws judge what is left, as they would judge anybody's traffic. Conforming targets must show nothing.

    python -m tests.matrix.observe_faults                  every fourth fault
    python -m tests.matrix.observe_faults all              every fault
    python -m tests.matrix.observe_faults reference variants:6 random:20 F065
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.contract import load_contract
from conformance.core.errors import ConformanceError
from conformance.core.law_facts import LawFacts
from conformance.core.model import Exchange, Result
from conformance.core.outcomes import Outcome
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import judge, patched_profile
from conformance.engine.session import Session
from conformance.journal.journal import MemoryJournal
from conformance.judge.invariant_results import Evidence, invariant_results
from conformance.judge.laws.facts import law_facts
from conformance.judge.laws.results import law_results
from conformance.profile.model import Profile
from conformance.reference.registry import faults, variants
from conformance.runner import embedded_reference as embedded
from conformance.runner.kill_matrix import random_subjects
from conformance.runner.random_target_runs import prepare_random_target, run_options
from tests.support.values import replace

RED = (Outcome.FAILED, Outcome.WARNED)
_SEED = 20


@dataclass(frozen=True)
class Subject:
    """One target. `seeded`: a fault or a variant; `random_target`: a random one; neither: the reference."""

    name: str
    kind: str
    seeded: Any = None
    random_target: Any = None


def observe(options: RunOptions, profile: Profile | None) -> tuple[Sequence[Exchange], LawFacts]:
    """The exchanges of a run as somebody else's traffic, and the facts of its profile."""
    journal, stated = MemoryJournal(evidence=True), []

    def arrange(session: Session, selected: list[Any]) -> list[Any]:
        stated.append(session.profile)
        return selected

    run = judge(options, profile=profile, journal=journal, arrange=arrange)
    exchanges = [replace(exchange, check="", purpose="", retry_of="") for exchange in run.exchanges]
    return exchanges, replace(law_facts(stated[0], load_contract()), is_all_traffic=True)


def red_results(exchanges: Sequence[Exchange], facts: LawFacts) -> list[Result]:
    """What the invariants and the laws find."""
    requirements = load_contract().requirements
    invariants = invariant_results(requirements, Evidence.of(exchanges, ()), only_judged=True)
    return [result for result in (*invariants, *law_results(exchanges, facts)) if result.outcome in RED]


def subjects(names: Sequence[str]) -> Iterator[Subject]:
    for name in names or ["fourth"]:
        word, _, count = name.partition(":")
        if word in ("fourth", "all"):
            chosen = list(faults())[:: 4 if word == "fourth" else 1]
            yield from (Subject(fault, "fault", faults()[fault]) for fault in chosen)
        elif word == "reference":
            yield Subject("", "conforming")
        elif word == "variants":
            step = max(1, len(variants()) // int(count or len(variants())))
            yield from (Subject(one, "conforming", variants()[one]) for one in list(variants())[::step])
        elif word == "random":
            found = random_subjects(int(count or 10), _SEED)
            yield from (Subject(one.id, "conforming", random_target=one.random_target) for one in found)
        else:
            kind = "fault" if name in faults() else "conforming"
            yield Subject(name, kind, faults().get(name) or variants()[name])


def options_of(subject: Subject, service: Any, folder: Path) -> tuple[RunOptions, Profile | None]:
    if subject.random_target is not None:
        return prepare_random_target(subject.random_target, subject.name, service, folder)
    options = run_options(service, subject.name, folder)
    patch = subject.seeded.profile if subject.seeded else None
    return options, patched_profile(options, patch) if patch else None


def main(names: Sequence[str]) -> int:
    found_by, missed, alarms, total = Counter[str](), [], [], Counter[str]()
    with embedded.reference() as service, embedded.environment(service.environment):
        for subject in subjects(names):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    red = red_results(*observe(*options_of(subject, service, Path(folder))))
                except ConformanceError as error:
                    print(f"{subject.name or 'reference':6} not judged: {error}", flush=True)
                    continue
            gc.collect()
            total[subject.kind] += 1
            laws = sorted({result.check for result in red})
            title = subject.seeded.title if subject.seeded else subject.kind
            mark = "ALARM" if red and subject.kind == "conforming" else "found" if red else "-"
            print(f"{subject.name or 'reference':6} {mark:6} {title:62.62} {' '.join(laws)}", flush=True)
            found_by.update(laws if subject.kind == "fault" else ())
            if subject.kind == "fault" and not red:
                missed.append(subject.name)
            if subject.kind == "conforming" and red:
                alarms.append(subject.name)
                for result in red:
                    print(f"       {result.check} {result.operation}: {result.message} {result.observed}")
    _print_summary(total, found_by, missed, alarms)
    return 1 if alarms else 0


def _print_summary(total: Counter[str], found_by: Counter[str], missed: list[str], alarms: list[str]) -> None:
    if count := total["fault"]:
        share = 100 * (count - len(missed)) / count
        print(f"\n{count - len(missed)} of {count} faults found ({share:.0f} %); not: {' '.join(missed)}")
        for name, number in found_by.most_common():
            print(f"  {number:4} {name}")
    if total["conforming"]:
        print(f"{len(alarms)} of {total['conforming']} conforming targets with findings: {' '.join(alarms) or 'none'}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
