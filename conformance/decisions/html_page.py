"""HTML pages in the style of the report: no network access, only our script, untrusted text escaped."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from conformance.core.messages import plural
from conformance.reports import html as report
from conformance.reports.shaping import text

_TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, **values: Any) -> str:
    """Renders a template of this package."""
    style = Markup((report.TEMPLATES / "report.css").read_text(encoding="utf-8") + _asset("pages.css"))
    script = Markup(_asset("pages.js"))
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    html_text = _environment().get_template(template).render(css=style, js=script, policy=policy, **values)
    return text.utf8(html_text)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(plural=plural, one_line=text.one_line, cut=text.cut)
    return environment


def _visible(value: Any) -> Any:
    return text.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _digest(asset: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(asset.encode()).digest()).decode()
