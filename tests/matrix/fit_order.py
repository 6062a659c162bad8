"""A command, not a test: fits the order of checks to the known faults, and writes `conformance/runner/evidence.json`.

`python -m tests.matrix.fit_order` runs the suite against every fault; `--rows FILE...` takes the tables of
`conformance faults --json` instead. What is fitted on some faults is judged on others: the faults are split into five
parts, and each part is looked for in the order that the other four give. The file has both figures.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from conformance.checks.support.costs import Setup, expected_cost, setups
from conformance.checks.support.registry import Instance, all_checks, instances
from conformance.contract import load_contract
from conformance.profile.loader import load_profile
from conformance.runner import embedded_reference as embedded
from conformance.runner import kill_matrix, priority
from conformance.runner.evidence import EVIDENCE_FILE, Evidence, EvidenceFile, FaultEvidence, Trace

PROFILE = embedded.bundled_profiles() / "reference.toml"
FOLDS = 5
CONTROL = "control:"
_MANY_OPERATIONS = 5
"""Of a check: so many that the one where it shows a fault says something of the operation."""
Findings = Mapping[str, frozenset[str]]
"""Fault -> the ids of the instances that show it, and `control:OPERATION` where a control does."""


def all_instances() -> list[Instance]:
    """What a run against the reference consists of."""
    profile = load_profile(PROFILE, base_url="http://localhost", variables={"control": "http://localhost"})
    return instances(all_checks(), profile, load_contract())


def findings(rows: Iterable[Mapping[str, Any]], known: Collection[str]) -> dict[str, frozenset[str]]:
    """The faults of a matrix that an instance of the reference's own profile shows."""
    found = {row["id"]: frozenset(n for n in row["found_by"] if n in known or n.startswith(CONTROL)) for row in rows}
    return {fault: names for fault, names in sorted(found.items()) if names}


def evidence(found: Findings, everything: Sequence[Instance]) -> EvidenceFile:
    """The content of `evidence.json`, without figures."""
    by_id = {instance.id: instance for instance in everything}
    by_check: dict[str, list[Instance]] = defaultdict(list)
    for instance in everything:
        by_check[instance.check.id].append(instance)
    operations = {instance.operation.id for instance in everything}
    faults = {}
    for fault, names in found.items():
        shown: dict[str, list[Instance]] = defaultdict(list)
        is_everywhere = sum(name.startswith(CONTROL) for name in names) > len(operations) / 2
        for name in () if is_everywhere else names & by_id.keys():  # some control shows it before any check does
            shown[by_id[name].check.id].append(by_id[name])
        faults[fault] = FaultEvidence(
            controls=sorted(name.removeprefix(CONTROL) for name in names if name.startswith(CONTROL)),
            checks={check: _trace(shown[check], by_check[check]) for check in sorted(shown)},
        )
    return EvidenceFile({}, _operations(found, everything), faults)


def _operations(found: Findings, everything: Sequence[Instance]) -> dict[str, float]:
    """How often a fault that could be on any operation is on this one, in relation to the mean.

    Counted are faults that a check of many operations shows on a single one.
    """
    by_id = {instance.id: instance for instance in everything}
    operations_of: dict[str, set[str]] = defaultdict(set)
    for instance in everything:
        operations_of[instance.check.id].add(instance.operation.id)
    counted, expected = Counter[str](), Counter[str]()
    for names in found.values():
        shown: dict[str, set[str]] = defaultdict(set)
        for instance in (by_id[name] for name in names & by_id.keys()):
            shown[instance.check.id].add(instance.operation.id)
        single = [c for c, on in shown.items() if len(on) == 1 and len(operations_of[c]) >= _MANY_OPERATIONS]
        for check in single:
            counted.update({next(iter(shown[check])): 1 / len(single)})  # type: ignore[dict-item]
            share = 1 / len(single) / len(operations_of[check])
            expected.update(dict.fromkeys(operations_of[check], share))  # type: ignore[arg-type]
    return {name: round((counted[name] + 1) / (expected[name] + 1), 3) for name in sorted(expected)}


