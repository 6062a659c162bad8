"""The command line. A command imports its implementation when it is called."""

from __future__ import annotations

import atexit
import gc
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from conformance.cli import certificates, contracts, doctor, finished_runs, profile_drafts
from conformance.cli import gate as gates
from conformance.cli.files import echo_lines, echo_wrapped, require_writable, write_text
from conformance.cli.observe import observe
from conformance.cli.options import drop_environment, missing_option, options_from, run_options, target_options
from conformance.cli.shell import CommandGroup
from conformance.core.defaults import DEPTHS, MAX_WORKERS
from conformance.core.errors import UsageError
from conformance.core.gc_tuning import reduce_until_exit
from conformance.core.package import cache_directory
from conformance.core.run_options import RunOptions

__all__ = ["main"]

_PORT = click.IntRange(0, 65_535)

_EXIT_CODES = """\b
Exit codes:
  0 conformant    1 nonconformant    2 bad command line or profile
  3 incomplete    4 target unreachable    5 the suite itself erred
  130 interrupted, with a report of what ran
"""


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="commerce-conformance", prog_name="conformance")
def main() -> None:
    """Certify implementations of the Commerce Service public interface.

    \b
    Try it on the embedded reference service:
      conformance demo
    Then on your own implementation, described by a profile:
      conformance init        # prompts for the base URL and a key, then drafts profiles/mine.toml
      conformance run --profile profiles/mine.toml --base-url http://127.0.0.1:8080
    """
    # keeps hypothesis from writing to the current folder and from loading plugins of other packages
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache_directory() / "hypothesis"))
    os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
    atexit.register(gc.freeze)  # skips the last collection, which would visit every object of a run


@main.command(epilog=_EXIT_CODES)
@target_options(required=False, several=True)
@click.option("--plan", is_flag=True, help="Print what the run would send, without sending it.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="RUN_DIR",
    help="Continue an interrupted run in its folder.",
)
@run_options
@click.pass_context
def run(ctx: click.Context, /, plan: bool, resume: Path | None, profile: tuple[Path, ...], **parameters: Any) -> None:
    """Certify a running service.

    \b
    Examples:
      conformance run --profile profiles/mine.toml
      conformance run --profile profiles/mine.toml --base-url https://staging.example/shop
      conformance run --profile profiles/mine.toml --plan      # sends nothing
      conformance run --profile profiles/mine.toml --read-only --rate 5
      conformance run --profile profiles/mine.toml -m stable --fail-fast
      conformance run --profile profiles/mine.toml -k "AUTH-1 and getApiKeyIdentity"
      conformance run --resume reports/mine-20260102-030405   # runs the checks without a result
      conformance run --profile eu.toml --profile us.toml     # two targets, one table at the end
      conformance run --profile profiles/mine.toml --shard 2/4 -q   # one of the shards that `merge` joins
      conformance run --profile profiles/mine.toml --tx ssh=one.example --tx ssh=two.example
      conformance run --profile profiles/mine.toml -q         # the verdict alone, in one line
      conformance run --profile profiles/mine.toml -v         # each check, the evidence of every cause, every gap
    """
    if resume is not None:
        parameters = drop_environment({**parameters, "profile": profile}, ctx)
        profile = parameters.pop("profile") or ()
    if not profile and resume is None:
        raise click.UsageError(missing_option("--profile"))
    reduce_until_exit()  # what is imported from here on lives as long as the process
    _run(plan, resume, profile, options_from(parameters))


def _run(plan: bool, resume: Path | None, profile: tuple[Path, ...], options: RunOptions) -> None:
    from conformance.runner import command as run_command
    from conformance.runner import many_targets

    profiles = many_targets.profiles_in(profile)
    options_per_target = many_targets.options_of_each(profiles, options) if profiles else [options]
    if plan:
        for target in options_per_target:
            if len(options_per_target) > 1:
                click.echo(f"{target.profile}:")
            for line in run_command.plan(target):
                click.echo(line)
        return
    if len(options_per_target) > 1:
        sys.exit(many_targets.run_all(profiles, options, resume=resume))
    sys.exit(run_command.run(options_per_target[0], resume=resume))


