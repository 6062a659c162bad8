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
from conformance.core.environ import environment
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.exit_codes import EXIT_CODES, EXIT_INTERRUPTED
from conformance.core.model import Run
from conformance.core.package import CONFIGURATION, PACKAGE, cache_directory
from conformance.core.run_options import RunOptions
from conformance.engine.open_context import load_sender
from conformance.engine.options import RunPart
from conformance.engine.resume import ResumableRun, open_resumable, resume_hint
from conformance.engine.session import Session
from conformance.engine.startup import prepare_session
from conformance.profile.shares import check_shareable
from conformance.reports import write_reports
from conformance.reports.terminal import summary
from conformance.runner import items, plugin
from conformance.runner.options import pytest_words
from conformance.runner.progress import ProgressLine, to_a_person

_UNUSED: Final = (
    *("terminal", "logging", "unraisableexception", "threadexception", "recwarn", "doctest", "pastebin"),
    *("faulthandler", "junitxml", "stepwise", "setuponly", "setupplan", "unittest", "monkeypatch", "debugging"),
    *("warnings", "assertion", "tmpdir", "subtests"),
)
"""pytest's own plugins that would look at each item, or at the end, for what no check has."""
_BEFORE: Final = "interrupted before anything was sent"
_NO_STORE: Final = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}
"""aiohttp reads the system's certificates as soon as it is imported, which takes 40 ms: for connections that name none.
All of a run's do, and in the process of a command there are no others."""


class Ended(ConformanceError):
    """The run is over, without a verdict on the target; says why, and how the command ends."""

    def __init__(self, what: str, exit_code: int, **rest: str) -> None:
        super().__init__(what, **rest)
        self.exit_code = exit_code


def run(options: RunOptions, console: Console | None = None, *, resume: Path | None = None) -> int:
    """Runs and reports; the exit code of design. `resume` is the folder of a run that was cut short and goes on.

    Raises ConformanceError where there is no verdict to report.
    """
    console = console or to_a_person()
    splits = bool(options.workers or options.gateways)
    with interrupts.raise_on_signals():
        resumable = None
        if resume is not None:
            options.require_changeable()
            resumable = open_resumable(resume)
            if not resumable.earlier.remaining:
                return _closed(resumable, options, console)
            options = resumable.options(options)
        _check(options)
        preload = None if splits else _load_sender
        session = prepare_session(options, resumable=resumable, meanwhile=preload)
        if options.workers.isdigit():
            _check_shareable(session, int(options.workers))
        return _run(session, options, console)


def _run(session: Session, options: RunOptions, console: Console) -> int:
    if session.unreachable:
        options = replace(options, workers="", gateways=(), quiet=True)
    progress = ProgressLine(console, session, quiet=options.quiet)
    try:
        status = int(_through_pytest(arguments(options), progress))
    except KeyboardInterrupt:  # not where pytest waits for one, but while the end is written
        if not session.planned:
            raise
        raise Ended("interrupted", EXIT_INTERRUPTED, hint=resume_hint(session)) from None
    finally:
        progress.close()
        session.forget()
    if progress.run is not None and not session.unreachable:
        _show(progress.run, session, console, quiet=options.quiet)
    _judge_the_end(progress, status, f"report: {session.directory}" if session.unreachable else "")
    return status


def _show(run: Run, made: Session, console: Console, *, quiet: bool) -> None:
    """What a person reads at the end; with `quiet`, only where the report is."""
    if not quiet:
        console.print(summary(run), highlight=False, soft_wrap=True)
    if (page := made.directory / "report.html").exists():  # a full disk has no room for it
        _say(console, f"report: {page}")
    if not quiet and (hint := resume_hint(made, run)):
        _say(console, hint)


def plan(options: RunOptions) -> list[str]:
    """What a run with these options would send, as lines. Sends nothing. Raises ConformanceError."""
    from conformance.setup.plan.plan import lines
    from conformance.setup.plan.plan import plan as made_plan

    _check(options)
    session = prepare_session(options, RunPart(dry=True), collect_only=True)
    selection = Selection(session)
    alone = replace(options, workers="", gateways=(), last_failed=False)
    _through_pytest([*arguments(alone), "--collect-only"], selection)
    if not selection.chosen:
        why = selection.ending.failure if selection.ending else ""
        raise Ended(why or "no check matches the selection", plugin.USAGE)
    return list(lines(made_plan(session.profile, session.contract, selection.chosen, session.concurrency)))


