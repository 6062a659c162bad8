"""Speed must not be bought with judgement: the kill matrix as it was recorded, and as it is now.

Recorded is what `conformance faults --all --record conformance/checks/kills.json` last wrote. `--quick` takes every
tenth row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

from conformance.checks.catalog import KILLS
from conformance.runner import kill_matrix as matrix
from tests.benchmarks.common import Figure, at_least, at_most, seen

EACH_QUICK: Final = 10
JOBS: Final = 2
MINUTES: Final = 25.0


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None) -> list[Figure]:
    """`rounds` changes nothing: a matrix is judged once."""
    seeded = matrix.select_subjects([], with_variants=True)
    subjects = matrix.interleave(seeded, matrix.random_subjects(matrix.RANDOM_TARGETS, 0))[
        :: EACH_QUICK if quick else 1
    ]
    began = perf_counter()
    rows = list(matrix.judge_subjects(subjects, JOBS))
    minutes = (perf_counter() - began) / 60
    if details is not None:
        details["matrix"] = matrix.summarize(rows)
    return [*compared(json.loads(KILLS.read_text(encoding="utf-8")), rows), _time(minutes, quick, len(rows))]


def compared(before: Mapping[str, Any], rows: list[matrix.Row]) -> list[Figure]:
    """Of the rows that were judged now: how many were fine before, and how many are."""
    killed = [row for row in rows if row.id in before["faults"]]
    others = [row for row in rows if row.id not in before["faults"]]
    was = sum(bool(before["faults"][row.id]["by"]) for row in killed)
    alike = sum(tuple(before["faults"][row.id]["by"]) == row.by for row in killed)
    known = sum(row.id in before["conformant"] for row in others)
    return [
        seen("matrix: faults killed before", [float(was)], f"of {len(killed)}"),
        at_least("  and now", [float(sum(row.fine for row in killed))], was, f"of {len(killed)}"),
        seen("  by just the same requirements", [float(alike)], f"of {len(killed)}"),
        seen("matrix: variants and drawn targets conformant before", [float(known)], f"of {len(others)}"),
        at_least("  and now", [float(sum(row.fine for row in others))], known, f"of {len(others)}"),
    ]


def _time(minutes: float, quick: bool, count: int) -> Figure:
    told = f"{count} whole runs, {JOBS} at once"
    name = "matrix: how long it took"
    return seen(name, [minutes], "min", told) if quick else at_most(name, [minutes], MINUTES, "min", told)
