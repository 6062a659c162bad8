"""`report.html`: the whole run on one page without network access.

All content is in the markup; the script only filters, opens details and copies. Text of the target is escaped, its
control and bidi characters are shown by name, and a Content-Security-Policy with hashes permits no other script or
style.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from conformance.core.messages import plural
from conformance.core.model import Run
from conformance.core.package import cache_directory
from conformance.reports.page import evidence, view
from conformance.reports.shaping import counts, grouping, text, traffic
from conformance.reports.shaping.bounded_run import bound_texts

FILE = "report.html"
LIMIT = 1_500_000
SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)
_LOWEST_SHARE = SHARES[-1]
TEMPLATES = Path(__file__).parent / "page" / "templates"


def write_file(run: Run, directory: Path) -> Path:
    return text.write(directory / FILE, render(run))


def render(run: Run) -> str:
    """The page, with texts and evidence shortened until it is at most `LIMIT` bytes."""
    run = bound_texts(run)
    for share in SHARES:
        page = _render(run, share)
        if text.size(page) <= LIMIT:
            break
    return page


def _render(run: Run, share: float) -> str:
    table = view.rows(run)
    shown_rows = view.ROWS if share > _LOWEST_SHARE else view.FEWEST_ROWS
    rows = table[:shown_rows]
    template = _environment().get_template("report.html.j2")
    return template.render(
        run=run,
        table=rows,
        left_out=max(0, len(table) - shown_rows),
        failures=view.failures(run, table, share),
        anchors={id(row.result): row.id for row in rows},
        operations=view.columns(run),
        data=evidence.data(run, [(row.id, row.result) for row in rows], share),
        said=int(2_000 * share),
        share=share,
        css=_asset("report.css"),
        js=_asset("report.js"),
        policy=_policy(),
        seconds=grouping.seconds(run),
    )


class _TemplateCache(FileSystemBytecodeCache):
    """Compiled templates in the user's cache folder; errors of that folder are ignored."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            Path(self.directory).mkdir(mode=0o700, parents=True, exist_ok=True)
            super().dump_bytecode(bucket)

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        bytecode_cache=_TemplateCache(str(cache_directory() / "templates")),
        autoescape=True,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(view=view, counts=counts, grouping=grouping, traffic=traffic, OUTCOMES=grouping.OUTCOMES)
    environment.filters.update(
        plural=plural,
        marked=_highlight,
        ms=text.milliseconds,
        key=id,
        coded=_code,
        cut=text.cut,
        one_line=text.one_line,
    )
    return environment


def _visible(value: Any) -> Any:
    """Applied to every value that the template prints, before it is escaped."""
    return text.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _highlight(lines: Sequence[str], marked: Collection[int]) -> Markup:
    """The lines with those marked; each is escaped here as the environment escapes other values."""
    return Markup("\n").join(_mark(text.visible(line), is_marked=at in marked) for at, line in enumerate(lines))


def _code(value: str) -> Markup:
    """The text with each part between backticks as code."""
    parts = (Markup("<code>{}</code>" if at % 2 else "{}").format(part) for at, part in enumerate(value.split("`")))
    return Markup("").join(parts)


def _mark(line: str, *, is_marked: bool) -> Markup:
    if not is_marked:
        return escape(line)
    words = line.lstrip()
    return Markup("{}<mark>{}</mark>").format(line[: len(line) - len(words)], words)


@cache
def _asset(name: str) -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


@cache
def _policy() -> str:
    style, script = (_digest(_asset(name)) for name in ("report.css", "report.js"))
    other_directives = "img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; style-src '{style}'; script-src '{script}'; {other_directives}"


def _digest(asset: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(asset.encode()).digest()).decode()
