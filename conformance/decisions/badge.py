"""An SVG badge of a certificate, without fonts or network access."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from conformance.decisions.certificate import Certificate
from conformance.reports.shaping.text import clean, one_line

_WIDTH: Final = 6.6
_PAD: Final = 10
_GREEN, _GREY = "#1c6b45", "#444c56"


def badge(certificate: Certificate) -> str:
    """`conformance | stable, 9 of 9 operations, 50 of 52 requirements, 2 exclusions, until 2026-03-01`."""
    label = "commerce conformance"
    tier = "conformant" if certificate.tier == "all" else certificate.tier
    message = clean(one_line(f"{tier}: {certificate.scope}, until {certificate.until}", 140))
    first, second = (round(len(text) * _WIDTH + 2 * _PAD) for text in (label, message))
    until = f"certified {certificate.issued} until {certificate.until}"
    title = escape(clean(f"{certificate.target} is conformant ({certificate.tier}): {certificate.scope}, {until}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="22" role="img" '
        f'aria-label="{escape(label)}: {escape(message)}"><title>{title}</title>'
        f'<rect width="{first}" height="22" fill="{_GREY}"/>'
        f'<rect x="{first}" width="{second}" height="22" fill="{_GREEN}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{first / 2}" y="15">{escape(label)}</text>'
        f'<text x="{first + second / 2}" y="15">{escape(message)}</text></g></svg>\n'
    )
