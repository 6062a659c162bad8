"""How soon each tool sees a fault: `python -m tests.benchmarks curves --output FOLDER [--every N]`.

This suite in full and in quick depth, schemathesis and Specmatic, in alternation on the same reference server, near
and 50 ms away, each against every Nth of the faults that need no profile of their own. FOLDER gets `curves.md`,
`curves.svg` and `curves.json`, after each fault what is known by then.

The suite has found a fault where its run ends with exit code 1 and names the very requirement that is violated; a peer
has by any complaint that it does not also make of the fault-free reference. The time and the number of requests are
those of the answer that is its evidence.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from conformance.reference.registry import faults, variants
from conformance.runner import kill_matrix
from conformance.runner.embedded_reference import EmbeddedReference, environment
from tests.benchmarks.common import Figure, scratch_folder, seen, service
from tests.benchmarks.curve_points import Panel, Sighting, fault_table, panel_table, panels, table
from tests.benchmarks.curve_runs import Observed, SchemathesisTool, SpecmaticTool, Suite, Tool
from tests.benchmarks.curve_svg import svg
from tests.benchmarks.peer_runs import ERROR, Place, recorded
from tests.benchmarks.peers import specmatic_jar

EVERY: Final = 60
"""So many faults to the next one: five, which take less than a quarter of an hour on two cores."""
VARIANTS: Final = 2
"""So many fault-free variants are judged too."""
MS: Final = 50
FULL, QUICK = "this suite, full", "this suite, quick"


@dataclass
class Bench:
    """One distance: its service, its tools, and all that these observed, by tool and target."""

    distance_ms: int
    running: EmbeddedReference
    log: Path
    tools: tuple[Tool, ...]
    answers: dict[str, Any]
    observed: dict[str, dict[str, Observed]] = field(default_factory=dict)

    def observe(self, tool: Tool, target: str, folder: Path) -> None:
        state = "".join(letter for letter in tool.name if letter.isalnum())
        prefix = target if isinstance(tool, SpecmaticTool) else f"{target}~{state}"  # it would write %7E
        observed = tool.observe(Place(self.running, prefix, folder, self.answers), self.log)
        self.observed.setdefault(tool.name, {})[target] = observed
        said = f"{len(observed.answers):,} answers in {observed.seconds:.1f} s, {len(observed.complaints)} complaints"
        print(f"  {self.distance_ms} ms, {target}, {tool.name}: {said}", file=sys.stderr, flush=True)

    def usual(self, tool: str) -> set[str]:
        """What a tool complains of on the fault-free reference."""
        return set(self.observed[tool]["reference"].complaints)

    def sightings(self, names: Iterable[str]) -> dict[str, list[Sighting]]:
        return {
            tool: [rows[name].sighting(name, self.usual(tool)) for name in names if name in rows]
            for tool, rows in self.observed.items()
        }


def figures(
    rounds: int,
    quick: bool,
    details: dict[str, Any] | None = None,
    output: Path | None = None,
    every: int | None = None,
) -> list[Figure]:
    """Measures, and writes the table and the picture into `output`. `quick`: two faults, and near only."""
    assert output is not None
    output.mkdir(parents=True, exist_ok=True)
    seeded = [name for name, fault in faults().items() if not fault.seeded_in]
    names = seeded[:: len(seeded) // 2 + 1] if quick else seeded[:: every or EVERY]
    with scratch_folder() as scratch, ExitStack() as stack:
        folder = Path(scratch)
        jar, missing = _jar(folder)
        benches = [_opened(stack, folder, distance, jar) for distance in ([0] if quick else [0, MS])]
        began = time.monotonic()
        for number, target in enumerate(["reference", *names]):
            for bench in benches:
                for tool in bench.tools if number % 2 == 0 else reversed(bench.tools):
                    bench.observe(tool, target, folder / "run")
                    shutil.rmtree(folder / "run", ignore_errors=True)
            if number:
                facts = [f"{time.monotonic() - began:.0f} s of measuring", *missing]
                _written(output, benches, names[:number], {}, facts)
        alarms = _alarms(benches[0], folder, list(variants())[:: len(variants()) // VARIANTS][:VARIANTS])
        drawn = _written(output, benches, names, alarms, [f"{time.monotonic() - began:.0f} s of measuring", *missing])
    if details is not None:
        details["curves"] = {str(bench.distance_ms): bench.sightings(names) for bench in benches}
    return [_figure(panel, tool) for panel in drawn for tool in range(len(panel.curves))]


def _opened(stack: ExitStack, folder: Path, distance_ms: int, jar: Path | None) -> Bench:
    log = folder / f"answers{distance_ms}.log"
    log.touch()
    running = stack.enter_context(service(distance_ms, log=log))
    at_once = ("--concurrency", "32") if distance_ms else ()
    suites = [Suite(FULL, *at_once), Suite(QUICK, "--depth", "quick", *at_once)]
    peers: list[Tool] = [SchemathesisTool("32" if distance_ms else "auto"), *([SpecmaticTool(jar)] if jar else [])]
    return Bench(distance_ms, running, log, (*suites, *peers), recorded(running))


def _jar(folder: Path) -> tuple[Path | None, list[str]]:
    """Specmatic's program; without it, a line that says why."""
    try:
        return specmatic_jar(folder / "specmatic"), []
    except (OSError, subprocess.SubprocessError, LookupError) as error:
        return None, [f"Specmatic is left out: {str(error)[:200]}"]