@main.command(epilog=_EXIT_CODES)
@click.option(
    "--variant", default="", metavar="ID", help="Use this variant: another legitimate reading of the interface."
)
@click.option("--fault", default="", metavar="ID", help="Seed this fault in the reference service.")
@run_options
def demo(variant: str, fault: str, **parameters: Any) -> None:
    """Certify the embedded reference service, on free loopback ports.

    \b
    Examples:
      conformance demo
      conformance demo --fault F031          # shows a failing run
      conformance demo --report-dir /tmp/demo
      conformance demo -q                    # the verdict alone, in one line
      conformance demo -v                    # each check when it ends
    """
    from conformance.core import interrupts
    from conformance.runner import command as run_command
    from conformance.runner import embedded_reference

    reduce_until_exit()
    repeat_command = [
        "conformance",
        "demo",
        *(f"--{kind}={name}" for kind, name in (("variant", variant), ("fault", fault)) if name),
    ]
    with (
        interrupts.raise_on_signals(),
        embedded_reference.stated_profile(variant=variant, fault=fault) as profile,
        embedded_reference.reference(variant=variant, fault=fault) as service,
        embedded_reference.environment(service.environment),
    ):
        options = options_from(
            parameters,
            profile=profile,
            base_url=service.base_url,
            variables={"control": service.control_url},
            command=shlex.join(repeat_command),
        )
        status = run_command.run(options)
    sys.exit(status)


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=_PORT, metavar="N", default=8765, help="Port of the public interface; 0 selects a free one [8765]."
)
@click.option(
    "--control-port",
    type=_PORT,
    metavar="N",
    default=8766,
    help="Port of the control app; 0 selects a free one [8766].",
)
@click.option("--database", metavar="URL", help="A SQLAlchemy URL, such as sqlite:///shop.db [SQLite in memory].")
@click.option(
    "--workers",
    type=click.IntRange(1, MAX_WORKERS),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of processes, which share the ports and the database.",
)
@click.option("--variant", multiple=True, metavar="ID", help="Another legitimate reading of the interface; repeatable.")
@click.option("--fault", multiple=True, metavar="ID", help="A seeded defect; repeatable.")
def serve(
    host: str,
    port: int,
    control_port: int,
    database: str | None,
    workers: int,
    variant: tuple[str, ...],
    fault: tuple[str, ...],
) -> None:
    """Run the reference service until Ctrl-C.

    Prints its addresses and the environment variables that profiles/reference.toml reads its keys from. Every variant
    and fault is also served below its own path prefix, such as http://127.0.0.1:8765/F031. The control app provides
    fixtures and ground truth, below the same prefix: `--var control=http://127.0.0.1:8766/F031`.

    \b
    Examples:
      conformance serve
      conformance serve --port 9000 --control-port 9001 --database sqlite:///shop.db
      conformance serve --workers 4 --database postgresql+psycopg://shop@127.0.0.1/shop   # pip install '.[postgresql]'
      conformance serve --fault F031
    """
    from conformance.reference.command import serve as serve_reference

    sys.exit(serve_reference(port, control_port, database, variant, fault, host, workers=workers))


@main.command(name="list")
@click.argument("words", nargs=-1)
@click.option(
    "--level", type=click.Choice(["required", "declared", "recommended", "observed"]), help="Only this level."
)
@click.option("--operation", metavar="ID", help="Only requirements of this operation.")
@click.option("--checks", is_flag=True, help="List the checks of each requirement too.")
@click.option("--faults", "show_faults", is_flag=True, help="List the faults and variants of the reference service.")
def list_(words: tuple[str, ...], level: str | None, operation: str | None, checks: bool, show_faults: bool) -> None:
    """List requirements, and the checks that judge them.

    WORDS select the entries whose id or text contains all of them.

    \b
    Examples:
      conformance list
      conformance list IDEM --checks
      conformance list --level required --operation checkoutPublicCart
      conformance list --faults IDEM-4     # the ids that `demo` and `faults` take
    """
    if show_faults:
        for option, value in (("--level", level), ("--operation", operation), ("--checks", checks)):
            if value:
                hint = "words select faults: `conformance list --faults IDEM-4`"
                raise UsageError("cannot be combined with --faults", where=option, hint=hint)
        from conformance.reference.registry import listing as fault_listing

        for line in fault_listing(words):
            click.echo(line)
        return
    from conformance.checks.catalog import listing

    for line in listing(words, level=level, operation=operation, checks=checks):
        click.echo(line)


