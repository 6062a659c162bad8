"""An SVG badge of a certificate, drawn without any font or network of its own."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from conformance.decisions.certificate import Certificate
from conformance.reports.shaping.text import clean, one_line

_WIDTH: Final = 6.6
_PAD: Final = 10
_GREEN, _GREY = "#1c6b45", "#444c56"


def badge(told: Certificate) -> str:
    """`conformance | stable, 9 of 9 operations, 50 of 52 requirements, 2 exclusions, until 2026-03-01`."""
    left = "commerce conformance"
    tier = "conformant" if told.tier == "all" else told.tier
    right = clean(one_line(f"{tier}: {told.scope}, until {told.until}", 140))
    first, second = (round(len(text) * _WIDTH + 2 * _PAD) for text in (left, right))
    until = f"certified {told.issued} until {told.until}"
    title = escape(clean(f"{told.target} is conformant ({told.tier}): {told.scope}, {until}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="22" role="img" '
        f'aria-label="{escape(left)}: {escape(right)}"><title>{title}</title>'
        f'<rect width="{first}" height="22" fill="{_GREY}"/>'
        f'<rect x="{first}" width="{second}" height="22" fill="{_GREEN}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{first / 2}" y="15">{escape(left)}</text>'
        f'<text x="{first + second / 2}" y="15">{escape(right)}</text></g></svg>\n'
    )