def _alarms(bench: Bench, folder: Path, names: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """By tool and fault-free target: its complaints. The suite gets a variant's profile; its peers cannot be told."""
    found: dict[str, dict[str, list[str]]] = {}
    for tool in bench.tools:
        rows = found.setdefault(tool.name, {"reference": _complaints(bench.observed[tool.name]["reference"])})
        if isinstance(tool, Suite):
            with environment(bench.running.environment):
                depth = "quick" if tool.name == QUICK else ""
                for row in kill_matrix.judge_subjects([kill_matrix.Subject(name) for name in names], 1, depth):
                    rows[row.id] = list(row.by)
            continue
        for name in names:
            bench.observe(tool, name, folder / "run")
            rows[name] = _complaints(bench.observed[tool.name].pop(name))
    return found


def _complaints(observed: Observed) -> list[str]:
    """Without what may be an error of the peer's own, which counts as a find all the same: generous twice."""
    return sorted(one for one in observed.complaints if not one.startswith(f"{ERROR}:"))


def _written(
    output: Path,
    benches: Sequence[Bench],
    names: Sequence[str],
    alarms: dict[str, dict[str, list[str]]],
    facts: Sequence[str],
) -> list[Panel]:
    """Writes the files; returns what is drawn."""
    near, far = benches[0].sightings(names), benches[-1].sightings(names) if len(benches) > 1 else {}
    drawn = [panel for panel in panels(near, far, MS) if panel.curves]
    title = f"Faults found, of {len(names)}"
    (output / "curves.svg").write_text(svg(title, drawn), encoding="utf-8")
    (output / "curves.md").write_text(_page(drawn, names, near, alarms, facts), encoding="utf-8")
    kept = {tool: [asdict(one) for one in rows] for tool, rows in near.items()}
    kept_far = {tool: [asdict(one) for one in rows] for tool, rows in far.items()}
    everything = {"faults": list(names), "near": kept, "far": kept_far, "alarms": alarms, "facts": list(facts)}
    (output / "curves.json").write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    return drawn


def _page(
    drawn: Sequence[Panel],
    names: Sequence[str],
    near: dict[str, list[Sighting]],
    alarms: dict[str, dict[str, list[str]]],
    facts: Sequence[str],
) -> str:
    machine = f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Python {platform.python_version()}"
    explained = (
        "Found: the answer was there that is the tool's evidence. At 10 requests a second is computed from the order "
        "of the runs near by: no answer earlier than its place in the order divided by 10. Near, schemathesis chooses "
        f"the number of its workers; {MS} ms away it has 32, and this suite has 32 requests at once."
    )
    parts = [
        f"# Faults found, of {len(names)}\n",
        f"`python -m tests.benchmarks {' '.join(sys.argv[1:])}`; {'; '.join([machine, *facts])}.\n",
        "![the curves](curves.svg)\n",
        f"{explained}\n",
    ]
    parts += [f"## {panel.title}\n\n{panel_table(panel)}" for panel in drawn]
    if alarms:
        rows = [
            [tool, *(str(len(found)) for found in targets.values()), "; ".join(sorted(_kinds(targets.values())))]
            for tool, targets in alarms.items()
        ]
        heads = ["complaints about fault-free targets", *next(iter(alarms.values())), "kinds"]
        parts.append(f"## False alarms\n\n{table(heads, rows)}")
    requirements = {name: faults()[name].requirement for name in names}
    parts.append(f"## Each fault, near: seconds and requests until it was seen\n\n{fault_table(requirements, near)}")
    return "\n".join(parts)


def _kinds(complaints: Iterable[list[str]]) -> set[str]:
    """`UndefinedStatusCode` of `POST /x: UndefinedStatusCode`; of Specmatic's tests the status that they expect."""
    return {one.rpartition(": ")[2].rpartition("-> ")[2].partition(" with")[0] for found in complaints for one in found}


def _figure(panel: Panel, number: int) -> Figure:
    curve = panel.curves[number]
    places = list(curve.found) or [float("nan")]
    note = f"{len(curve.found)} of {curve.total} found; a run ends at {curve.end:,.3g}"
    return seen(f"{panel.title}: {curve.tool}, until found", places, panel.unit, note)
