"""Commands on finished runs: report, rerun, compare, history, merge."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.cli.files import RUN_DIR, echo_wrapped
from conformance.cli.files import echo_lines as _echo
from conformance.cli.files import file_option as _file
from conformance.cli.files import write_text as _write_text
from conformance.cli.options import verbosity_options

_LONG_COMMAND = 2_000
"""Characters of a command line that is printed before it runs."""

if TYPE_CHECKING:
    from conformance.core.run_options import RunOptions


@click.command()
@RUN_DIR
@click.option("--format", "formats", multiple=True, metavar="NAME", help="Only this format; repeatable [all].")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The output folder, where files of the same names are replaced [RUN_DIR].",
)
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
    with _name_replaced(output if output != run_dir else None):
        _echo(str(path) for path in write_reports(run, output or run_dir, formats or None))


@contextmanager
def _name_replaced(folder: Path | None) -> Iterator[None]:
    """Prints which files of a folder were replaced, which may be files of others."""
    from conformance.reports.shaping.text import visible_name

    before = _file_numbers(folder)
    try:
        yield
    finally:
        after = _file_numbers(folder)
        if replaced := sorted(name for name, number in before.items() if after.get(name) != number):
            click.echo(visible_name(f"replaced in {folder}: {', '.join(replaced)}"), err=True)


def _file_numbers(folder: Path | None) -> dict[str, int]:
    """The name of each file of a folder -> the number of its inode."""
    with suppress(OSError):  # it is created, or its error is raised by what writes there
        return {path.name: path.lstat().st_ino for path in folder.iterdir()} if folder else {}
    return {}


@click.command()
@RUN_DIR
@click.option("--failed", is_flag=True, help="Only checks that failed or were not judged.")
@click.option("--show", is_flag=True, help="Print the command without running it.")
@_file("--profile", help="The profile, if it was moved since the run.")
def rerun(run_dir: Path, failed: bool, show: bool, profile: Path | None) -> None:
    """Run the checks of a run again: same profile, target and seed.

    The command stands in the journal, and sends your keys to the target that it names: look at it with --show first
    where the folder is from another machine.

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
    text = display_command(shlex.join(command_words), run.profile.path)
    if len(text) > _LONG_COMMAND and not show:
        text = f"{command_words.count('--only'):,} checks of {run_dir} again (--show prints the command)"
    click.echo(text)
    if not show:
        from conformance.cli import main

        main(command_words[1:])


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="A B [C]...", type=click.Path(path_type=Path))
@_file("--html", "html_file", help="Write the comparison as one HTML page.")
@_file("--json", "json_file", help="Write the comparison as JSON.")
@_file("--markdown", "markdown_file", help="Write the comparison as Markdown, for the job page of a pipeline.")
@click.option("--force", is_flag=True, help="Compare runs of different check sets, and list what cannot be compared.")
@click.option("--fail-on", "fail_on", multiple=True, metavar="KIND", help="Exit 1 on this kind, or any; repeatable.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="The seed for profiles.")
@verbosity_options(quiet="Print only the numbers of differences.", verbose="Print every difference.")
def compare(
    runs: tuple[Path, ...],
    html_file: Path | None,
    json_file: Path | None,
    markdown_file: Path | None,
    force: bool,
    fail_on: tuple[str, ...],
    seed: int,
    quiet: bool,
    verbose: bool,
) -> None:
    """Compare runs with the first of them: run folders, or profiles, which are run first with the same seed.

    A run that cannot be read is named, and the exit code is 2.

    \b
    Kinds: regressed, "newly inconclusive", waived, fixed, "caused by the profile",
    "status chosen", "error shape", members, types, headers, warning, latency.

    \b
    Examples:
      conformance compare reports/production reports/staging
      conformance compare profiles/a.toml profiles/b.toml --html compare.html
      conformance compare reports/released reports/now --fail-on regressed
      conformance compare reports/released reports/now -q     # how many differences of each kind
      conformance compare reports/released reports/now -v     # all of them
    """
    from conformance.core.errors import UsageError
    from conformance.core.run_options import RunOptions
    from conformance.decisions import comparison_report
    from conformance.decisions.comparison_runs import compare_folders

    _require_kinds(fail_on)
    if len(runs) < 2:
        raise UsageError("there is nothing to compare with", hint="name two runs, or two profiles")
    folders = _run_profiles(runs, RunOptions(seed=seed, quiet=quiet, verbose=verbose))
    comparison = compare_folders(folders, force=force, page=html_file)
    echo_wrapped(
        [comparison_report.answer(comparison)] if quiet else comparison_report.lines(comparison, verbose=verbose)
    )
    _write_text(html_file, comparison_report.html(comparison) if html_file else "")
    _write_text(json_file, comparison_report.as_json(comparison) if json_file else "")
    _write_text(markdown_file, comparison_report.markdown(comparison) if markdown_file else "")
    found_kinds = {kind.value for kind in comparison.kinds()}
    is_failure = bool(found_kinds & set(fail_on) or (found_kinds and "any" in fail_on))
    sys.exit(1 if is_failure else UsageError.exit_code if comparison.unread else 0)


def _require_kinds(words: tuple[str, ...]) -> None:
    """Raises UsageError on a word that is not a kind of difference."""
    from conformance.core.errors import UsageError
    from conformance.decisions.comparison import Kind

    kinds = [kind.value for kind in Kind]
    for word in words:
        if word not in (*kinds, "any"):
            raise UsageError(f"unknown kind {word!r}", where="--fail-on", hint=f"any, {', '.join(kinds)}")


def _run_profiles(paths: tuple[Path, ...], options: RunOptions) -> list[Path]:
    """The run folders; a profile is run first, and what that prints goes to standard error.

    Raises UsageError if a run wrote no folder, and KeyboardInterrupt after one that was interrupted.
    """
    from conformance.core.errors import UsageError
    from conformance.core.exit_codes import EXIT_INTERRUPTED

    folders = []
    for path in paths:
        if path.suffix != ".toml":
            folders.append(path)
            continue
        from conformance.runner import command as run_command
        from conformance.runner.progress import make_console

        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        folder = Path("reports") / f"compare-{len(folders) + 1}-{path.stem}-{stamp}"
        code = run_command.run(replace(options, profile=path, report_dir=folder), make_console(sys.stderr))
        if code == EXIT_INTERRUPTED:  # it has written its report, and ends the command
            raise KeyboardInterrupt
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
@verbosity_options(
    quiet="Print only the verdict, with the report's path.",
    verbose="Print the evidence of every cause, and every gap with its reason.",
)
def merge(run_dirs: tuple[Path, ...], report_dir: Path | None, quiet: bool, verbose: bool) -> None:
    """Join the shards of a run into one run, with its verdict, reports and exit code.

    All shards must be given, and have the same profile, target, seed, selection and set of checks.

    \b
    Examples:
      conformance run --profile profiles/mine.toml --shard 1/2 --report-dir one    # on one machine
      conformance run --profile profiles/mine.toml --shard 2/2 --report-dir two    # on another
      conformance merge one two --report-dir whole
    """
    from conformance.core.exit_codes import EXIT_CODES
    from conformance.core.run_options import RunOptions
    from conformance.decisions.merge import merge_shards
    from conformance.runner.command import print_verdict
    from conformance.runner.progress import make_console

    run, directory = merge_shards(run_dirs, report_dir)
    print_verdict(run, directory, make_console(), RunOptions(quiet=quiet, verbose=verbose))
    sys.exit(EXIT_CODES[run.verdict])


COMMANDS = (report, rerun, compare, history, merge)
