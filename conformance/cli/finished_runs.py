"""Commands on finished runs: report, rerun, certify, verify, gate, compare, history, merge."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from conformance.core.defaults import CERTIFICATE_DAYS

RUN_DIR = click.argument("run_dir", type=click.Path(path_type=Path))

_F = TypeVar("_F", bound=Callable[..., Any])


def _file(*names: str, help: str) -> Callable[[_F], _F]:  # noqa: A002 - click's own name
    return click.option(*names, type=click.Path(path_type=Path), metavar="FILE", help=help)


def _echo(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _write_text(path: Path | None, text: str) -> None:
    from conformance.core.errors import UsageError

    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(error.strerror or "cannot be written", where=str(path)) from None


def _read_bytes(path: Path) -> bytes:
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
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="The output folder [RUN_DIR].")
def report(run_dir: Path, formats: tuple[str, ...], output: Path | None) -> None:
    """Write the reports of a run again, from its journal alone.

    \b
    Examples:
      conformance report reports/mine-20260102-030405
      conformance report reports/mine-20260102-030405 --format html -o /tmp/page
    """
    from conformance.decisions.previous_run import with_previous_run
    from conformance.judge.assemble import load
    from conformance.reports import write_reports

    run = with_previous_run(load(run_dir), run_dir)
    _echo(str(path) for path in write_reports(run, output or run_dir, formats or None))


@click.command()
@RUN_DIR
@click.option("--failed", is_flag=True, help="Only checks that failed or were not judged.")
@click.option("--show", is_flag=True, help="Print the command without running it.")
@_file("--profile", help="The profile, if it was moved since the run.")
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
    command_words = command(run, failed=failed, profile=str(profile or ""))
    click.echo(display_command(shlex.join(command_words), run.profile.path))
    if not show:
        from conformance.cli import main

        main(command_words[1:])


@click.command()
@RUN_DIR
@_file("--key", help="Your Ed25519 private key (PEM). A password is read from CONFORMANCE_KEY_PASSWORD.")
@click.option(
    "--tier", type=click.Choice(["stable", "all"]), default="all", show_default=True, help="The operations to certify."
)
@click.option(
    "--valid-days", type=click.IntRange(1, 3660), default=CERTIFICATE_DAYS, show_default=True, help="Days of validity."
)
@_file("-o", "--output", help="The certificate [RUN_DIR/certificate.json].")
@_file("--badge", help="Also write an SVG badge to this file.")
def certify(
    run_dir: Path, key: Path | None, tier: str, valid_days: int, output: Path | None, badge: Path | None
) -> None:
    """Sign a conformant run: an in-toto test-result attestation in a DSSE envelope.

    Refuses a run that was filtered, ended early, or is not conformant in that tier.

    \b
    Examples:
      openssl genpkey -algorithm ed25519 -out key.pem
      openssl pkey -in key.pem -pubout -out public.pem        # to publish
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
    envelope = certificate.create_certificate(
        run, run_dir, _read_bytes(key), tier=tier, today=_today(), days=valid_days, password=password
    )
    path = output or run_dir / certificate.FILE
    _write_text(path, envelope.decode("ascii"))
    content = certificate.read_certificate(envelope)
    _write_text(badge, badges.badge(content))
    _echo(certificate.lines(content))
    click.echo(f"certificate: {path}")


@click.command()
@click.argument("certificate_file", metavar="CERT", type=click.Path(path_type=Path))
@click.argument("run_dir", required=False, type=click.Path(path_type=Path))
@_file("--key", help="The trusted public key (PEM). Without it, the key in the certificate is used, with a note.")
def verify(certificate_file: Path, run_dir: Path | None, key: Path | None) -> None:
    """Verify a certificate, and that the files of a run are those that it certifies. Sends nothing.

    Exits 0 if the signature and the files match and the certificate has not expired, otherwise 1; 2 if a file cannot be
    read or is no certificate.

    \b
    Examples:
      conformance verify certificate.json --key public.pem
      conformance verify certificate.json reports/mine-20260102-030405 --key public.pem
    """
    from conformance.decisions import certificate

    content = certificate.read_certificate(
        _read_bytes(certificate_file), _read_bytes(key) if key else None, where=str(certificate_file)
    )
    _echo(certificate.lines(content))
    problems = list(certificate.differences(content, run_dir)) if run_dir else []
    if content.until < _today():
        problems.append(f"it expired after {content.until}")
    if key is None:
        click.echo("– signed by the key in the certificate: compare its id, or name the key that you trust (--key)")
    _echo(f"✕ {problem}" for problem in problems)
    if not problems:
        click.echo("✓ the certificate is valid" + (", and the files are those that it certifies" if run_dir else ""))
    sys.exit(1 if problems else 0)


