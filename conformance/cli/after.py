"""Commands on what runs have left behind: report, rerun, certify, verify, gate, compare, history. They send nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from conformance.core.defaults import CERTIFICATE_DAYS

if TYPE_CHECKING:
    from conformance.core.model import Run
    from conformance.decisions.behaviour import Behaviour

RUN_DIR = click.argument("run_dir", type=click.Path(path_type=Path))


_MANY: Final = 4
"""From so many runs on, a second process pays."""
_F = TypeVar("_F", bound=Callable[..., Any])


def _file(*names: str, help: str) -> Callable[[_F], _F]:  # noqa: A002 - click's own word
    return click.option(*names, type=click.Path(path_type=Path), metavar="FILE", help=help)


def _echo(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _write(path: Path | None, text: str) -> None:
    from conformance.core.errors import UsageError

    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(error.strerror or "cannot be written", where=str(path)) from None


def _bytes(path: Path) -> bytes:
    from conformance.core.errors import UsageError

    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(path)) from None


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@click.command()
@RUN_DIR
@click.option("--format", "formats", multiple=True, metavar="NAME", help="Only this format; repeatable [all].")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Write there [RUN_DIR].")
def report(run_dir: Path, formats: tuple[str, ...], output: Path | None) -> None:
    """Make the reports of a run again, from its journal alone.

    \b
    Examples:
      conformance report reports/mine-20260102-030405
      conformance report reports/mine-20260102-030405 --format html -o /tmp/page
    """
    from conformance.judge.assemble import load
    from conformance.reports import write_reports

    _echo(str(path) for path in write_reports(load(run_dir), output or run_dir, formats or None))


@click.command()
@RUN_DIR
@click.option("--failed", is_flag=True, help="Only what failed, or was not judged.")
@click.option("--show", is_flag=True, help="Print the command, and do not run it.")
@_file("--profile", help="Where the profile is now, if not where it was.")
def rerun(run_dir: Path, failed: bool, show: bool, profile: Path | None) -> None:
    """Run the checks of a run again: same profile, target and seed.

    \b
    Examples:
      conformance rerun reports/mine-20260102-030405
      conformance rerun reports/mine-20260102-030405 --failed
    """
    import shlex

    from conformance.core.paths import display_command
    from conformance.decisions.rerun import command
    from conformance.judge.assemble import load

    run = load(run_dir)
    given = command(run, failed=failed, profile=str(profile or ""))
    click.echo(display_command(shlex.join(given), run.profile.path))
    if not show:
        from conformance.cli import main

        main(given[1:])


@click.command()
@RUN_DIR
@_file("--key", help="Your Ed25519 private key (PEM). A password is read from CONFORMANCE_KEY_PASSWORD.")
@click.option(
    "--tier", type=click.Choice(["stable", "all"]), default="all", show_default=True, help="What is certified."
)
@click.option(
    "--valid-days", type=click.IntRange(1, 3660), default=CERTIFICATE_DAYS, show_default=True, help="How long it holds."
)
@_file("-o", "--output", help="The certificate [RUN_DIR/certificate.json].")
@_file("--badge", help="Also an SVG badge.")
def certify(
    run_dir: Path, key: Path | None, tier: str, valid_days: int, output: Path | None, badge: Path | None
) -> None:
    """Sign a conformant run: an in-toto test-result attestation in a DSSE envelope.

    Refuses a run that is filtered, was cut short, or is not conformant in that tier.

    \b
    Examples:
      openssl genpkey -algorithm ed25519 -out key.pem
      openssl pkey -in key.pem -pubout -out public.pem        # for whoever verifies
      conformance certify reports/mine-20260102-030405 --key key.pem --tier stable
    """
    from conformance.core.errors import UsageError
    from conformance.decisions import badge as badges
    from conformance.decisions import certificate
    from conformance.judge.assemble import load

    if key is None:
        raise UsageError("no key was given", where="--key", hint="openssl genpkey -algorithm ed25519 -out key.pem")
    run = load(run_dir)
    password = os.environ.get("CONFORMANCE_KEY_PASSWORD", "")
    signed = certificate.create_certificate(
        run, run_dir, _bytes(key), tier=tier, today=_today(), days=valid_days, password=password
    )
    path = output or run_dir / certificate.FILE
    _write(path, signed.decode("ascii"))
    told = certificate.read_certificate(signed)
    _write(badge, badges.badge(told))
    _echo(certificate.lines(told))
    click.echo(f"certificate: {path}")


@click.command()
@click.argument("certificate_file", metavar="CERT", type=click.Path(path_type=Path))
@click.argument("run_dir", required=False, type=click.Path(path_type=Path))
@_file("--key", help="The public key (PEM) that you trust; without it, the certificate's own is used and told.")
def verify(certificate_file: Path, run_dir: Path | None, key: Path | None) -> None:
    """Check a certificate, and that a run's files are those that it certifies. Offline.

    Exits 0 where all is as it was signed and the certificate still holds, else 1. 2: a file cannot be read, or is no
    certificate.

    \b
    Examples:
      conformance verify certificate.json --key public.pem
      conformance verify certificate.json reports/mine-20260102-030405 --key public.pem
    """
    from conformance.decisions import certificate

    told = certificate.read_certificate(
        _bytes(certificate_file), _bytes(key) if key else None, where=str(certificate_file)
    )
    _echo(certificate.lines(told))
    problems = list(certificate.differences(told, run_dir)) if run_dir else []
    if told.until < _today():
        problems.append(f"it held until {told.until}")
    if key is None:
        click.echo("– signed by the key that it brings along: compare its id, or give the one that you trust (--key)")
    _echo(f"✕ {problem}" for problem in problems)
    if not problems:
        click.echo("✓ the certificate is good" + (", and the files are those that it certifies" if run_dir else ""))
    sys.exit(1 if problems else 0)


@click.command()
@RUN_DIR
@click.option("--tier", type=click.Choice(["stable", "candidate", "all"]), help="Which operations count [all].")
@click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="RUN_DIR", help="What is worse than there fails too."
)
@click.option(
    "--allow-incomplete", multiple=True, metavar="ID", help="A requirement that need not be judged; repeatable."
)
@_file("--policy", help="TOML with tier, allow_incomplete, strict_waivers and [[waivers]].")
@click.option("--strict-waivers", is_flag=True, help="A waiver that is expired, or excuses nothing, fails too.")
@click.option("--format", "form", type=click.Choice(["auto", "text", "github"]), default="auto", help="How it is told.")
@_file("--json", "json_file", help="Write the decision there too.")
def gate(
    run_dir: Path,
    tier: str | None,
    baseline: Path | None,
    allow_incomplete: tuple[str, ...],
    policy: Path | None,
    strict_waivers: bool,
    form: str,
    json_file: Path | None,
) -> None:
    """Say whether a run lets a release pass. The exit code is the answer.

    0 passes, 1 a failure, or with --baseline a regression, 3 something required was not judged, 5 the suite erred. The
    answer is the run's own verdict, with what it rests on; what narrows it (a tier, allowed requirements, waivers)
    stands in the answer.

    \b
    Examples:
      conformance gate reports/mine-20260102-030405 --tier stable
      conformance gate reports/now --baseline reports/released
      conformance gate reports/now --policy gate.toml --strict-waivers
    """
    from conformance.decisions import gate_report as verdicts
    from conformance.decisions.gate import ALL, Policy, decide
    from conformance.decisions.gate_policy import known_requirements, load_policy
    from conformance.judge.assemble import load
    from conformance.reports.shaping.text import dumps, map_strings, utf8

    stated = load_policy(policy) if policy else {}
    allowed = {*stated.get("allow_incomplete", ()), *known_requirements(allow_incomplete)}
    held = Policy(
        tier=tier or stated.get("tier", ALL),
        allow_incomplete=frozenset(allowed),
        strict_waivers=strict_waivers or stated.get("strict_waivers", False),
        waivers=stated.get("waivers", ()),
    )
    run = load(run_dir)
    decision = decide(run, held, load(baseline) if baseline else None, today=_today())
    if form == "github" or (form == "auto" and os.environ.get("GITHUB_ACTIONS") == "true"):
        _echo(verdicts.workflow_commands(decision, run))
    _echo(verdicts.lines(decision, run))
    _write(json_file, dumps(map_strings(verdicts.document(decision, run), utf8)))
    sys.exit(decision.exit_code)


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="A B [C]...", type=click.Path(path_type=Path))
@_file("--html", "html_file", help="Write one page there.")
@_file("--json", "json_file", help="Write the comparison there as JSON.")
@_file("--markdown", "markdown_file", help="Write it there for a pipeline's job page.")
@click.option("--force", is_flag=True, help="Compare runs of different check sets, saying what cannot be compared.")
@click.option(
    "--fail-on", "fail_on", multiple=True, metavar="KIND", help="Exit 1 on such a difference; any, or a kind."
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="For runs of profiles.")
def compare(
    runs: tuple[Path, ...],
    html_file: Path | None,
    json_file: Path | None,
    markdown_file: Path | None,
    force: bool,
    fail_on: tuple[str, ...],
    seed: int,
) -> None:
    """Lay runs side by side, each against the first: run folders, or profiles, which are run first with one seed.

    \b
    Kinds: regressed, "newly inconclusive", fixed, "caused by the profile", "status chosen",
    "error shape", members, types, headers, warning, latency.

    \b
    Examples:
      conformance compare reports/production reports/staging
      conformance compare profiles/a.toml profiles/b.toml --html compare.html
      conformance compare reports/released reports/now --fail-on regressed
    """
    from conformance.core.errors import UsageError
    from conformance.decisions import comparison_report as sidebyside
    from conformance.decisions.comparison import Kind
    from conformance.decisions.comparison import compare as compared

    kinds = [kind.value for kind in Kind]
    for word in fail_on:
        if word not in (*kinds, "any"):
            raise UsageError(f"there is no kind {word!r}", where="--fail-on", hint=f"any, {', '.join(kinds)}")
    if len(runs) < 2:
        raise UsageError("there is nothing to compare with", hint="name two runs, or two profiles")
    folders = _run_first(runs, seed)
    looked = _looked_at(folders)
    told = compared(
        [run for run, _ in looked],
        [folder.name for folder in folders],
        force=force,
        known_behaviours=[seen for _, seen in looked],
    )
    _echo(sidebyside.lines(told))
    _write(html_file, sidebyside.html(told) if html_file else "")
    _write(json_file, sidebyside.as_json(told) if json_file else "")
    _write(markdown_file, sidebyside.markdown(told) if markdown_file else "")
    found = {kind.value for kind in told.kinds()}
    sys.exit(1 if found & set(fail_on) or (found and "any" in fail_on) else 0)


def _looked_at(folders: list[Path]) -> list[tuple[Run, Behaviour]]:
    """Each run without its exchanges, and what they show; several are read at once."""
    if len(folders) < _MANY or (os.cpu_count() or 1) == 1:
        return [_read(folder) for folder in folders]
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from conformance.core.environ import safe_import_path

    with safe_import_path(), ProcessPoolExecutor(min(4, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        return list(pool.map(_read, folders))


def _read(folder: Path) -> tuple[Run, Behaviour]:
    from dataclasses import replace

    from conformance.decisions.behaviour import behaviour
    from conformance.judge.assemble import load

    run = load(folder)
    return replace(run, exchanges=()), behaviour(run)


def _run_first(given: tuple[Path, ...], seed: int) -> list[Path]:
    """The run folders; a profile is run for it. Raises UsageError on a profile of which no run came about."""
    from conformance.core.errors import UsageError

    folders = []
    for path in given:
        if path.suffix != ".toml":
            folders.append(path)
            continue
        from conformance.core.run_options import RunOptions
        from conformance.runner import command as running

        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        folder = Path("reports") / f"compare-{len(folders) + 1}-{path.stem}-{stamp}"
        running.run(RunOptions(profile=path, seed=seed, report_dir=folder))
        if not folder.is_dir():
            raise UsageError("no run came about", where=str(path))
        folders.append(folder)
    return folders


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("reports"))
@_file("--html", "html_file", help="Write one page there.")
@_file("--json", "json_file", help="Write it there as JSON.")
def history(folder: Path, html_file: Path | None, json_file: Path | None) -> None:
    """Tell how the runs of each target went over time, from the run folders in FOLDER.

    \b
    Examples:
      conformance history reports/
      conformance history reports/ --html history.html
    """
    from conformance.decisions import history_report as trends
    from conformance.decisions.history import history as told

    found, unread = told(folder)
    _echo(trends.lines(found, unread))
    _write(html_file, trends.html(found, unread) if html_file else "")
    _write(json_file, trends.as_json(found, unread) if json_file else "")


@click.command()
@click.argument("run_dirs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN_DIR...")
@click.option(
    "--report-dir", type=click.Path(path_type=Path), metavar="DIR", help="An empty folder [reports/TARGET-TIME]."
)
@click.option("-q", "--quiet", is_flag=True, help="Print only the report's path.")
def merge(run_dirs: tuple[Path, ...], report_dir: Path | None, quiet: bool) -> None:
    """Join the shards of a run into one run, with its verdict, reports and exit code.

    All shards must be there, of the same profile, target, seed, selection and set of checks.

    \b
    Examples:
      conformance run --profile profiles/mine.toml --shard 1/2 --report-dir one    # on one machine
      conformance run --profile profiles/mine.toml --shard 2/2 --report-dir two    # on another
      conformance merge one two --report-dir whole
    """
    from conformance.core.exit_codes import EXIT_CODES
    from conformance.decisions.merge import merge_shards
    from conformance.reports.terminal import summary

    run, directory = merge_shards(run_dirs, report_dir)
    if not quiet:
        from conformance.runner.progress import to_a_person

        to_a_person().print(summary(run), highlight=False, soft_wrap=True)
    click.echo(f"report: {directory / 'report.html'}")
    sys.exit(EXIT_CODES[run.verdict])


COMMANDS = (report, rerun, certify, verify, gate, compare, history, merge)
