"""The history of targets as lines, JSON and one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from conformance.core.outcomes import OPEN_OUTCOMES
from conformance.decisions.history import Trend
from conformance.decisions.html_page import page
from conformance.reports.shaping.text import clean, dumps, map_strings, utf8

_HEAD = f"  {'began':20}  {'verdict':13}  {'failed':>6}  {'open':>5}  {'requests':>8}  {'p50':>8}  {'p99':>8}  changed"


def lines(trends: Sequence[Trend], unread: Sequence[str] = ()) -> Iterator[str]:
    """A table for each target, the newest run last."""
    for trend in trends:
        yield f"{clean(trend.profile)}  {clean(trend.target)}"
        yield _HEAD
        for point in trend.points:
            counts = point.counts
            open_count = sum(counts.get(outcome, 0) for outcome in OPEN_OUTCOMES)
            p50, p99 = (f"{value:.1f} ms" if value is not None else "–" for value in (point.p50_ms, point.p99_ms))
            changes = [f"+{name}" for name in point.newly_failed] + [f"-{name}" for name in point.newly_passed]
            yield (
                f"  {point.started_at:20}  {point.verdict:13}  {counts.get('failed', 0):6,}  {open_count:5,}  "
                f"{point.requests:8,}  {p50:>8}  {p99:>8}  {' '.join(changes[:8])}".rstrip()
            )
        yield ""
    for problem in unread:
        yield f"not read: {clean(problem)}"


def as_json(trends: Sequence[Trend], unread: Sequence[str] = ()) -> str:
    document = {"schema_version": 1, "targets": [to_builtins(trend) for trend in trends], "unread": list(unread)}
    return dumps(map_strings(document, utf8))


def html(trends: Sequence[Trend], unread: Sequence[str] = ()) -> str:
    """One page with a table and a curve for each target, and the runs that could not be read."""
    return page("history.html.j2", trends=trends, unread=[clean(problem) for problem in unread], curve=_curve)


def _curve(trend: Trend, name: str) -> str:
    """The points of a polyline in a box of 100 x 40; empty with fewer than two values."""
    values: list[Any] = [getattr(point, name) for point in trend.points if getattr(point, name) is not None]
    if len(values) < 2:
        return ""
    maximum = max(values) or 1
    return " ".join(f"{100 * i / (len(values) - 1):.1f},{38 - 36 * v / maximum:.1f}" for i, v in enumerate(values))
