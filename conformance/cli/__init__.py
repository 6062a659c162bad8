"""The command line: commands and nothing else. What they do is imported when they are called."""

from __future__ import annotations

import atexit
import gc
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from conformance.cli import after, before, setting_up
from conformance.cli.options import options_from, run_options, target_options, without_environment
from conformance.cli.shell import Commands
from conformance.core.defaults import MAX_WORKERS
from conformance.core.gc_tuning import reduce_collections
from conformance.core.package import cache_directory
from conformance.core.run_options import RunOptions

__all__ = ["main"]

_EXIT_CODES = """\b
Exit codes:
  0 conformant    1 nonconformant    2 bad command line or profile
  3 incomplete    4 target unreachable    5 the suite itself erred
  130 interrupted, with a report of what ran
"""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="commerce-conformance", prog_name="conformance")
def main() -> None:
    """Certifies implementations of the Commerce Service public interface.

    \b
    Try it on the embedded reference service:
      conformance demo
    Then on your own, described by a profile:
      conformance init                               # asks, probes and drafts profiles/mine.toml
      conformance run --profile profiles/mine.toml --base-url http://127.0.0.1:8080
    """
    # or hypothesis would keep its own in the current folder, and load what any other package has for it
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache_directory() / "hypothesis"))
    os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
    atexit.register(gc.freeze)  # or Python looks through all that a run has made before it ends


@main.command(epilog=_EXIT_CODES)
@target_options(required=False, several=True)
@click.option("--plan", is_flag=True, help="Print what would be sent, and send nothing.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="RUN_DIR",
    help="Go on with a run that was cut short, in its folder.",
)
@run_options
@click.pass_context
def run(ctx: click.Context, /, plan: bool, resume: Path | None, profile: tuple[Path, ...], **given: Any) -> None:
    """Certify a running service.

    \b
    Examples:
      conformance run --profile profiles/mine.toml
      conformance run --profile profiles/mine.toml --base-url https://staging.example/shop
      conformance run --profile profiles/mine.toml --plan      # what it would send
      conformance run --profile profiles/mine.toml --read-only --rate 5
      conformance run --profile profiles/mine.toml -m stable --fail-fast
      conformance run --profile profiles/mine.toml -k "AUTH-1 and getApiKeyIdentity"
      conformance run --resume reports/mine-20260102-030405   # what has a result keeps it, the rest is run
      conformance run --profile eu.toml --profile us.toml     # side by side, one table at the end
      conformance run --profile profiles/mine.toml --shard 2/4 -q   # one of the parts that `merge` joins
      conformance run --profile profiles/mine.toml --tx ssh=one.example --tx ssh=two.example
    """
    if resume is not None:
        given = without_environment({**given, "profile": profile}, ctx)
        profile = given.pop("profile") or ()
    if not profile and resume is None:
        raise click.UsageError("Missing option '--profile'.")
    with reduce_collections():  # what is imported now, and collected, lives as long as the process
        _run(plan, resume, profile, options_from(given))


def _run(plan: bool, resume: Path | None, profile: tuple[Path, ...], options: RunOptions) -> None:
    from conformance.runner import command as running
    from conformance.runner import many_targets as many

    found = many.profiles_in(profile)
    each = [replace(options, profile=path) for path in found] or [options]
    if plan:
        for one in each:
            if len(each) > 1:
                click.echo(f"{one.profile}:")
            for line in running.plan(one):
                click.echo(line)
        return
    if len(each) > 1:
        sys.exit(many.run_all(found, options, resume=resume))
    sys.exit(running.run(each[0], resume=resume))


