"""Runs the checks through pytest, for the commands: a live progress line, a summary, an exit code."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from conformance.checks.support.registry import Instance
from conformance.core import interrupts
from conformance.core.defaults import MAX_WORKERS
from conformance.core.environ import environment
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.exit_codes import EXIT_CODES, EXIT_INTERRUPTED
from conformance.core.model import Run
from conformance.core.package import CONFIGURATION, PACKAGE, cache_directory
from conformance.core.paths import display_path
from conformance.core.run_options import RunOptions
from conformance.engine.open_context import load_sender
from conformance.engine.options import RunPart
from conformance.engine.resume import ResumableRun, open_resumable, resume_hint
from conformance.engine.session import Session
from conformance.engine.startup import prepare_session
from conformance.profile.shares import check_shareable
from conformance.reports import write_reports
from conformance.reports.shaping.text import visible_name
from conformance.reports.terminal import print_summary, verdict_line
from conformance.runner import items, plugin
from conformance.runner.options import pytest_words
from conformance.runner.progress import ProgressLine, make_console

_UNUSED_PLUGINS: Final = (
    *("terminal", "logging", "unraisableexception", "threadexception", "recwarn", "doctest", "pastebin"),
    *("faulthandler", "junitxml", "stepwise", "setuponly", "setupplan", "unittest", "monkeypatch", "debugging"),
    *("warnings", "assertion", "tmpdir", "subtests"),
)
"""pytest's own plugins that do work for each item or at the end, for features that no check uses."""
_INTERRUPTED_EARLY: Final = "interrupted before the first request"


class NoVerdict(ConformanceError):
    """The run ended without a verdict on the target. Has the reason and the exit code of the command."""

    def __init__(self, problem: str, exit_code: int, **details: str) -> None:
        super().__init__(problem, **details)
        self.exit_code = exit_code


def run(options: RunOptions, console: Console | None = None, *, resume: Path | None = None) -> int:
    """Runs the checks, writes the reports and returns the exit code. `resume`: the folder of an interrupted run.

    Raises ConformanceError if there is no verdict to report.
    """
    console = console or make_console()
    is_split = bool(options.workers or options.gateways)
    with interrupts.raise_on_signals():
        resumable = None
        if resume is not None:
            options.require_changeable()
            resumable = open_resumable(resume)
            if not resumable.previous_segments.remaining:
                return _report_complete_run(resumable, options, console)
            options = resumable.options(options)
        _reject_conflicts(options)
        preload = None if is_split else load_sender
        session = prepare_session(options, resumable=resumable, preload=preload)
        if options.workers.isdigit():
            _check_shareable(session, int(options.workers))
        return _run_session(session, options, console)


def _run_session(session: Session, options: RunOptions, console: Console) -> int:
    if session.unreachable:
        options = replace(options, workers="", gateways=(), quiet=True)
    progress = ProgressLine(console, session, quiet=options.quiet, verbose=options.verbose)
    try:
        status = int(_through_pytest(pytest_arguments(options), progress))
    except KeyboardInterrupt:  # while the reports are written, where pytest does not handle it
        if not session.planned_count:
            raise
        raise NoVerdict("interrupted", EXIT_INTERRUPTED, hint=resume_hint(session)) from None
    finally:
        progress.close()
        session.discard_unused_directory()
    if progress.run is not None and not session.unreachable:
        _print_summary(progress.run, session, console, options)
    _require_verdict(progress, status, f"report: {visible_name(session.directory_name)}" if session.unreachable else "")
    return status


def _print_summary(run: Run, session: Session, console: Console, options: RunOptions) -> None:
    """Prints the summary and the path of the report; with `quiet`, both in one line."""
    print_verdict(run, session.directory, console, options, session.directory_name)
    if not options.quiet and (hint := resume_hint(session, run)):
        _print_plain(console, hint)


def print_verdict(run: Run, directory: Path, console: Console, options: RunOptions, name: str = "") -> None:
    """Prints the verdict of a run whose reports are written, and where: in one line, or with the whole summary.

    `name`: the folder for display.
    """
    page = "report.html"
    is_written = (directory / page).exists()  # it is not if the disk is full
    path = visible_name(str(Path(name or display_path(directory)) / page))
    report = f"report: {path}" if is_written else ""
    if options.quiet:
        _print_plain(console, "; ".join(part for part in (verdict_line(run), report) if part))
        return
    print_summary(console, run, verbose=options.verbose)
    if report:
        _print_plain(console, report)


