"""What a "no" costs: requests and seconds for each fault that is killed, and how soon a fail-fast gate says it.

`python -m tests.benchmarks.economy --quick` takes every tenth fault. A run of the first kind is a whole one, in one
process with the benchmark. One of the second kind is a process of its own, `conformance run --fail-fast`, from start to
exit, in the order that the other four fifths of the faults give.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.engine.in_process import judge, reference_options
from conformance.judge.invariant_results import is_binding
from conformance.reference.registry import faults
from conformance.runner import embedded_reference as embedded
from conformance.runner.embedded_reference import EmbeddedReference
from conformance.runner.evidence import EVIDENCE_FILE
from tests.benchmarks.common import (
    PROFILE,
    ROOT,
    Figure,
    at_least,
    at_most,
    ran,
    run_command,
    scratch_folder,
    seen,
    sent_requests,
    service,
)
from tests.matrix.fit_order import folds

SOON_S = 2.0
EACH_QUICK = 10


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None) -> list[Figure]:
    """`rounds` is how often each fail-fast gate is asked; the median counts. `details` gets what each fault took."""
    names = [name for name, fault in faults().items() if not fault.seeded_in][:: EACH_QUICK if quick else 1]
    with service() as running, embedded.environment(running.environment), scratch_folder() as folder:
        orders = unseen_orders(Path(folder))
        gates = [gated(running, Path(folder) / "gate", name, rounds, orders[name]) for name in names]
        whole = [judged(running, Path(folder) / "whole", name) for name in names]
    if details is not None:
        details["economy"] = {name: {**one, **other} for name, one, other in zip(names, whole, gates, strict=True)}
    return [*_of_whole_runs(whole), *_of_gates(gates)]


def unseen_orders(folder: Path) -> dict[str, Path]:
    """For each fault an evidence file that was made without it, and without those of its fold."""
    document = json.loads(EVIDENCE_FILE.read_text(encoding="utf-8"))
    files = {}
    for number, (fitted, hidden) in enumerate(folds(faults())):
        file = folder / f"evidence-{number}.json"
        known = {name: found for name, found in document["faults"].items() if name in set(fitted)}
        file.write_text(json.dumps({**document, "faults": known}), encoding="utf-8")
        files |= dict.fromkeys(hidden, file)
    return files


def judged(running: EmbeddedReference, folder: Path, name: str) -> dict[str, Any]:
    """A whole run against one fault."""
    options = reference_options(running.base_url, running.control_url, name, PROFILE, folder / name)
    began = perf_counter()
    run = judge(options, keep_journal=False)
    red = {result.requirement for result in run.results if result.outcome in (Outcome.FAILED, Outcome.WARNED)}
    return {
        "killed": faults()[name].requirement in red,
        "requests": run.traffic.requests,
        "seconds": perf_counter() - began,
        "first_red": first_red(run),
    }


def first_red(run: Run) -> int | None:
    """How many requests had been answered when the first row of the run was sure to go red; None where none did.

    A failed check is sure with the last exchange that it cites, an invariant with the first that violates it.
    """
    place = {exchange.id: number for number, exchange in enumerate(run.exchanges, 1)}
    failed = [result for result in run.results if result.outcome is Outcome.FAILED]
    of_checks = [place[r.exchanges[-1]] for r in failed if r.exchanges and not r.check.startswith("invariant::")]
    rows = {(result.requirement, result.operation) for result in failed}
    of_invariants = [
        place[exchange.id]
        for exchange in run.exchanges
        for finding in exchange.findings
        if is_binding(finding) and (finding.requirement, exchange.operation) in rows
    ]
    return min([*of_checks, *of_invariants], default=None)


def gated(running: EmbeddedReference, folder: Path, name: str, rounds: int, evidence: Path) -> dict[str, Any]:
    """`conformance run --fail-fast` against one fault: its exit codes, and the medians of requests, wall and processor
    time."""
    runs, requests = [], []
    for number in range(rounds):
        report = folder / f"{name}-{number}"
        command = run_command(running, report, "--fail-fast", prefix=name)
        command[command.index("conformance")] = "tests.benchmarks.unseen_order"
        command.insert(command.index("run"), evidence)
        runs.append(ran(command, running.environment, ROOT))
        requests.append(sent_requests(report))
    return {
        "gate_requests": median(requests),
        "codes": [run.code for run in runs],
        "gate_s": median(run.seconds for run in runs),
        "gate_cpu_s": median(run.cpu_s for run in runs),
    }


def _of_whole_runs(whole: Sequence[dict[str, Any]]) -> list[Figure]:
    killed = max(1, sum(one["killed"] for one in whole))
    told = f"{killed} of {len(whole)} faults killed"
    reds = [float(one["first_red"]) for one in whole if one["first_red"] is not None]
    return [
        seen("economy: requests for each killed fault", [sum(o["requests"] for o in whole) / killed], "requests", told),
        seen("economy: seconds for each killed fault", [sum(o["seconds"] for o in whole) / killed], "s", told),
        seen("economy: requests until the first red row", reds or [float("nan")], "requests", f"{len(reds)} runs"),
    ]


def _of_gates(gates: Sequence[dict[str, Any]]) -> list[Figure]:
    said = [one for one in gates if set(one["codes"]) == {1}]
    soon = sum(one["gate_s"] < SOON_S for one in said) / len(gates)
    requests = sorted(one["gate_requests"] for one in gates)
    cheap = sum(one["gate_cpu_s"] < SOON_S for one in said) / len(gates)
    never = f"{len(gates) - len(said)} of {len(gates)} never said it"
    return [
        at_least("economy: faults with a fail-fast no in under 2 s", [soon], 0.8, "of faults", never),
        seen("economy: the same, counted in processor time", [cheap], "of faults"),
        at_most("economy: requests until a fail-fast no", requests, 60, "requests"),
        at_most("economy: the same, 80th percentile", [requests[int(0.8 * len(requests))]], 400, "requests"),
        seen("economy: until a fail-fast no", [one["gate_s"] for one in said] or [float("nan")], "s"),
        seen("economy: processor time of a fail-fast no", [o["gate_cpu_s"] for o in said] or [float("nan")], "s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every tenth fault")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, help="what each fault took")
    given = parser.parse_args()
    details: dict[str, Any] = {}
    for figure in figures(given.rounds, given.quick, details):
        print(figure.line)
    if given.json:
        given.json.write_text(json.dumps(details, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
