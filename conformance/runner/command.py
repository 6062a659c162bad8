"""Runs the checks through pytest, for the commands: a live progress line, a summary, an exit code."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from conformance.checks.support.registry import Instance
from conformance.core import interrupts
from conformance.core.environ import environment
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.exit_codes import EXIT_CODES, EXIT_INTERRUPTED
from conformance.core.model import Run
from conformance.core.package import CONFIGURATION, PACKAGE, cache_directory
from conformance.engine import resume as resuming
from conformance.engine.open_context import load_sender
from conformance.engine.options import Options
from conformance.engine.session import Session
from conformance.engine.startup import prepared
from conformance.profile.shares import check_shareable
from conformance.reports import write_reports
from conformance.reports.terminal import summary
from conformance.runner import items, plugin
from conformance.runner.progress import ProgressLine, to_a_person
from conformance.runner.sharding import parsed_shard

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


@dataclass(frozen=True)
class Asked:
    """What the command line asked for, beyond the run's own options."""

    profile: Path | None
    """Needed, unless a run is resumed."""
    base_url: str | None = None
    variables: Sequence[str] = ()
    report_dir: Path | None = None
    concurrency: int | None = None
    deadline_s: float | None = None
    seed: int | None = None
    examples: int | None = None
    limits: Sequence[str] = ()
    """`NAME=VALUE`, in place of the profile's."""
    only: Sequence[str] = ()
    keyword: str = ""
    markers: str = ""
    workers: str = ""
    gateways: Sequence[str] = ()
    """Of execnet: `ssh=host`, `socket=host:port`, `2*popen`."""
    shard: str = ""
    """Which part of the run, and of how many: `2/4`."""
    fail_fast: bool = False
    last_failed: bool = False
    quiet: bool = False
    command: str = ""
    """What a person types to run this again; empty: made from the rest."""
    resume: Path | None = None
    """The folder of the run to go on with."""


class Ended(ConformanceError):
    """The run is over, without a verdict on the target; says why, and how the command ends."""

    def __init__(self, what: str, exit_code: int, **rest: str) -> None:
        super().__init__(what, **rest)
        self.exit_code = exit_code


def run(asked: Asked, console: Console | None = None) -> int:
    """Runs and reports; the exit code of design. Raises ConformanceError where there is no verdict to report."""
    console = console or to_a_person()
    splits = bool(asked.workers or asked.gateways)
    with interrupts.as_exceptions():
        held = None
        if asked.resume is not None:
            _refuse_changes(asked)
            held = resuming.hold(asked.resume)
            if not held.earlier.left:
                return _closed(held, asked, console)
            asked = _as_before(asked, held)
        made = prepared(options(asked, held), held=held, meanwhile=None if splits else _load_sender)
        if asked.workers.isdigit():
            _check_shareable(made, int(asked.workers))
        if made.unreachable:
            asked = replace(asked, workers="", gateways=(), quiet=True)
        progress = ProgressLine(console, made, quiet=asked.quiet)
        try:
            status = int(_through_pytest(arguments(asked), progress))
        except KeyboardInterrupt:  # not where pytest waits for one, but while the end is written
            if not made.planned:
                raise
            raise Ended("interrupted", EXIT_INTERRUPTED, hint=resuming.to_go_on(made)) from None
        finally:
            progress.close()
            made.forget()
    if progress.run is not None and not made.unreachable:
        _show(progress.run, made, console, quiet=asked.quiet)
    _judge_the_end(progress, status, f"report: {made.directory}" if made.unreachable else "")
    return status


def _show(run: Run, made: Session, console: Console, *, quiet: bool) -> None:
    """What a person reads at the end; with `quiet`, only where the report is."""
    if not quiet:
        console.print(summary(run), highlight=False, soft_wrap=True)
    if (page := made.directory / "report.html").exists():  # a full disk has no room for it
        _say(console, f"report: {page}")
    if not quiet and (hint := resuming.to_go_on(made, run)):
        _say(console, hint)


def plan(asked: Asked) -> list[str]:
    """What the run that is asked for would send, as lines. Sends nothing. Raises ConformanceError."""
    from conformance.setup.plan.plan import lines
    from conformance.setup.plan.plan import plan as made_plan

    made = prepared(replace(options(asked), dry=True), collect_only=True)
    selection = Selection(made)
    _through_pytest(
        [*arguments(replace(asked, workers="", gateways=(), last_failed=False)), "--collect-only"], selection
    )
    if not selection.chosen:
        why = selection.ending.failure if selection.ending else ""
        raise Ended(why or "no check matches the selection", plugin.USAGE)
    return list(lines(made_plan(made.profile, made.contract, selection.chosen, made.concurrency)))


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