class Selection:
    """A pytest plugin that keeps what was selected."""

    def __init__(self, made: Session) -> None:
        self.chosen: list[Instance] = []
        self.ending: items.Ending | None = None
        self._made = made

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[items.session_key] = self._made

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.chosen = [item.instance for item in session.items if isinstance(item, items.CheckItem)]

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        self.ending = config.stash.get(items.ending_key, None)


def _load_sender() -> None:
    with environment(_NO_STORE):
        load_sender()


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _closed(resumable: ResumableRun, options: RunOptions, console: Console) -> int:
    """The reports of a run of which nothing is left to be run, and its exit code."""
    told = "everything was run" if resumable.earlier.interruption else "the run is complete"
    done = resumable.closed()
    write_reports(done, resumable.directory)
    if not options.quiet:
        _say(console, f"{resumable.directory}: {told}; its reports are made again")
        console.print(summary(done), highlight=False, soft_wrap=True)
    _say(console, f"report: {resumable.directory / 'report.html'}")
    return EXIT_CODES[done.verdict]


def _check_shareable(made: Session, workers: int) -> None:
    try:
        check_shareable(made.profile, workers)
    except UsageError:
        made.forget()
        raise


def _check(options: RunOptions) -> None:
    if options.workers and options.gateways:
        raise UsageError("cannot be given beside -n", where="--tx", hint="processes of this machine are --tx 2*popen")


def _through_pytest(given: list[str], part: ProgressLine | Selection) -> int:
    """pytest, of whose plugins and options only those take part that are asked for here."""
    alone = environment({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": None, "PYTEST_PLUGINS": None})
    with alone, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a cache that cannot be written, for one: it is the run that is told of
        return int(pytest.main(given, plugins=[part]))


def _judge_the_end(progress: ProgressLine, status: int, hint: str = "") -> None:
    """Raises Ended where pytest's status is no verdict; `hint`: where there is something to be read about it."""
    ending, crash = progress.ending, progress.crash
    if ending is None or not progress.finished:  # pytest never came to run anything; it has said why
        if progress.interrupted:
            raise Ended(_BEFORE, EXIT_INTERRUPTED)
        raise Ended("nothing was run", plugin.USAGE if status != pytest.ExitCode.INTERNAL_ERROR else items.BROKEN)
    if ending.failure:
        hint = f"the traceback is in {crash}" if crash else hint
        raise Ended(ending.failure, status, hint=hint)
    if progress.run is None and (ending.interrupted or progress.interrupted):
        raise Ended(_BEFORE, EXIT_INTERRUPTED)
    if progress.run is None:
        raise Ended("no check matches the selection", status, hint="`conformance list --checks` shows what there is")


def _cache(profile: Path) -> Path:
    """Where pytest keeps what failed the last time: for each profile apart."""
    own = f"{profile.stem}-{sha256(str(profile.resolve()).encode()).hexdigest()[:12]}"
    return cache_directory() / own


def arguments(options: RunOptions) -> list[str]:
    """pytest's command line for a run: nothing of the current folder's configuration takes part.

    The suite's own options are no part of it: the session has them.
    """
    assert options.profile is not None
    plugins = "-p conformance.runner.plugin -p conformance.runner.lean_protocol"
    words = [*plugins.split(), "-s", "-c", str(CONFIGURATION)]
    words += [word for name in _UNUSED for word in ("-p", f"no:{name}")]
    words += ["--rootdir", str(PACKAGE), "-o", f"cache_dir={_cache(options.profile)}"]
    words += ["-p", "xdist.plugin"] if options.workers or options.gateways else []
    words += ["--dist=load"] if options.gateways else []
    return [*words, *pytest_words(options), str(PACKAGE / "checks")]
