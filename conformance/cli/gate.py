"""The command gate: the decision on a release."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from conformance.cli.files import RUN_DIR, echo_lines, echo_wrapped, file_option, today, write_text
from conformance.cli.options import verbosity_options
from conformance.core.defaults import DEPTHS


@click.command()
@RUN_DIR
@click.option("--tier", type=click.Choice(["stable", "candidate", "all"]), help="The operations that count [all].")
@click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="RUN_DIR", help="Also fail on regressions from this run."
)
@click.option(
    "--allow-incomplete", multiple=True, metavar="ID", help="A requirement that need not be judged; repeatable."
)
@file_option("--policy", help="A TOML file with tier, allow_incomplete, strict_waivers and [[waivers]].")
@click.option("--depth", type=click.Choice(DEPTHS), help="quick: let a run in quick depth pass if nothing was found.")
@click.option("--observed", is_flag=True, help="Let an observed run pass if no violation is new.")
@click.option("--strict-waivers", is_flag=True, help="Also fail on a waiver that is expired or excuses nothing.")
@click.option(
    "--format", "output_format", type=click.Choice(["auto", "text", "github"]), default="auto", help="Output format."
)
@file_option("--json", "json_file", help="Also write the decision to this file.")
@verbosity_options(quiet="Print only the answer.", verbose="Print every result of each cause.")
def gate(
    run_dir: Path,
    tier: str | None,
    baseline: Path | None,
    allow_incomplete: tuple[str, ...],
    policy: Path | None,
    depth: str | None,
    observed: bool,
    strict_waivers: bool,
    output_format: str,
    json_file: Path | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Decide whether a run lets a release pass. The exit code is the decision.

    0 passes, 1 a failure, or with --baseline a regression, 3 something required was not judged, 5 the suite erred. The
    decision is the run's own verdict and its scope; what narrows it (a tier, allowed requirements, waivers) is printed.
    With --depth quick a run in quick depth passes if nothing was found, which is not a verdict; with --observed an
    observed run if it has no violation that the baseline does not have.

    \b
    Examples:
      conformance gate reports/mine-20260102-030405 --tier stable --baseline reports/released
      conformance gate reports/now --policy gate.toml --strict-waivers --depth quick
      conformance gate reports/today --observed --baseline reports/yesterday
      conformance gate reports/now -q      # the answer, in one line; with -v every result of each cause
    """
    from conformance.decisions import gate_report
    from conformance.decisions.gate import ALL, Policy, decide
    from conformance.decisions.gate_policy import known_requirements, load_policy
    from conformance.judge.assemble import load
    from conformance.reports.shaping.text import dumps, map_strings, utf8

    document = load_policy(policy) if policy else {}
    effective_policy = Policy(
        tier=tier or document.get("tier", ALL),
        allow_incomplete=frozenset((*document.get("allow_incomplete", ()), *known_requirements(allow_incomplete))),
        strict_waivers=strict_waivers or document.get("strict_waivers", False),
        waivers=document.get("waivers", ()),
        depth=depth or document.get("depth", ""),
        observed=observed,
    )
    run = load(run_dir)
    decision = decide(run, effective_policy, load(baseline) if baseline else None, today=today())
    if output_format == "github" or (output_format == "auto" and os.environ.get("GITHUB_ACTIONS") == "true"):
        echo_lines(gate_report.workflow_commands(decision, run))
    echo_wrapped([gate_report.answer(decision, run)] if quiet else gate_report.lines(decision, run, verbose=verbose))
    write_text(json_file, dumps(map_strings(gate_report.document(decision, run), utf8)))
    sys.exit(decision.exit_code)