def _refuse_changes(asked: Asked) -> None:
    """Raises UsageError where another run is asked for than the one that is to go on."""
    given = {
        "-k": asked.keyword,
        "-m": asked.markers,
        "--only": asked.only,
        "--lf": asked.last_failed,
        "--seed": asked.seed is not None,
        "--examples": asked.examples is not None,
        "--report-dir": asked.report_dir,
        "--shard": asked.shard,
    }
    if named := ", ".join(option for option, value in given.items() if value):
        raise UsageError(f"{named} cannot be given", where="--resume", hint="they are those of the run that goes on")


def _as_before(asked: Asked, held: resuming.Held) -> Asked:
    """What was asked for when the run began, with what may be said anew."""
    before = held.asked(asked.profile)
    return replace(
        asked,
        profile=before.profile,
        base_url=asked.base_url or before.base_url,
        variables=[*(f"{name}={value}" for name, value in before.variables.items()), *asked.variables],
        report_dir=held.directory,
        seed=before.seed,
        examples=before.examples,
        shard=f"{before.shard[0] + 1}/{before.shard[1]}" if before.shard[1] > 1 else "",
        limits=[*(f"{name}={value}" for name, value in before.limits.items()), *asked.limits],
        command=before.command,
    )


def _closed(held: resuming.Held, asked: Asked, console: Console) -> int:
    """The reports of a run of which nothing is left to be run, and its exit code."""
    told = "everything was run" if held.earlier.ended else "the run is complete"
    done = held.closed()
    write_reports(done, held.directory)
    if not asked.quiet:
        _say(console, f"{held.directory}: {told}; its reports are made again")
        console.print(summary(done), highlight=False, soft_wrap=True)
    _say(console, f"report: {held.directory / 'report.html'}")
    return EXIT_CODES[done.verdict]


def _check_shareable(made: Session, workers: int) -> None:
    try:
        check_shareable(made.profile, workers)
    except UsageError:
        made.forget()
        raise


def options(asked: Asked, held: resuming.Held | None = None) -> Options:
    if asked.workers and asked.gateways:
        raise UsageError("cannot be given beside -n", where="--tx", hint="processes of this machine are --tx 2*popen")
    if asked.profile is None:
        raise UsageError("no profile was given", where="--profile", hint="name the target's TOML file")
    for option, pairs in (("--var", asked.variables), ("--limit", asked.limits)):
        for pair in pairs:
            if "=" not in pair:
                raise UsageError(f"{pair!r} sets nothing", where=option, hint="write NAME=VALUE")
    return Options(
        profile=asked.profile,
        base_url=asked.base_url,
        variables=dict(pair.split("=", 1) for pair in asked.variables),
        limits=dict(pair.split("=", 1) for pair in asked.limits),
        report_dir=asked.report_dir,
        concurrency=asked.concurrency,
        deadline_s=asked.deadline_s,
        seed=asked.seed,
        examples=asked.examples,
        shard=parsed_shard(asked.shard) if asked.shard else (0, 1),
        command=asked.command,
        fail_fast=asked.fail_fast,
        earlier=held.earlier if held else None,
    )


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


def arguments(asked: Asked) -> list[str]:
    """pytest's command line for a run: nothing of the current folder's configuration takes part."""
    assert asked.profile is not None
    plugins = "-p conformance.runner.plugin -p conformance.runner.lean_protocol"
    given = [*plugins.split(), "-s", "-c", str(CONFIGURATION)]
    given += [word for name in _UNUSED for word in ("-p", f"no:{name}")]
    given += ["--rootdir", str(PACKAGE), "-o", f"cache_dir={_cache(asked.profile)}"]
    given += ["--conformance-profile", str(asked.profile)]
    pairs: list[tuple[str, Any]] = [
        ("--conformance-base-url", asked.base_url),
        ("--conformance-report-dir", asked.report_dir),
        ("--conformance-concurrency", asked.concurrency),
        ("--conformance-deadline", asked.deadline_s),
        *(("--conformance-limit", pair) for pair in asked.limits),
        ("--conformance-seed", asked.seed),
        ("--conformance-examples", asked.examples),
        ("--conformance-shard", asked.shard or None),
        ("-k", asked.keyword or None),
        ("-m", asked.markers or None),
    ]
    for option, value in pairs:
        given += [option, str(value)] if value is not None else []
    for option, values in (("--conformance-var", asked.variables), ("--conformance-only", asked.only)):
        for value in values:
            given += [option, value]
    if asked.workers:
        given += ["-p", "xdist.plugin", "-n", asked.workers]
    if asked.gateways:
        given += ["-p", "xdist.plugin", "--dist=load", *(f"--tx={spec}" for spec in asked.gateways)]
    given += ["-x"] if asked.fail_fast else []
    given += ["--lf"] if asked.last_failed else []
    return [*given, str(PACKAGE / "checks")]
