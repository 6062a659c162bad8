"""Curves as one SVG: a panel for each condition, a stair for each tool, a legend. Readable in light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from tests.benchmarks.curve_points import Curve, Panel

WIDTH, HEIGHT = 460, 300
"""Of a panel, in pixels; its margins are within."""
LEFT, RIGHT, TOP, BOTTOM = 52, 26, 34, 46
LEGEND: Final = 64
"""The height above the panels."""
COLUMNS: Final = 2
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
DASHES: Final = ("", "7 4", "2 3", "10 3 2 3", "1 5")
"""Tools differ in their dashes too, for who cannot tell their colours apart."""
_STYLE: Final = """
:root { color-scheme: light dark }
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 13px }
.back { fill: #ffffff } .grid { stroke: #d1d9e0 } .axis { stroke: #59636e }
.tool { fill: none; stroke-width: 2.2; stroke-linejoin: round }
.tool0 { stroke: #0550ae } .tool1 { stroke: #0a7d33 } .tool2 { stroke: #bc4c00 } .tool3 { stroke: #8250df }
.tool4 { stroke: #a40e26 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.back { fill: #0d1117 } .grid { stroke: #30363d } .axis { stroke: #9198a1 }
.tool0 { stroke: #79b8ff } .tool1 { stroke: #56d364 } .tool2 { stroke: #ffa657 } .tool3 { stroke: #d2a8ff }
.tool4 { stroke: #ff7b72 }
}
"""


def svg(title: str, panels: Sequence[Panel]) -> str:
    """The whole picture. All panels have the same tools, in the same order."""
    rows = math.ceil(len(panels) / COLUMNS)
    width, height = WIDTH * COLUMNS, LEGEND + HEIGHT * rows
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t">',
        f'<title id="t">{escape(title)}</title>',
        f"<style>{_STYLE}</style>",
        f'<rect class="back" width="{width}" height="{height}"/>',
        f'<text class="title" x="{LEFT}" y="22">{escape(title)}</text>',
        legend([curve.tool for curve in panels[0].curves] if panels else []),
    ]
    for number, panel in enumerate(panels):
        x, y = WIDTH * (number % COLUMNS), LEGEND + HEIGHT * (number // COLUMNS)
        parts.append(f'<g transform="translate({x} {y})">\n{drawn_panel(panel)}\n</g>')
    return "\n".join([*parts, "</svg>", ""])


def legend(tools: Sequence[str]) -> str:
    parts = []
    x = LEFT
    for number, tool in enumerate(tools):
        parts.append(f'<path d="M{x} 46 h28" {_look(number)}/><text x="{x + 34}" y="50">{escape(tool)}</text>')
        x += 34 + 8 * len(tool) + 16
    return "\n".join(parts)


def drawn_panel(panel: Panel) -> str:
    low, high = bounds(panel.curves)
    lines = [polyline(curve, number, low, high) for number, curve in enumerate(panel.curves)]
    heading = f'<text class="title" x="{LEFT}" y="{TOP - 12}">{escape(panel.title)}</text>'
    return "\n".join([heading, axes(low, high, panel.unit), *lines])


def bounds(curves: Sequence[Curve]) -> tuple[float, float]:
    """The powers of ten, or twice or five times one, that enclose all corners of the curves."""
    places = [x for curve in curves for x, _ in curve.steps if x > 0]
    if not places:
        return 1.0, 10.0
    low = max(mark for mark in _marks() if mark <= min(places))
    high = min(mark for mark in _marks() if mark >= max(places))
    return low, high if high > low else 10 * low


def ticks(low: float, high: float) -> list[float]:
    """Of a logarithmic axis: 1, 2 and 5 times the powers of ten, or the powers alone where that were too many."""
    found = [mark for mark in _marks() if low <= mark <= high]
    if len(found) > 9:
        found = [mark for mark in found if math.log10(mark).is_integer()]
    return found


def _marks() -> list[float]:
    return [float(f"{digit}e{power}") for power in range(-3, 7) for digit in (1, 2, 5)]


def place_x(value: float, low: float, high: float) -> float:
    """The pixel of a value on the logarithmic axis."""
    share = math.log(max(value, low) / low) / math.log(high / low)
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def place_y(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def axes(low: float, high: float, unit: str) -> str:
    parts = []
    for share in SHARES:
        y = place_y(share)
        parts.append(f'<path class="grid" d="M{LEFT} {y} H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{share:.0%}</text>')
    for mark in ticks(low, high):
        x = place_x(mark, low, high)
        parts.append(f'<path class="grid" d="M{x} {TOP} V{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{mark:,g}</text>')
    parts.append(f'<path class="axis" fill="none" d="M{LEFT} {TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:g}" y="{HEIGHT - 12}" text-anchor="middle">{escape(unit)}</text>')
    return "\n".join(parts)


def polyline(curve: Curve, number: int, low: float, high: float) -> str:
    """The stair of one tool; where it stops, its run ends."""
    corners = [(low, 0.0), *curve.steps]
    points = " ".join(f"{place_x(x, low, high):g},{place_y(y):g}" for x, y in corners)
    return f'<polyline points="{points}" {_look(number)}><title>{escape(curve.tool)}</title></polyline>'


def _look(number: int) -> str:
    dash = DASHES[number % len(DASHES)]
    return f'class="tool tool{number % len(DASHES)}"' + (f' stroke-dasharray="{dash}"' if dash else "")
