"""The pytest plugin: `pytest -p conformance.runner.plugin --pyargs conformance.checks --conformance-profile P`.

Each check on each operation in each case is one item. The engine runs what was selected concurrently, and an item only
waits for its own result. Loaded only when asked for; every option begins with `--conformance-`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.expression import Expression  # there is no public way to tell a wrong expression from a right one

import conformance.checks
from conformance.checks.support.registry import Instance
from conformance.client.redaction.secrets import clean_with_all
from conformance.core import interrupts
from conformance.core.environ import restore_environment
from conformance.core.errors import ConformanceError, JournalError, Unreachable, UsageError
from conformance.core.exit_codes import EXIT_CODES, EXIT_INTERRUPTED
from conformance.core.model import Level, Outcome, Result, Run, Stability
from conformance.engine.resume import resume_hint
from conformance.engine.session import Session
from conformance.engine.startup import prepare_session
from conformance.journal.outbox import Outbox
from conformance.runner.distributed.worker import LINES
from conformance.runner.fail_fast import FirstFailure
from conformance.runner.items import (
    BROKEN,
    CheckFile,
    CheckItem,
    Ending,
    ending_key,
    erred,
    report_invariant,
    run_key,
    session_key,
)
from conformance.runner.options import options_of
from conformance.runner.options import pytest_addoption as pytest_addoption
from conformance.runner.priority import ordered
from conformance.runner.sharding import in_shard, selection_of

_CHECKS = Path(conformance.checks.__path__[0])
_SHORT = {"warned": "W", "inconclusive": "I", "inapplicable": "-", "unstated": "?", "untested": "U", "broken": "B"}
USAGE = UsageError.exit_code


def pytest_configure(config: pytest.Config) -> None:
    restore_environment()
    for name in (*Stability, *Level):
        config.addinivalue_line("markers", f"{name.value}: checks of {name.value} operations or requirements")
    config.stash[ending_key] = ending = Ending()
    config.pluginmanager.register(ending, "conformance-ending")
    if config.getvalue("maxfail") == 1:
        config.pluginmanager.register(FirstFailure(), "conformance-first-failure")
    if config.pluginmanager.hasplugin("xdist") or config.pluginmanager.hasplugin("xdist.plugin"):
        from conformance.runner.distributed.controller import Gateways
        from conformance.runner.distributed.xdist_scheduling import Sharing

        config.option.maxworkerrestart = "0"  # a process that crashed has spoilt the run: nobody takes its place
        gateways = Gateways(config)
        config.pluginmanager.register(gateways, "conformance-gateways")
        config.pluginmanager.register(Sharing(config, gateways), "conformance-sharing")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if session_key in config.stash:  # the commands bring their own
        return
    try:
        own = prepare_session(*options_of(config), collect_only=config.option.collectonly)
        if own.unreachable:
            _report_unreachable(own, own.unreachable)
            raise own.unreachable
        config.stash[session_key] = own
    except ConformanceError as error:
        pytest.exit(clean_with_all(str(error)), returncode=error.exit_code)
    except Exception as error:  # noqa: BLE001 a crash of the suite has an exit status of its own
        pytest.exit(erred(error), returncode=BROKEN)


def _report_unreachable(own: Session, why: Unreachable) -> None:
    """The reports of a run of which nothing was sent, before any item is collected or a worker starts."""
    from conformance.reports import write_reports

    own.write_head(own.instances)
    own.finish(str(why))
    write_reports(own.assembled(), own.directory)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.parent == _CHECKS and file_path.name.startswith("check_") and file_path.suffix == ".py":
        return CheckFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    own = config.stash[session_key]
    only = set(own.options.only)
    if only:
        dropped = [item for item in items if item.name not in only]
        items[:] = [item for item in items if item.name in only]
        config.hook.pytest_deselected(items=dropped)
    if own.options.shard and not own.earlier:  # of what is resumed the rest is known
        items[:], others = in_shard(items, *own.options.shard_index)
        config.hook.pytest_deselected(items=others)
    items.sort(key=lambda item: isinstance(item, CheckItem) and item.instance.check.exclusive)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    try:
        if not hasattr(session.config, "workerinput"):
            _read_expressions(session.config)
        return (yield)
    except (UsageError, pytest.UsageError) as error:  # pytest's own status for it means "unreachable" here
        session.config.stash[ending_key].fail(str(error), USAGE)
        pytest.exit(str(error), returncode=USAGE)


def _read_expressions(config: pytest.Config) -> None:
    """Before any worker trips over them. Raises UsageError."""
    if config.stash[session_key].options.shard and config.getoption("lf", False):
        raise UsageError("only this machine knows what failed: no other makes shards of that", where="--lf")
    for option, text in (("-k", config.option.keyword), ("-m", config.option.markexpr)):
        try:
            if text:
                Expression.compile(text)
        except Exception as error:  # noqa: BLE001 - SyntaxError from pytest 9 on, one of pytest's own before
            told = f"{error.msg} at column {error.offset}" if isinstance(error, SyntaxError) else str(error)
            raise UsageError(f"{text!r} is no expression: {told}", where=option) from None


# Running


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    config = session.config
    own = config.stash.get(session_key, None)
    if own is None or config.option.collectonly:
        return (yield)
    checks = [item.instance for item in session.items if isinstance(item, CheckItem)]
    if own.part.worker:
        return (yield from _as_worker(own, checks, config))
    splits = bool(config.getoption("dist", "no") != "no")
    if not checks and not splits:
        return (yield)
    return (yield from _as_controller(own, None if splits else checks, session))


def _as_controller(own: Session, checks: list[Instance] | None, session: pytest.Session) -> Iterator[None]:
    """`checks` is None where workers run them; the scheduler then writes the journal's first line."""
    ending = session.config.stash[ending_key]
    stopped = ""
    try:
        if checks is not None:
            with interrupts.defer_signals():
                own.write_head(checks, selection_of(own, session.config))
                if own.unreachable:
                    raise own.unreachable
                own.start(ordered(checks) if own.options.fail_fast else checks)
                outcome = yield
        else:
            outcome = yield
        stopped = str(session.shouldfail or session.shouldstop or "")
        return outcome
    except (pytest.Session.Interrupted, pytest.Session.Failed) as stop:  # -x and its kin
        stopped = str(stop)
        raise
    except KeyboardInterrupt as signal:
        ending.interrupt()
        stopped = str(signal) or "SIGINT"
        raise
    except pytest.exit.Exception as left:
        stopped = str(left)
        raise
    except ConformanceError as error:
        ending.fail(str(error), BROKEN if isinstance(error, JournalError) else error.exit_code)
        stopped = str(error)
        pytest.exit(str(error), returncode=ending.exit_code)
    except Exception as error:
        stopped = erred(error)
        raise
    finally:
        interrupts.ignore_first_signal()
        _conclude(session, own, stopped)


