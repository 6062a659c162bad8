"""How the suite compares with its peers, schemathesis and Specmatic: speed, faults killed, false alarms.

All judge the same service on the same machine, one after the other in turn; each process and each example is new. Both
peers get the contract with the reference's schemas and living examples (`peer_document`) and are run as their own
documentation advises (`peer_runs`). A peer kills a fault by any complaint that no fault-free run of it brought; the
suite only where the very requirement that is violated goes red. A variant's profile patch has no counterpart at a peer:
whatever a peer says of a variant, it says without having been told of it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

from conformance.reference.registry import faults, variants
from conformance.runner import kill_matrix as matrix
from conformance.runner.embedded_reference import EmbeddedReference, environment
from tests.benchmarks.common import (
    Figure,
    at_least,
    at_most,
    in_turn,
    ran,
    ratios,
    run_command,
    scratch_folder,
    seen,
    service,
)
from tests.benchmarks.peer_runs import ERROR, LONGEST_S, SEED, Place, Schemathesis, Specmatic, Told, recorded

FASTER: Final = 8
SHARPER: Final = 2
QUICK: Final = 10
"""A quick measurement takes every tenth fault and variant, the first of them included."""
WHEEL: Final = "specmatic==2.55.3"
UNDECLARED: Final = "UnsupportedMethodResponse"
"""What schemathesis says of methods that the contract does not speak of."""

Peer = Schemathesis | Specmatic


@dataclass
class Record:
    """All that one side did; `clean` on the fault-free service, the others by fault or variant."""

    name: str
    clean: list[Told] = field(default_factory=list)
    faulty: dict[str, Told] = field(default_factory=dict)
    varied: dict[str, Told] = field(default_factory=dict)

    @property
    def usual(self) -> frozenset[str]:
        return frozenset().union(*(told.failures for told in self.clean))

    @property
    def killed(self) -> list[str]:
        return [name for name, told in self.faulty.items() if told.failures - self.usual]

    @property
    def alarms(self) -> list[str]:
        """Fault-free targets of which it complains: the reference's every run counts once, as `reference`."""
        targets = {"reference": self.usual, **{name: told.failures for name, told in self.varied.items()}}
        return [name for name, failures in targets.items() if _complaints(failures)]

    @property
    def seconds(self) -> list[float]:
        return [told.seconds for told in self.faulty.values()]

    @property
    def told(self) -> dict[str, Any]:
        tables = {"clean": [_plain(told) for told in self.clean]}
        groups = {"faulty": self.faulty, "varied": self.varied}
        rows = {name: {key: _plain(told) for key, told in group.items()} for name, group in groups.items()}
        return {"killed": self.killed, "alarms": self.alarms, "usual": sorted(self.usual), **tables, **rows}