@main.command()
@click.argument("name", metavar="ID")
@click.option(
    "--run", "run_dir", type=click.Path(path_type=Path), metavar="RUN_DIR", help="Show its failures in this run."
)
def explain(name: str, run_dir: Path | None) -> None:
    """Explain a requirement or a check: statement, section, level, how it is checked, the facts that it needs.

    The ID profile.KEY explains a fact of the profile: its type, bounds and default; profile alone lists every fact.

    With --run: its results that did not pass, with clause, exchanges, a curl line and the command that repeats them.
    ID may then also be a row's id or a failure's signature from the report.

    \b
    Examples:
      conformance explain IDEM-4
      conformance explain a_ticket_is_consumed_once
      conformance explain profile.idempotency.format
      conformance explain profile
      conformance explain IDEM-4 --run reports/mine-20260102-030405
    """
    from conformance.checks.catalog import explanation

    if not name.strip():
        raise UsageError("the ID is empty", hint="`conformance list --checks` shows all; is a variable not set?")
    if run_dir is None:
        echo_wrapped(explanation(name), hang=16)
        return
    from conformance.decisions.explain_failure import failure_lines
    from conformance.judge.assemble import load

    echo_lines(failure_lines(load(run_dir), name))


@main.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "all_subjects", is_flag=True, help="All faults, all variants and 300 random targets.")
@click.option("--variants", is_flag=True, help="Every variant too; each must be conformant.")
@click.option("--drawn", "count", type=click.IntRange(0, 10_000), default=0, metavar="N", help="N random targets.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="The seed of --drawn.")
@click.option("--draw", "choices", multiple=True, metavar="JSON", help="A random target by its choices; repeatable.")
@click.option("--depth", type=click.Choice(DEPTHS), help="The depth of each run against a fault or a variant.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1, 64), help="Targets judged in parallel.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the table as JSON.")
@click.option("--record", type=click.Path(path_type=Path), metavar="FILE", help="Write what kills each fault, as JSON.")
def faults(
    ids: tuple[str, ...],
    all_subjects: bool,
    variants: bool,
    count: int,
    seed: int,
    choices: tuple[str, ...],
    depth: str | None,
    jobs: int,
    json_file: Path | None,
    record: Path | None,
) -> None:
    """Run the kill matrix: the suite against every seeded fault of the reference service.

    Prints for each fault whether it was killed, the requests and seconds, and which other requirements failed. Exits 1
    if a fault survived or a variant was not conformant.

    A random target combines legitimate readings, with the profile that its owner would write; it must be conformant
    too. With --drawn or --draw, faults are judged only if they are named.

    \b
    Examples:
      conformance faults
      conformance faults F031 F065 D07
      conformance faults --all --json matrix.json --record conformance/checks/kills.json
      conformance faults --drawn 20 --seed 7
      conformance faults --draw '{"carrier": "body", "id_look": "number"}'
    """
    from conformance.core import interrupts
    from conformance.runner import kill_matrix as matrix

    judged_rows = []
    count = count or (matrix.RANDOM_TARGETS if all_subjects else 0)
    only_random = bool(count or choices) and not all_subjects
    subjects = matrix.select_subjects(ids, with_variants=variants or all_subjects, only_random=only_random)
    require_writable(json_file)
    require_writable(record)
    subjects = matrix.interleave(subjects, matrix.random_subjects(count, seed, choices))
    try:
        with interrupts.raise_on_signals():
            for row in matrix.judge_subjects(subjects, jobs, depth or ""):
                judged_rows.append(row)
                click.echo(matrix.format_row(row))
    finally:  # an interrupted matrix has a table too
        summary = matrix.summarize(judged_rows)
        click.echo(matrix.format_summary(summary))
        _write_json(json_file, summary)
    _write_json(record, matrix.kills_record(judged_rows))
    sys.exit(0 if all(row.fine for row in judged_rows) else 1)


def _write_json(file: Path | None, value: object) -> None:
    import json

    write_text(file, json.dumps(value, indent=1) + "\n")


for command in (
    doctor.doctor,
    contracts.openapi,
    gates.gate,
    observe,
    *profile_drafts.COMMANDS,
    *certificates.COMMANDS,
    *finished_runs.COMMANDS,
):
    main.add_command(command)