@main.command(epilog=_EXIT_CODES)
@click.option(
    "--variant", default="", metavar="ID", help="Let the reference read the interface in this other legitimate way."
)
@click.option("--fault", default="", metavar="ID", help="Seed this fault, to see what a failure looks like.")
@run_options
def demo(variant: str, fault: str, **given: Any) -> None:
    """Certify the embedded reference service, on free loopback ports.

    \b
    Examples:
      conformance demo
      conformance demo --fault F031          # what a broken service looks like
      conformance demo --report-dir /tmp/demo
    """
    from conformance.core import interrupts
    from conformance.runner import command as running
    from conformance.runner import embedded_reference as embedded

    again = [
        "conformance",
        "demo",
        *(f"--{kind}={name}" for kind, name in (("variant", variant), ("fault", fault)) if name),
    ]
    with (
        interrupts.raise_on_signals(),
        embedded.reference(variant=variant, fault=fault) as service,
        embedded.environment(service.environment),
    ):
        options = options_from(
            given,
            profile=embedded.bundled_profiles() / "reference.toml",
            base_url=service.base_url,
            variables={"control": service.control_url},
            command=shlex.join(again),
        )
        status = running.run(options)
    sys.exit(status)


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8765, show_default=True, help="The public interface; 0 takes a free one.")
@click.option("--control-port", default=8766, show_default=True, help="Fixtures and ground truth; 0 takes a free one.")
@click.option("--database", metavar="URL", help="A SQLAlchemy URL, such as sqlite:///shop.db [SQLite in memory].")
@click.option(
    "--workers",
    type=click.IntRange(1, MAX_WORKERS),
    default=1,
    show_default=True,
    metavar="N",
    help="So many processes, which share the ports and the database.",
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
    """Run the reference service by itself, until Ctrl-C.

    Prints its addresses and the environment variables that profiles/reference.toml reads its keys from. Every variant
    and fault is also served below a path prefix of its own: http://127.0.0.1:8765/F031.

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
@click.option("--operation", metavar="ID", help="Only what applies to this operation.")
@click.option("--checks", is_flag=True, help="Also the checks of each requirement.")
@click.option("--faults", "seeded", is_flag=True, help="The faults and variants of the reference instead.")
def list_(words: tuple[str, ...], level: str | None, operation: str | None, checks: bool, seeded: bool) -> None:
    """List requirements, and the checks that judge them.

    WORDS filter by id or text; all must occur.

    \b
    Examples:
      conformance list
      conformance list IDEM --checks
      conformance list --level required --operation checkoutPublicCart
      conformance list --faults IDEM-4     # what `demo` and `faults` take
    """
    if seeded:
        from conformance.reference.registry import listing as seeded_listing

        for line in seeded_listing(words):
            click.echo(line)
        return
    from conformance.checks.catalog import listing

    for line in listing(words, level=level, operation=operation, checks=checks):
        click.echo(line)


@main.command()
@click.argument("name", metavar="ID")
@click.option(
    "--run", "run_dir", type=click.Path(path_type=Path), metavar="RUN_DIR", help="What failed of it in that run."
)
def explain(name: str, run_dir: Path | None) -> None:
    """Explain a requirement or a check: statement, section, level, how it is checked, the facts that it needs.

    With profile.KEY: a fact of the profile, its type, bounds and default.

    With --run: what of it did not pass there, with clause, exchanges, a curl line and the command to see it again.
    ID may then also be a row's id or a failure's signature from the report.

    \b
    Examples:
      conformance explain IDEM-4
      conformance explain a_ticket_is_consumed_once
      conformance explain profile.idempotency.format
      conformance explain IDEM-4 --run reports/mine-20260102-030405
    """
    from conformance.checks.catalog import explanation

    lines = explanation(name)
    if run_dir is not None:
        from conformance.decisions.explain_failure import failure_lines
        from conformance.judge.assemble import load

        lines = failure_lines(load(run_dir), name)
    for line in lines:
        click.echo(line)


@main.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="All faults, all variants and 300 drawn targets.")
@click.option("--variants", is_flag=True, help="Also every legitimate variant, which must be conformant.")
@click.option("--drawn", "count", type=click.IntRange(0, 10_000), default=0, metavar="N", help="N drawn targets.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="For --drawn.")
@click.option("--draw", "choices", multiple=True, metavar="JSON", help="The target of these choices; repeatable.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1, 64), help="So many at once.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the table there too.")
@click.option("--record", type=click.Path(path_type=Path), metavar="FILE", help="Write which requirement kills what.")
def faults(
    ids: tuple[str, ...],
    everything: bool,
    variants: bool,
    count: int,
    seed: int,
    choices: tuple[str, ...],
    jobs: int,
    json_file: Path | None,
    record: Path | None,
) -> None:
    """Run the kill matrix: the suite against every seeded fault of the reference service.

    Says of each fault whether it was killed, by which requirements, at what cost, and what else went red. Exits 1
    where a fault survived, or a variant was not conformant.

    A drawn target mixes legitimate readings at random, each with the profile that its owner would write: it must be
    conformant too. With --drawn or --draw nothing else is judged but what is named.

    \b
    Examples:
      conformance faults
      conformance faults F031 F065 D07
      conformance faults --all --json matrix.json --record conformance/checks/kills.json
      conformance faults --drawn 20 --seed 7
      conformance faults --draw '{"carrier": "body", "id_look": "number"}'
    """
    import json

    from conformance.core import interrupts
    from conformance.runner import kill_matrix as matrix

    done = []
    count = count or (matrix.DRAWN if everything else 0)
    some = bool(count or choices) and not everything
    subjects = matrix.chosen(ids, with_variants=variants or everything, only_drawn=some)
    with interrupts.raise_on_signals():
        for row in matrix.rows(matrix.woven(subjects, matrix.drawn_subjects(count, seed, choices)), jobs):
            done.append(row)
            click.echo(matrix.line(row))
    told = matrix.summary(done)
    click.echo(matrix.last_line(told))
    if json_file is not None:
        json_file.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    if record is not None:
        record.write_text(json.dumps(matrix.recorded(done), indent=1) + "\n", encoding="utf-8")
    sys.exit(0 if all(row.fine for row in done) else 1)


for command in (before.doctor, *setting_up.COMMANDS, *after.COMMANDS):
    main.add_command(command)
