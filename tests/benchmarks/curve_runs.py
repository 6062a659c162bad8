"""One run of a tool against one target, and the answers with which it saw what it complains of.

A tool's evidence is taken from its own report, its place among the answers from the service's log, which all share.
"""

from __future__ import annotations

import bisect
import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from conformance.core.model import Exchange
from conformance.journal.lines import ExchangeRecorded
from conformance.journal.reader import read
from conformance.judge.invariant_results import is_binding
from conformance.reference.registry import faults
from tests.benchmarks.common import ran, run_command
from tests.benchmarks.curve_points import Sighting
from tests.benchmarks.peer_runs import ERROR, Place, Schemathesis, Specmatic

RED: Final = ("failed", "warned")
_TEST: Final = re.compile(r"^\s*Scenario: (.+) has (SUCCEEDED|FAILED)", re.MULTILINE)
Marks = Mapping[str, int]
"""A complaint, and the number of answers until it was first seen."""


@dataclass(frozen=True)
class Observed:
    """`complaints`: each with the number of answers until its evidence. `answers`: their times, after the start."""

    seconds: float
    code: int
    answers: tuple[float, ...]
    complaints: Marks = field(default_factory=dict)
    problem: str = ""

    def sighting(self, fault: str, usual: Iterable[str]) -> Sighting:
        """The first complaint that the fault-free target does not get."""
        new = [number for complaint, number in self.complaints.items() if complaint not in set(usual)]
        number = min(new, default=None)
        found_s = None
        if number is not None:
            found_s = self.answers[number - 1] if 0 < number <= len(self.answers) else self.seconds
        return Sighting(fault, found_s, number, self.seconds, len(self.answers))


class Tool(Protocol):
    name: str

    def observe(self, place: Place, log: Path) -> Observed: ...


class Suite:
    """`conformance run`. Of a fault it says only what is of the very requirement that is violated, with exit code 1."""

    def __init__(self, name: str, *options: str) -> None:
        self.name = name
        self._options = options

    def observe(self, place: Place, log: Path) -> Observed:
        shutil.rmtree(place.folder, ignore_errors=True)
        began = time.time()
        command = run_command(place.service, place.folder, *self._options, prefix=place.prefix)
        done = ran(command, place.service.environment)
        answers = answered(log, place.prefix, began)
        file = place.folder / "run.json"
        if not file.is_file():
            return Observed(done.seconds, done.code, answers, problem=done.err[-300:] or "no run.json")
        run = json.loads(file.read_text(encoding="utf-8"))
        lines = read(place.folder / "journal.ndjson")
        exchanges = [line.exchange for line in lines if isinstance(line, ExchangeRecorded)]
        complaints = suite_complaints(run["results"], exchanges)
        seeded = faults().get(place.prefix.partition("~")[0])
        if seeded is not None:
            own = complaints.get(seeded.requirement) if done.code == 1 else None
            complaints = {} if own is None else {seeded.requirement: own}
        return Observed(done.seconds, done.code, answers, complaints)


def suite_complaints(results: Iterable[Mapping[str, Any]], exchanges: Sequence[Exchange]) -> dict[str, int]:
    """By requirement that failed or warned: the number of answers until the first of its rows was sure to.

    A check is sure with the last exchange that it cites, an invariant with the first that violates it.
    """
    by_end = sorted(exchanges, key=lambda one: one.at + one.duration_ms / 1000)
    ranks = {exchange.id: number for number, exchange in enumerate(by_end, 1)}
    found: dict[str, int] = {}
    rows = set()
    for result in results:
        if result["outcome"] not in RED:
            continue
        rows.add((result["requirement"], result["operation"]))
        if not result["check"].startswith("invariant::"):
            cited = [ranks[name] for name in result["exchanges"] if name in ranks]
            _seen(found, result["requirement"], max(cited, default=len(by_end)))
    for exchange in by_end:
        for finding in exchange.findings:
            if is_binding(finding) and (finding.requirement, exchange.operation) in rows:
                _seen(found, finding.requirement, ranks[exchange.id])
    for requirement, _ in rows:
        found.setdefault(requirement, len(by_end))
    return found


class SchemathesisTool(Schemathesis):
    def __init__(self, workers: str) -> None:
        super().__init__(workers, "json,ndjson")

    def observe(self, place: Place, log: Path) -> Observed:
        told = self.run(place)
        answers = answered(log, place.prefix, told.began)
        file = place.folder / "events.ndjson"
        if not file.is_file():
            return Observed(told.seconds, told.code, answers, problem=told.problem or "no events")
        with file.open(encoding="utf-8") as lines:
            complaints = schemathesis_complaints((json.loads(line) for line in lines if line.strip()), told.began)
        ranked = {name: max(1, bisect.bisect_right(answers, at)) for name, at in complaints.items()}
        for error in told.failures:  # its errors have no time: they count from the run's end
            if error.startswith(f"{ERROR}:"):
                ranked[error] = len(answers)
        return Observed(told.seconds, told.code, answers, ranked, told.problem)


def schemathesis_complaints(events: Iterable[Mapping[str, Any]], began: float) -> dict[str, float]:
    """By failure (operation and type): when its first answer had come, in seconds after `began` (since the epoch)."""
    found: dict[str, float] = {}
    for event in events:
        if "ScenarioFinished" not in event:
            continue
        finished = event["ScenarioFinished"]
        for case, failure in _failures(finished["recorder"]):
            interaction = finished["recorder"].get("interactions", {}).get(case, finished)
            name = f"{failure['operation']}: {failure['type']}"
            found[name] = min(found.get(name, float("inf")), interaction["timestamp"] - began)
    return found


def _failures(recorder: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for case, checks in recorder.get("checks", {}).items():
        for check in checks:
            if check["status"] == "failure":
                yield case, check["failure_info"]["failure"]


class SpecmaticTool(Specmatic):
    def observe(self, place: Place, log: Path) -> Observed:
        told = self.run(place)
        answers = answered(log, place.prefix, told.began)
        printed = (place.folder / "printed.txt").read_text(encoding="utf-8", errors="replace")
        complaints = specmatic_complaints(printed)
        return Observed(told.seconds, told.code, answers, complaints, told.problem)


def specmatic_complaints(printed: str) -> dict[str, int]:
    """By test that failed: its number. Of what it prints, since its JUnit file is in another order than its tests."""
    found: dict[str, int] = {}
    for number, (test, verdict) in enumerate(_TEST.findall(printed), 1):
        if verdict != "SUCCEEDED":
            _seen(found, test, number)
    return found


def _seen(found: dict[str, int], name: str, number: int) -> None:
    found[name] = min(number, found.get(name, number))


def answered(log: Path, target: str, began: float) -> tuple[float, ...]:
    """The times of the answers that a target has given, in seconds after `began` (since the epoch)."""
    times = []
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            at, _, name = line.rstrip("\n").partition(" ")
            if name == target and float(at) >= began:
                times.append(float(at) - began)
    return tuple(times)
