"""How many faults a tool has found after so many seconds or requests: from sightings to curves and tables, purely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

PACE: Final = 10.0
"""Requests a second that a slow target allows."""
SECONDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500)
REQUESTS: Final = (10, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True)
class Sighting:
    """What one run of a tool said of one fault. Without evidence, `found_s` and `found_requests` are None."""

    fault: str
    found_s: float | None
    """Seconds from the start of the process to the answer that shows the fault."""
    found_requests: int | None
    """The number of answers until then, that one included."""
    run_s: float
    run_requests: int

    @property
    def paced(self) -> Sighting:
        """The same run at PACE requests a second, computed: no request earlier than its place in the order allows."""
        found = None
        if self.found_s is not None and self.found_requests is not None:
            found = max(self.found_s, self.found_requests / PACE)
        run_s = max(self.run_s, self.run_requests / PACE)
        return Sighting(self.fault, found, self.found_requests, run_s, self.run_requests)


@dataclass(frozen=True)
class Curve:
    """One tool under one condition. `found` is sorted; `end` is the median end of a run."""

    tool: str
    found: tuple[float, ...]
    total: int
    end: float

    def count(self, limit: float) -> int:
        """The faults that are found after `limit` seconds or requests."""
        return sum(one <= limit for one in self.found)

    @property
    def steps(self) -> list[tuple[float, float]]:
        """The corners of the stairs: (seconds or requests, share of the faults), from the first fault to the end."""
        corners: list[tuple[float, float]] = []
        share = 0.0
        for number, place in enumerate(self.found, 1):
            corners += [(place, share), (place, number / self.total)]
            share = number / self.total
        last = max([self.end, *self.found])
        return [*corners, (last, share)]


@dataclass(frozen=True)
class Panel:
    """Curves with one axis in common."""

    title: str
    unit: str
    marks: tuple[int, ...]
    """Places on the axis at which the table counts."""
    curves: tuple[Curve, ...]


def in_seconds(tool: str, sightings: Sequence[Sighting]) -> Curve:
    found = sorted(one.found_s for one in sightings if one.found_s is not None)
    return Curve(tool, tuple(found), len(sightings), median(one.run_s for one in sightings))


def in_requests(tool: str, sightings: Sequence[Sighting]) -> Curve:
    found = sorted(float(one.found_requests) for one in sightings if one.found_requests is not None)
    return Curve(tool, tuple(found), len(sightings), median(one.run_requests for one in sightings))


def panels(
    near: Mapping[str, Sequence[Sighting]], far: Mapping[str, Sequence[Sighting]], distance_ms: int
) -> list[Panel]:
    """The sightings by tool, near and `distance_ms` away, as the curves that are drawn."""
    paced = {tool: [one.paced for one in sightings] for tool, sightings in near.items()}
    by_seconds = {
        "near (0 ms)": near,
        f"{distance_ms} ms away": far,
        f"at {PACE:g} requests a second (computed)": paced,
    }
    found = [
        Panel(title, "seconds", SECONDS, tuple(in_seconds(tool, rows) for tool, rows in tools.items()))
        for title, tools in by_seconds.items()
    ]
    requests = tuple(in_requests(tool, rows) for tool, rows in near.items())
    return [*found, Panel("near, by requests", "requests", REQUESTS, requests)]


def panel_table(panel: Panel) -> str:
    """As Markdown: how many faults each tool has found at each mark, in all, and when its run ends."""
    unit = "s" if panel.unit == "seconds" else ""
    heads = [f"{mark:,} {unit}".strip() for mark in panel.marks]
    rows = []
    for curve in panel.curves:
        end = f"{curve.end:,.1f} s" if unit else f"{curve.end:,.0f}"
        counts = (str(curve.count(mark)) for mark in panel.marks)
        rows.append([curve.tool, *counts, f"{len(curve.found)} of {curve.total}", end])
    return table(["faults found after", *heads, "in all", "a run ends (median)"], rows)


def fault_table(requirements: Mapping[str, str], tools: Mapping[str, Sequence[Sighting]]) -> str:
    """As Markdown: by fault, when each tool saw it. `requirements`: what each fault violates."""
    rows = [[fault, requirement] for fault, requirement in requirements.items()]
    for sightings in tools.values():
        by_fault = {one.fault: one for one in sightings}
        for row in rows:
            row.append(_when(by_fault.get(row[0])))
    return table(["fault", "requirement", *tools], rows)


def _when(sighting: Sighting | None) -> str:
    if sighting is None:
        return "not run"
    if sighting.found_s is None or sighting.found_requests is None:
        return "—"
    return f"{sighting.found_s:.1f} s, {sighting.found_requests:,}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, the first column to the left."""
    lines = [heads, ["---", *("---:" for _ in heads[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