def _as_worker(own: Session, checks: list[Instance], config: pytest.Config) -> Iterator[None]:
    from conformance.runner.distributed.xdist_scheduling import SECRETS, share_of

    share = share_of(checks, config)
    own.schedule(ordered(share) if own.options.fail_fast else share)  # the controller asks for the first
    try:
        with interrupts.handle_worker_signals():
            return (yield)
    finally:
        own.finish()
        last_word: dict[str, Any] = config.workeroutput  # type: ignore[attr-defined]
        last_word[SECRETS] = sorted(own.secrets.values)
        if isinstance(own.journal, Outbox):
            last_word[LINES] = own.journal.drain()


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(config: pytest.Config) -> Iterator[None]:
    """A process elsewhere sends what it wrote along with its reports."""
    data: Any = yield
    own = config.stash.get(session_key, None)
    if own is not None and own.part.keys is not None and isinstance(own.journal, Outbox):
        data[LINES] = own.journal.drain()
    return data  # type: ignore[no-any-return]


def _conclude(session: pytest.Session, own: Session, stopped: str) -> None:
    """The run out of its journal; the invariants, which are judged on all of it, reported as items of their own."""
    try:
        try:
            if sharing := session.config.pluginmanager.getplugin("conformance-sharing"):
                sharing.end_workers(stopped)
            own.join_workers()
        finally:
            own.finish(stopped)
        if not own.planned:
            return
        run = own.assembled()
    except JournalError as error:
        session.config.stash[ending_key].fail(str(error))
        return
    session.config.stash[run_key] = run
    shown = [result for result in run.results if _is_shown(result, run)]
    session.testscollected += len(shown)
    for result in shown:
        report_invariant(session.config, result)


def _is_shown(result: Result, run: Run) -> bool:
    """Invariants; in a filtered run, of what was sent only."""
    untested = result.outcome is Outcome.UNTESTED
    return result.check.startswith("invariant::") and not (run.filtered and untested)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: Any = yield
    if isinstance(item, CheckItem) and (call.when == "call" or report.failed):
        told = item.result if call.when == "call" else None
        report.conformance_outcome = told.outcome.value if told else "untested" if report.skipped else "crashed"
    return report  # type: ignore[no-any-return]


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    outcome = getattr(report, "conformance_outcome", "")
    if report.when == "call" and outcome in _SHORT and outcome != "broken":
        return outcome, _SHORT[outcome], outcome.upper()
    return None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Reports are written, and the exit status becomes the suite's own (design, Exit codes)."""
    run = session.config.stash.get(run_key, None)
    own = session.config.stash.get(session_key, None)
    if own is None or own.part.worker or session.config.option.collectonly:
        return
    if run is None:
        own.forget()
    else:
        _write_reports(run, own, session.config.stash[ending_key])
    session.exitstatus = _status(session, run)


def _write_reports(run: Run, own: Session, ending: Ending) -> None:
    from conformance.reports import write_reports

    try:
        write_reports(run, own.directory)
    except ConformanceError as error:
        ending.fail(f"{error}; `conformance report {own.directory}` makes them from the journal")


def _status(session: pytest.Session, run: Run | None) -> int:
    ending = session.config.stash[ending_key]
    told = session.exitstatus
    if ending.failure:
        return ending.exit_code
    if ending.interrupted or (run is None and told is pytest.ExitCode.INTERRUPTED):
        return EXIT_INTERRUPTED
    if run is not None:
        code = EXIT_CODES[run.verdict]
        return int(pytest.ExitCode.TESTS_FAILED) if ending.others_failed and not code else code
    return USAGE if told is pytest.ExitCode.NO_TESTS_COLLECTED else int(told)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    run = config.stash.get(run_key, None)
    failure = config.stash[ending_key].failure
    if run is not None or failure:
        terminalreporter.section("conformance")
    if run is not None:
        from conformance.reports.terminal import summary_lines

        for line in summary_lines(run):
            terminalreporter.write_line(line)
        own = config.stash[session_key]
        terminalreporter.write_line(f"report: {own.directory / 'report.html'}")
        if hint := resume_hint(own, run):
            terminalreporter.write_line(hint)
    if failure:
        terminalreporter.write_line(f"error: {failure}", red=True)