def plan(options: RunOptions) -> list[str]:
    """The requests that a run with these options would send, as lines of text. Raises ConformanceError."""
    from conformance.setup.plan.plan import format_plan
    from conformance.setup.plan.plan import plan as made_plan

    _reject_conflicts(options)
    session = prepare_session(options, RunPart(dry_run=True), collect_only=True)
    selection = Selection(session)
    local_options = replace(options, workers="", gateways=(), last_failed=False)
    _through_pytest([*pytest_arguments(local_options), "--collect-only"], selection)
    if not selection.instances:
        problem = selection.ending.failure if selection.ending else ""
        raise NoVerdict(problem or "no check matches the selection", plugin.EXIT_USAGE)
    return list(format_plan(made_plan(session.profile, session.contract, selection.instances, session.concurrency)))


class Selection:
    """A pytest plugin that records the selected instances."""

    def __init__(self, session: Session) -> None:
        self.instances: list[Instance] = []
        self.ending: items.Ending | None = None
        self._session = session

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[items.session_key] = self._session

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.instances = [item.instance for item in session.items if isinstance(item, items.CheckItem)]

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        self.ending = config.stash.get(items.ending_key, None)


def _print_plain(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _report_complete_run(resumable: ResumableRun, options: RunOptions, console: Console) -> int:
    """Writes the reports of a run without open checks again, and returns its exit code."""
    from conformance.decisions.previous_run import with_previous_run

    state = "all checks have run" if resumable.previous_segments.interruption else "the run is complete"
    finished_run = resumable.close_run()
    write_reports(with_previous_run(finished_run, resumable.directory), resumable.directory)
    if not options.quiet:
        _print_plain(
            console, f"{visible_name(display_path(resumable.directory))}: {state}; its reports are written again"
        )
    print_verdict(finished_run, resumable.directory, console, options)
    return EXIT_CODES[finished_run.verdict]


def _check_shareable(session: Session, workers: int) -> None:
    try:
        check_shareable(session.profile, workers)
    except UsageError:
        session.discard_unused_directory()
        raise


def _reject_conflicts(options: RunOptions) -> None:
    if options.quiet and options.verbose:
        raise UsageError("cannot be combined with --verbose", where="--quiet")
    if options.workers and options.gateways:
        raise UsageError("cannot be combined with -n", where="--tx", hint="use --tx 2*popen for local processes")
    if sum(map(_process_count, options.gateways)) > MAX_WORKERS:
        raise UsageError(f"names more than {MAX_WORKERS} processes", where="--tx")


def _process_count(gateway: str) -> int:
    """Of `3*popen` 3, as pytest-xdist reads it; 1 of any other text."""
    number, star, _ = gateway.partition("*")
    return int(number[:9]) if star and number.isdecimal() else 1


def _through_pytest(words: list[str], observer: ProgressLine | Selection) -> int:
    """Runs pytest with no other plugins and options than these, and returns its exit status."""
    isolation = environment({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": None, "PYTEST_PLUGINS": None})
    with isolation, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as of a cache that cannot be written
        return int(pytest.main(words, plugins=[observer]))


def _require_verdict(progress: ProgressLine, status: int, hint: str = "") -> None:
    """Raises NoVerdict if pytest's status is not a verdict. `hint`: where to read more."""
    ending, crash = progress.ending, progress.crash_file
    if ending is None or not progress.finished:  # pytest ran no item, and has printed the reason
        if progress.interrupted:
            raise NoVerdict(_INTERRUPTED_EARLY, EXIT_INTERRUPTED)
        raise NoVerdict(
            "no check was run", plugin.EXIT_USAGE if status != pytest.ExitCode.INTERNAL_ERROR else items.EXIT_BROKEN
        )
    if ending.failure:
        hint = f"the traceback is in {display_path(crash)}" if crash else hint
        raise NoVerdict(ending.failure, status, hint=hint)
    if progress.run is None and (ending.interrupted or progress.interrupted):
        raise NoVerdict(_INTERRUPTED_EARLY, EXIT_INTERRUPTED)
    if progress.run is None:
        raise NoVerdict("no check matches the selection", status, hint="`conformance list --checks` shows all checks")


def _cache_folder(profile: Path) -> Path:
    """The folder of pytest's cache, with the last failures: one for each profile."""
    folder_name = f"{profile.stem}-{sha256(os.fsencode(profile.resolve())).hexdigest()[:12]}"
    return cache_directory() / folder_name


def pytest_arguments(options: RunOptions) -> list[str]:
    """pytest's command line for a run, which ignores the configuration of the current folder.

    The suite's own options are not part of it: the session has them.
    """
    assert options.profile is not None
    plugins = "-p conformance.runner.plugin -p conformance.runner.lean_protocol"
    words = [*plugins.split(), "-s", "-c", str(CONFIGURATION)]
    words += [word for name in _UNUSED_PLUGINS for word in ("-p", f"no:{name}")]
    words += ["--rootdir", str(PACKAGE), "-o", f"cache_dir={_cache_folder(options.profile)}"]
    words += ["-p", "xdist.plugin"] if options.workers or options.gateways else []
    words += ["--dist=load"] if options.gateways else []
    return [*words, *pytest_words(options), str(PACKAGE / "checks")]