@click.command()
@RUN_DIR
@click.option("--tier", type=click.Choice(["stable", "candidate", "all"]), help="The operations that count [all].")
@click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="RUN_DIR", help="Also fail on regressions from this run."
)
@click.option(
    "--allow-incomplete", multiple=True, metavar="ID", help="A requirement that need not be judged; repeatable."
)
@_file("--policy", help="A TOML file with tier, allow_incomplete, strict_waivers and [[waivers]].")
@click.option("--strict-waivers", is_flag=True, help="Also fail on a waiver that is expired or excuses nothing.")
@click.option(
    "--format", "output_format", type=click.Choice(["auto", "text", "github"]), default="auto", help="Output format."
)
@_file("--json", "json_file", help="Also write the decision to this file.")
def gate(
    run_dir: Path,
    tier: str | None,
    baseline: Path | None,
    allow_incomplete: tuple[str, ...],
    policy: Path | None,
    strict_waivers: bool,
    output_format: str,
    json_file: Path | None,
) -> None:
    """Decide whether a run lets a release pass. The exit code is the decision.

    0 passes, 1 a failure, or with --baseline a regression, 3 something required was not judged, 5 the suite erred. The
    decision is the run's own verdict and its scope; what narrows it (a tier, allowed requirements, waivers) is printed.

    \b
    Examples:
      conformance gate reports/mine-20260102-030405 --tier stable
      conformance gate reports/now --baseline reports/released
      conformance gate reports/now --policy gate.toml --strict-waivers
    """
    from conformance.decisions import gate_report
    from conformance.decisions.gate import ALL, Policy, decide
    from conformance.decisions.gate_policy import known_requirements, load_policy
    from conformance.judge.assemble import load
    from conformance.reports.shaping.text import dumps, map_strings, utf8

    policy_document = load_policy(policy) if policy else {}
    allowed_requirements = {*policy_document.get("allow_incomplete", ()), *known_requirements(allow_incomplete)}
    effective_policy = Policy(
        tier=tier or policy_document.get("tier", ALL),
        allow_incomplete=frozenset(allowed_requirements),
        strict_waivers=strict_waivers or policy_document.get("strict_waivers", False),
        waivers=policy_document.get("waivers", ()),
    )
    run = load(run_dir)
    decision = decide(run, effective_policy, load(baseline) if baseline else None, today=_today())
    if output_format == "github" or (output_format == "auto" and os.environ.get("GITHUB_ACTIONS") == "true"):
        _echo(gate_report.workflow_commands(decision, run))
    _echo(gate_report.lines(decision, run))
    _write_text(json_file, dumps(map_strings(gate_report.document(decision, run), utf8)))
    sys.exit(decision.exit_code)


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="A B [C]...", type=click.Path(path_type=Path))
@_file("--html", "html_file", help="Write the comparison as one HTML page.")
@_file("--json", "json_file", help="Write the comparison as JSON.")
@_file("--markdown", "markdown_file", help="Write the comparison as Markdown, for the job page of a pipeline.")
@click.option("--force", is_flag=True, help="Compare runs of different check sets, and list what cannot be compared.")
@click.option("--fail-on", "fail_on", multiple=True, metavar="KIND", help="Exit 1 on this kind, or any; repeatable.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="The seed for profiles.")
def compare(
    runs: tuple[Path, ...],
    html_file: Path | None,
    json_file: Path | None,
    markdown_file: Path | None,
    force: bool,
    fail_on: tuple[str, ...],
    seed: int,
) -> None:
    """Compare runs with the first of them: run folders, or profiles, which are run first with the same seed.

    A run that cannot be read is named, and the exit code is 2.

    \b
    Kinds: regressed, "newly inconclusive", fixed, waived, "caused by the profile",
    "status chosen", "error shape", members, types, headers, warning, latency.

    \b
    Examples:
      conformance compare reports/production reports/staging
      conformance compare profiles/a.toml profiles/b.toml --html compare.html
      conformance compare reports/released reports/now --fail-on regressed
    """
    from conformance.core.errors import UsageError
    from conformance.decisions import comparison_report
    from conformance.decisions.comparison import Kind
    from conformance.decisions.comparison_runs import compare_folders

    kinds = [kind.value for kind in Kind]
    for word in fail_on:
        if word not in (*kinds, "any"):
            raise UsageError(f"unknown kind {word!r}", where="--fail-on", hint=f"any, {', '.join(kinds)}")
    if len(runs) < 2:
        raise UsageError("there is nothing to compare with", hint="name two runs, or two profiles")
    folders = _run_profiles(runs, seed)
    comparison = compare_folders(folders, force=force, page=html_file)
    _echo(comparison_report.lines(comparison))
    _write_text(html_file, comparison_report.html(comparison) if html_file else "")
    _write_text(json_file, comparison_report.as_json(comparison) if json_file else "")
    _write_text(markdown_file, comparison_report.markdown(comparison) if markdown_file else "")
    found_kinds = {kind.value for kind in comparison.kinds()}
    is_failure = bool(found_kinds & set(fail_on) or (found_kinds and "any" in fail_on))
    sys.exit(1 if is_failure else UsageError.exit_code if comparison.unread else 0)


def _run_profiles(paths: tuple[Path, ...], seed: int) -> list[Path]:
    """The run folders; a profile is run first. Raises UsageError if that wrote no folder."""
    from conformance.core.errors import UsageError

    folders = []
    for path in paths:
        if path.suffix != ".toml":
            folders.append(path)
            continue
        from conformance.core.run_options import RunOptions
        from conformance.runner import command as run_command

        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        folder = Path("reports") / f"compare-{len(folders) + 1}-{path.stem}-{stamp}"
        run_command.run(RunOptions(profile=path, seed=seed, report_dir=folder))
        if not folder.is_dir():
            raise UsageError("the run wrote no folder", where=str(path))
        folders.append(folder)
    return folders


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("reports"))
@_file("--html", "html_file", help="Write the history as one HTML page.")
@_file("--json", "json_file", help="Write the history as JSON.")
def history(folder: Path, html_file: Path | None, json_file: Path | None) -> None:
    """Show the runs of each target over time, from the run folders in FOLDER.

    \b
    Examples:
      conformance history reports/
      conformance history reports/ --html history.html
    """
    from conformance.decisions import history_report
    from conformance.decisions.history import history as read_history

    trends, unread = read_history(folder)
    _echo(history_report.lines(trends, unread))
    _write_text(html_file, history_report.html(trends, unread, folder, html_file) if html_file else "")
    _write_text(json_file, history_report.as_json(trends, unread) if json_file else "")


@click.command()
@click.argument("run_dirs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN_DIR...")
@click.option(
    "--report-dir", type=click.Path(path_type=Path), metavar="DIR", help="An empty folder [reports/TARGET-TIME]."
)
@click.option("-q", "--quiet", is_flag=True, help="Print only the report's path.")
def merge(run_dirs: tuple[Path, ...], report_dir: Path | None, quiet: bool) -> None:
    """Join the shards of a run into one run, with its verdict, reports and exit code.

    All shards must be given, and have the same profile, target, seed, selection and set of checks.

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
        from conformance.runner.progress import make_console

        make_console().print(summary(run), highlight=False, soft_wrap=True)
    click.echo(f"report: {directory / 'report.html'}")
    sys.exit(EXIT_CODES[run.verdict])


COMMANDS = (report, rerun, certify, verify, gate, compare, history, merge)
