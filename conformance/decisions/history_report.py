"""The history of targets as lines, JSON and one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from conformance.core.messages import plural
from conformance.decisions.history import Trend
from conformance.decisions.html_page import page
from conformance.decisions.run_folders import page_link
from conformance.reports.shaping.text import clean, dumps, map_strings, utf8

_HEAD = (
    f"  {'began':20}  {'verdict':13}  {'failed':>6}  {'not judged':>10}  "
    f"{'requests':>8}  {'p50':>8}  {'p99':>8}  changed"
)


def lines(trends: Sequence[Trend], unread: Sequence[str] = ()) -> Iterator[str]:
    """A table for each target, the newest run last."""
    for trend in trends:
        yield f"{clean(trend.profile)}  {clean(_addresses(trend))}"
        if trend.regressions:
            yield f"  regressed in the last run: {' '.join(trend.regressions[:8])}"
        yield _HEAD
        for point in trend.points:
            p50, p99 = (f"{value:.1f} ms" if value is not None else "–" for value in (point.p50_ms, point.p99_ms))
            changes = [f"+{name}" for name in point.newly_failed] + [f"-{name}" for name in point.newly_passed]
            yield (
                f"  {point.started_at:20}  {point.verdict:13}  {point.failed:6,}  {point.open:10,}  "
                f"{point.requests:8,}  {p50:>8}  {p99:>8}  {' '.join(changes[:8])}".rstrip()
            )
        yield ""
    for problem in unread:
        yield f"not read: {clean(problem)}"


def as_json(trends: Sequence[Trend], unread: Sequence[str] = ()) -> str:
    document = {"schema_version": 1, "targets": [to_builtins(trend) for trend in trends], "unread": list(unread)}
    return dumps(map_strings(document, utf8))


def html(
    trends: Sequence[Trend], unread: Sequence[str] = (), folder: Path | None = None, file: Path | None = None
) -> str:
    """One page with a table and a curve for each target, those that regressed first, and the runs that were not read.

    `folder`: the reports folder, `file`: the page; both are needed for links to the runs.
    """

    def link(name: str) -> str:
        return page_link(folder / name, file) if folder else ""

    return page(
        "history.html.j2",
        trends=trends,
        regressed=[trend for trend in trends if trend.regressions],
        unread=[clean(problem) for problem in unread],
        curve=_curve,
        addresses=_addresses,
        link=link,
    )


def _addresses(trend: Trend) -> str:
    others = len(trend.targets) - 1
    return trend.target + (f" and {plural(others, 'other address', 'other addresses')}" if others else "")


def _curve(trend: Trend, name: str) -> str:
    """The points of a polyline in a box of 100 x 40, of the last 60 runs; empty with fewer than two values."""
    values: list[Any] = [value for point in trend.points[-60:] if (value := getattr(point, name)) is not None]
    if len(values) < 2:
        return ""
    maximum = max(values) or 1
    return " ".join(f"{100 * i / (len(values) - 1):.1f},{38 - 36 * v / maximum:.1f}" for i, v in enumerate(values))
