"""Which instances of checks found the known faults: `evidence.json`, written by `python -m tests.matrix.fit_order`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

EVIDENCE_FILE: Final = Path(__file__).with_name("evidence.json")


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which instances of one check find one fault: shares from 0 to 1."""

    anywhere: float
    operations: Mapping[str, float] = {}
    """Of the instances on each operation; empty where all instances find it."""
    cases: Sequence[str] = ()
    """Those that find it on some of these operations; empty where all cases do."""


class FaultEvidence(msgspec.Struct, frozen=True):
    """What found one fault: the controls of these operations, and by check which of its instances."""

    controls: Sequence[str]
    checks: Mapping[str, Trace]


class EvidenceFile(msgspec.Struct, frozen=True):
    """The content of `evidence.json`."""

    figures: Mapping[str, Mapping[str, float]]
    """How soon the order shows the faults that it was fitted on, and others."""
    operations: Mapping[str, float]
    """How often an operation alone has a fault that could be on any, in relation to the mean, which is 1."""
    faults: Mapping[str, FaultEvidence]


@dataclass(frozen=True)
class Evidence:
    """`traces`: check -> fault -> what found it; `controls`: operation -> the faults that its control shows."""

    traces: Mapping[str, Mapping[str, Trace]]
    controls: Mapping[str, frozenset[str]]
    operations: Mapping[str, float]

    @classmethod
    def from_file(cls, content: EvidenceFile) -> Evidence:
        traces: dict[str, dict[str, Trace]] = defaultdict(dict)
        controls: dict[str, set[str]] = defaultdict(set)
        for fault, found in content.faults.items():
            for check, trace in found.checks.items():
                traces[check][fault] = trace
            for operation in found.controls:
                controls[operation].add(fault)
        by_control = {operation: frozenset(faults) for operation, faults in controls.items()}
        return cls(traces, by_control, content.operations)


@cache
def known_evidence() -> Evidence:
    return Evidence.from_file(msgspec.json.decode(EVIDENCE_FILE.read_bytes(), type=EvidenceFile))