class Ours:
    """`conformance run` in its default settings."""

    name = "conformance"

    def command(self, running: EmbeddedReference, folder: Path, prefix: str = "") -> list[str]:
        return [str(word) for word in run_command(running, folder, prefix=prefix)]

    def run(self, place: Place) -> Told:
        """Of a fault only what turned its own requirement red is told."""
        shutil.rmtree(place.folder, ignore_errors=True)
        done = ran(self.command(place.service, place.folder, place.prefix), place.service.environment)
        file = place.folder / "run.json"
        if not file.is_file():
            return Told(done.seconds, done.code, 0, frozenset(), done.err[-500:] or "no run.json")
        run = json.loads(file.read_text(encoding="utf-8"))
        red = {one["requirement"] for one in run["results"] if one["outcome"] in ("failed", "warned", "broken")}
        seeded = faults().get(place.prefix)
        own = red & {seeded.requirement} if seeded else red
        return Told(done.seconds, done.code, run["traffic"]["requests"], frozenset(own))


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None, every: int | None = None) -> list[Figure]:
    """Measures everything. `details` receives versions, commands, and what each side said of each target.

    `every`: so many of the faults and variants are skipped to the next one; None: all, or every tenth if `quick`.
    """
    step = every or (QUICK if quick else 1)
    details = {} if details is None else details
    with scratch_folder() as scratch, service() as running:
        folder = Path(scratch)
        peers, missing = _peers(folder, details)
        answers = recorded(running)
        sides: list[Ours | Peer] = [Ours(), *peers]
        records = {side.name: Record(side.name) for side in sides}

        def judged(side: Ours | Peer, prefix: str = "") -> Told:
            told = side.run(Place(running, prefix, folder / "run" / side.name, answers))
            verdict = f"{told.exchanges:,} exchanges in {told.seconds:.1f} s, {len(told.failures)} complaints"
            print(f"  {side.name}, {prefix or 'reference'}: {verdict}", file=sys.stderr, flush=True)
            return told

        def once(side: Ours | Peer) -> float:
            told = judged(side)
            records[side.name].clean.append(told)
            return told.exchanges / told.seconds

        rates = in_turn(rounds, *(lambda side=side: once(side) for side in sides))  # type: ignore[misc]
        for name in list(faults())[::step]:
            for side in sides:
                records[side.name].faulty[name] = judged(side, name)
        for name in list(variants())[::step]:
            for peer in peers:
                records[peer.name].varied[name] = judged(peer, name)
        _vary_ours(records["conformance"], running, folder, list(variants())[::step])
        _commands(details, running, sides)
    details["sides"] = {name: record.told for name, record in records.items()}
    details["faults"] = list(faults())[::step]
    details["variants"] = list(variants())[::step]
    by_name = dict(zip(records, rates, strict=True))
    return [*_speed(records, by_name), *_kills(records), *_alarms(records), *missing]


def _vary_ours(record: Record, running: EmbeddedReference, folder: Path, names: Sequence[str]) -> None:
    """Each variant with its own profile patch, as the kill matrix judges it."""
    with environment(running.environment):
        for row in matrix.judge_subjects([matrix.Subject(name) for name in names], 1):
            alarms = frozenset() if row.fine else frozenset(row.by or (row.verdict,))
            record.varied[row.id] = Told(row.seconds, 0 if row.fine else 1, row.requests, alarms, row.problem)


def _speed(records: Mapping[str, Record], rates: Mapping[str, list[float]]) -> list[Figure]:
    found = []
    for name, record in records.items():
        verdict = f"exit {record.clean[0].code}, {median(told.exchanges for told in record.clean):g} exchanges a run"
        found.append(seen(f"{name}: checked exchanges per second", rates[name], "/s", verdict))
        found.append(seen(f"{name}: time to verdict", [told.seconds for told in record.clean], "s"))
    ours = rates["conformance"]
    for name in list(records)[1:]:
        samples = ratios(ours, rates[name])
        label = f"exchanges per second, ours to {name}'s"
        found.append(at_least(label, samples, FASTER, "x") if name == "schemathesis" else seen(label, samples, "x"))
    return found


def _kills(records: Mapping[str, Record]) -> list[Figure]:
    ours = records["conformance"]
    found = []
    for name, record in records.items():
        note = f"of {len(record.faulty)}" + _late(record)
        found.append(seen(f"{name}: faults killed", [len(record.killed)], "faults", note))
        found.append(seen(f"{name}: seconds a faulty target", record.seconds, "s"))
    for name, record in list(records.items())[1:]:
        # a peer that kills none is counted as one that kills one, lest the ratio be infinite
        ratio = len(ours.killed) / max(1, len(record.killed))
        found.append(at_least(f"faults killed, ours to {name}'s", [ratio], SHARPER, "x"))
        spent = sum(ours.seconds) / sum(record.seconds)
        found.append(at_most(f"time for the faults, ours to {name}'s", [spent], 1, "x"))
    return found


