"""The command before a run: doctor."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Final

import click

from conformance.cli.files import is_terminal
from conformance.cli.options import name_variable, options_from, table_options, target_options

_FIRST_LINE_S: Final = 2.0
_LINE_EVERY_S: Final = 5.0
_MAX_KEYS: Final = 20
"""The number of profile keys that are shown of those that would enable checks."""


@click.command()
@target_options(required=True)
@table_options("limits", "deadline_s")
@click.option("--spend", is_flag=True, help="Also send calls that use up a listed fixture.")
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
def doctor(spend: bool, as_json: bool, **parameters: Any) -> None:
    """Prove the facts of a profile before a run: one line each, wrong ones first, with advice.

    Sends up to a few hundred requests. Ends with the checks that would be unstated, by the profile key that
    would enable them. A stated fact that no line names was not tried: the checks of a run judge it.

    Exits 0 if no fact is wrong, 2 if one is, 3 if a limit, a gateway or the deadline kept some from being proven, 4 if
    the target cannot be reached.

    \b
    Examples:
      conformance doctor --profile profiles/mine.toml
      conformance doctor --profile profiles/mine.toml --deadline 60
      conformance doctor --profile profiles/mine.toml --base-url http://127.0.0.1:8080 --limit read_only=true
    """
    import json
    from dataclasses import asdict

    from conformance.core.errors import ConformanceError, Unreachable
    from conformance.setup.doctor.doctor import examine
    from conformance.setup.doctor.facts import exit_code, format_facts, sort_facts, wrong
    from conformance.setup.plan.plan import format_unstated

    try:
        facts, plan = examine(options_from(parameters), _progress_printer(), spend=spend)
    except ConformanceError as error:
        name_variable(error, click.get_current_context())
        unreachable = isinstance(error, Unreachable)
        message = f"{error.where}: {error.message}" if unreachable else error.message
        facts, plan = [wrong("base_url" if unreachable else error.where or "profile", message, error.hint)], None
        code = error.exit_code
    else:
        code = exit_code(facts)
    if is_terminal(sys.stderr):
        click.echo("\r\033[K", err=True, nl=False)
    if as_json:
        click.echo(json.dumps({"facts": [asdict(fact) for fact in sort_facts(facts)]}, indent=1))
    else:
        for line in [*format_facts(facts), *(format_unstated(plan.applicability, _MAX_KEYS) if plan else ())]:
            click.echo(line)
    sys.exit(code)


def _progress_printer() -> Callable[[str], None]:
    """Shows progress: a live line on a terminal, otherwise a line every few seconds."""
    next_line_at = time.monotonic() + _FIRST_LINE_S

    def show(text: str) -> None:
        nonlocal next_line_at
        if is_terminal(sys.stderr):
            click.echo(f"\r\033[K{text}…", err=True, nl=False)
        elif time.monotonic() >= next_line_at:
            next_line_at = time.monotonic() + _LINE_EVERY_S
            click.echo(f"  {text}", err=True)

    return show
