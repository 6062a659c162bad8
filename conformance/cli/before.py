"""The command before a run: doctor."""

from __future__ import annotations

import sys
from typing import Any

import click

from conformance.cli.options import options_from, table_options, target_options


@click.command()
@target_options(required=True)
@table_options("limits")
@click.option("--spend", is_flag=True, help="Also send calls that use up a listed fixture.")
@click.option("--json", "as_json", is_flag=True, help="The facts as JSON.")
def doctor(spend: bool, as_json: bool, **given: Any) -> None:
    """Prove the set-up before anything is judged: a line a fact, what is wrong first, with what to do.

    Sends a few hundred requests, as a run would. Ends with what would be unstated, and the profile key that would
    enable it. Exits 0 where nothing is wrong, 2 where something is, 4 where the target cannot be reached.

    \b
    Examples:
      conformance doctor --profile profiles/mine.toml
      conformance doctor --profile profiles/mine.toml --base-url http://127.0.0.1:8080 --limit read_only=true
    """
    import json
    from dataclasses import asdict

    from conformance.core.errors import ConformanceError, Unreachable
    from conformance.setup.doctor.doctor import examined
    from conformance.setup.doctor.facts import lines, ordered, wrong
    from conformance.setup.plan.plan import enabling

    def told(stage: str) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r\033[Klooking at {stage}…", err=True, nl=False)

    try:
        facts, plan = examined(options_from(given), told, spend=spend)
    except ConformanceError as error:
        unreachable = isinstance(error, Unreachable)
        what = f"{error.where}: {error.message}" if unreachable else error.message
        facts, plan = [wrong("base_url" if unreachable else error.where or "profile", what, error.hint)], None
        code = error.exit_code
    else:
        code = 2 if any(fact.state == "wrong" for fact in facts) else 0
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    if as_json:
        click.echo(json.dumps({"facts": [asdict(fact) for fact in ordered(facts)]}, indent=1))
    else:
        for line in [*lines(facts), *(enabling(plan.what) if plan else ())]:
            click.echo(line)
    sys.exit(code)