def _complaints(failures: frozenset[str]) -> list[str]:
    """Without what may be an error of the peer's own, which counts for a kill all the same: generous twice."""
    return sorted(one for one in failures if not one.startswith(f"{ERROR}:"))


def _late(record: Record) -> str:
    late = [name for name, told in record.faulty.items() if told.problem]
    return f"; {len(late)} with an error of its own or none within {LONGEST_S:g} s" if late else ""


def _alarms(records: Mapping[str, Record]) -> list[Figure]:
    found = []
    for name, record in records.items():
        label = f"{name}: fault-free targets with an alarm"
        told = [_complaints(record.usual), *(_complaints(told.failures) for told in record.varied.values())]
        note = f"of {len(told)}; {len(told[0])} complaints about the reference itself"
        if name == "schemathesis":
            declared = [[one for one in failures if UNDECLARED not in one] for failures in told]
            note += f"; without undeclared methods {sum(map(bool, declared))} with {len(declared[0])}"
        count = [len(record.alarms)]
        found.append(at_most(label, count, 0, "", note) if name == "conformance" else seen(label, count, "", note))
    return found


def _peers(folder: Path, details: dict[str, Any]) -> tuple[list[Peer], list[Figure]]:
    """The peers that can run here; of one that cannot, a line that says why."""
    details["versions"] = {
        "python": platform.python_version(),
        "conformance": version("commerce-conformance"),
        "schemathesis": version("schemathesis"),
        "processors": os.cpu_count(),
    }
    try:
        jar = specmatic_jar(folder / "specmatic")
        details["versions"]["specmatic"] = WHEEL.partition("==")[2]
        details["versions"]["java"] = _printed("java", "-version").splitlines()[0]
    except (OSError, subprocess.SubprocessError, LookupError) as error:
        return [Schemathesis()], [Figure("specmatic", 0, note=f"not measured: {str(error)[:200]}")]
    return [Schemathesis(), Specmatic(jar)], []


def specmatic_jar(folder: Path) -> Path:
    """The program that the wheel carries, in an environment of its own: it starts that very file with Java.

    Its Python part, which the command line has no use for, would need web frameworks; they are left out.
    `SPECMATIC_JAR` names a file that is there already. Raises OSError, SubprocessError or LookupError where there is
    none.
    """
    _printed("java", "-version")
    if ready := os.environ.get("SPECMATIC_JAR"):
        return Path(ready)
    _printed(sys.executable, "-m", "venv", str(folder))
    _printed(str(folder / "bin" / "pip"), "install", "--quiet", "--no-deps", os.environ.get("SPECMATIC_WHEEL", WHEEL))
    jars = sorted(folder.glob("lib/python*/site-packages/specmatic/core/specmatic.jar"))
    if not jars:
        raise LookupError("the wheel carries no specmatic.jar")
    return jars[0]


def _printed(*command: str) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    if done.returncode:
        raise subprocess.SubprocessError(f"{command[0]} {command[-1]}: {done.stdout.strip()[-150:]}")
    return done.stdout


def _commands(details: dict[str, Any], running: EmbeddedReference, sides: Sequence[Ours | Peer]) -> None:
    details["seed"] = SEED
    details["commands"] = {
        side.name: side.command(running, Path("report")) if isinstance(side, Ours) else side.command(running.base_url)
        for side in sides
    }


def _plain(told: Told) -> dict[str, Any]:
    return {**asdict(told), "failures": sorted(told.failures)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help=f"every {QUICK}th fault and variant")
    parser.add_argument("--every", type=int, help="every so many-th fault and variant")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--details", type=Path, help="where to write versions, commands and verdicts as JSON")
    chosen = parser.parse_args()
    details: dict[str, Any] = {}
    for figure in figures(chosen.rounds, chosen.quick, details, chosen.every):
        print(figure.line)
    print(json.dumps({name: details[name] for name in ("versions", "commands", "seed")}, indent=1))
    if chosen.details:
        chosen.details.write_text(json.dumps(details, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