def _trace(shown: Sequence[Instance], everything: Sequence[Instance]) -> Trace:
    def share(names: list[str], all_names: list[str]) -> dict[str, float]:
        totals = Counter(all_names)
        return {name: round(count / totals[name], 3) for name, count in sorted(Counter(names).items())}

    anywhere = round(len(shown) / len(everything), 3)
    if anywhere == 1:
        return Trace(1.0)
    operations = share([i.operation.id for i in shown], [i.operation.id for i in everything])
    if set(operations.values()) == {1.0}:  # in every case
        return Trace(anywhere, operations)
    return Trace(anywhere, operations, sorted({instance.case for instance in shown}))


def requests_until(order: Iterable[Instance], names: Collection[str]) -> float | None:
    """The expected number of requests until the first of these instances has half of its answers; None: in none."""
    spent, prepared = 0.0, set[Setup]()
    for instance in order:
        for setup, setup_cost in setups(instance):
            if setup not in prepared:
                prepared.add(setup)
                spent += setup_cost
                if setup == (instance.operation.id, "control") and f"{CONTROL}{instance.operation.id}" in names:
                    return spent
        cost = expected_cost(instance)
        if instance.id in names:
            return spent + cost / 2
        spent += cost
    return None


def folds(faults: Iterable[str], seed: int = 1) -> Iterator[tuple[list[str], list[str]]]:
    """(faults to fit on, faults to judge), five times."""
    shuffled = sorted(faults)
    random.Random(seed).shuffle(shuffled)
    for number in range(FOLDS):
        judged = shuffled[number::FOLDS]
        yield [fault for fault in shuffled if fault not in set(judged)], judged


def judge_order(found: Findings, everything: Sequence[Instance]) -> dict[str, dict[str, float]]:
    """The figures of the order that all faults give, and of those that four fifths give for the other fifth."""
    unseen: dict[str, tuple[float | None, bool]] = {}
    for fitted, judged in folds(found):
        unseen |= _look_for({f: found[f] for f in judged}, {f: found[f] for f in fitted}, everything)
    return {"seen": _figures(_look_for(found, found, everything)), "unseen": _figures(unseen)}


def _look_for(
    judged: Findings, fitted: Findings, everything: Sequence[Instance]
) -> dict[str, tuple[float | None, bool]]:
    """By fault: the requests until it shows, and whether quick depth shows it."""
    known = Evidence.from_file(evidence(fitted, everything))
    order = priority.sort_by_priority(everything, known, until_failure=True)
    quick = priority.select_quick(everything, known)
    controls = {f"{CONTROL}{instance.operation.id}" for instance in everything if instance.id in quick}
    return {fault: (requests_until(order, names), bool(names & (quick | controls))) for fault, names in judged.items()}


def _figures(looked_for: Mapping[str, tuple[float | None, bool]]) -> dict[str, float]:
    requests = sorted(float("inf") if count is None else count for count, _ in looked_for.values())
    return {
        "faults": len(requests),
        "found_in_quick_depth": round(sum(quick for _, quick in looked_for.values()) / len(requests), 3),
        "requests_median": requests[len(requests) // 2],
        "requests_80th_percentile": requests[int(0.8 * len(requests))],
    }


def judged_rows(jobs: int) -> list[dict[str, Any]]:
    """Runs the suite against every fault."""
    rows = []
    for row in kill_matrix.judge_subjects(kill_matrix.select_subjects((), with_variants=False), jobs):
        print(kill_matrix.format_row(row), flush=True)
        rows.append({"id": row.id, "found_by": row.found_by})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, nargs="+", metavar="FILE", help="tables of `conformance faults --json`")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    everything = all_instances()
    rows = [row for file in options.rows or () for row in json.loads(file.read_text(encoding="utf-8"))["rows"]]
    found = findings(rows or judged_rows(options.jobs), {instance.id for instance in everything})
    figures = judge_order(found, everything)
    print(json.dumps(figures, indent=1))
    document = msgspec.to_builtins(replace(evidence(found, everything), figures=figures))
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(fault)}" for name, fault in document["faults"].items())
    text = json.dumps({**document, "faults": 0}).replace('"faults": 0', f'"faults": {{\n{lines}\n}}')
    EVIDENCE_FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
