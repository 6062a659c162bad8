"""The pytest plugin: `pytest -p conformance.runner.plugin --pyargs conformance.checks --conformance-profile P`.

Each check on each operation in each case is one item. The engine runs the selected ones concurrently, and an item waits
only for its own result. pytest does not load it by itself; every option begins with `--conformance-`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.expression import Expression  # no public function validates an expression

import conformance.checks
from conformance.checks.support.registry import Instance
from conformance.client.redaction.output import redact_output
from conformance.client.redaction.secrets import clean_with_all
from conformance.core import interrupts
from conformance.core.environ import restore_environment
from conformance.core.errors import ConformanceError, JournalError, Unreachable, UsageError
from conformance.core.exit_codes import EXIT_CODES, EXIT_INTERRUPTED
from conformance.core.model import Result, Run
from conformance.core.outcomes import WAIVED, Level, Outcome, Stability
from conformance.core.strict_json import replace_surrogates
from conformance.engine.resume import resume_hint
from conformance.engine.session import Session
from conformance.engine.startup import prepare_session
from conformance.journal.outbox import Outbox
from conformance.judge.verdict import names_result
from conformance.reports.shaping.text import visible_name
from conformance.runner.distributed.worker import LINES
from conformance.runner.fail_fast import FirstFailure, is_failure_of_a_worker
from conformance.runner.items import (
    EXIT_BROKEN,
    CheckFile,
    CheckItem,
    Ending,
    describe_crash,
    describe_report,
    ending_key,
    left_out_key,
    report_invariant,
    run_key,
    session_key,
)
from conformance.runner.options import pytest_addoption as pytest_addoption
from conformance.runner.options import read_options
from conformance.runner.priority import select_for_depth, sort_for_session
from conformance.runner.sharding import describe_selection, split_items

_CHECKS = Path(conformance.checks.__path__[0])
_STATUS_LETTERS = {
    "warned": "W",
    "inconclusive": "I",
    "inapplicable": "-",
    "unstated": "?",
    "untested": "U",
    "broken": "B",
    WAIVED: "w",
}
EXIT_USAGE = UsageError.exit_code


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main() -> Iterator[Any]:
    """What fixtures print with `-s` is redacted, in each process of the run."""
    with redact_output():
        return (yield)


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
        from conformance.runner.distributed.xdist_scheduling import WorkerShares

        config.option.maxworkerrestart = "0"  # a crashed worker breaks the run: it is not replaced
        gateways = Gateways(config)
        config.pluginmanager.register(gateways, "conformance-gateways")
        config.pluginmanager.register(WorkerShares(config, gateways), "conformance-sharing")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if session_key in config.stash:  # the commands have set theirs
        return
    try:
        run_session = prepare_session(*read_options(config), collect_only=config.option.collectonly)
        if run_session.unreachable:
            _report_unreachable(run_session, run_session.unreachable)
            raise run_session.unreachable
        config.stash[session_key] = run_session
    except ConformanceError as error:
        pytest.exit(clean_with_all(str(error)), returncode=error.exit_code)
    except Exception as error:  # noqa: BLE001 a crash of the suite has an exit status of its own
        pytest.exit(describe_crash(error), returncode=EXIT_BROKEN)


def _report_unreachable(run_session: Session, problem: Unreachable) -> None:
    """Writes the reports of a run without requests, before items are collected or workers started."""
    from conformance.reports import write_reports

    run_session.write_head(run_session.instances)
    run_session.finish(str(problem))
    write_reports(run_session.assemble_run(), run_session.directory)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.parent == _CHECKS and file_path.name.startswith("check_") and file_path.suffix == ".py":
        return CheckFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    run_session = config.stash[session_key]
    only_names = set(run_session.options.only)
    if only_names:
        dropped = [item for item in items if item.name not in only_names]
        items[:] = [item for item in items if item.name in only_names]
        config.hook.pytest_deselected(items=dropped)
    run_ids = select_for_depth([item.instance for item in items if isinstance(item, CheckItem)], run_session)
    if (
        run_session.options.shard and not run_session.previous_segments
    ):  # a resumed run has the open checks of its shard only
        items[:], other_shards = split_items(items, *run_session.options.shard_index)
        config.hook.pytest_deselected(items=other_shards)
    left_out = [item for item in items if isinstance(item, CheckItem) and item.instance.id not in run_ids]
    config.stash[left_out_key] = [item.instance for item in left_out]
    if left_out:
        left_out_ids = {item.instance.id for item in left_out}
        items[:] = [i for i in items if not isinstance(i, CheckItem) or i.instance.id not in left_out_ids]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: isinstance(item, CheckItem) and item.instance.check.exclusive)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    try:
        if not hasattr(session.config, "workerinput"):
            _validate_expressions(session.config)
        return (yield)
    except (UsageError, pytest.UsageError) as error:  # pytest's own status for it means "unreachable" here
        session.config.stash[ending_key].fail(str(error), EXIT_USAGE)
        pytest.exit(str(error), returncode=EXIT_USAGE)


def _validate_expressions(config: pytest.Config) -> None:
    """Validates -k, -m and --lf before a worker reads them. Raises UsageError."""
    if config.stash[session_key].options.shard and config.getoption("lf", False):
        raise UsageError("not available with shards, which do not know the last failures", where="--lf")
    for option, text in (("-k", config.option.keyword), ("-m", config.option.markexpr)):
        try:
            if text:
                Expression.compile(text)
        except Exception as error:  # noqa: BLE001 - SyntaxError from pytest 9 on, one of pytest's own before
            description = f"{error.msg} at column {error.offset}" if isinstance(error, SyntaxError) else str(error)
            raise UsageError(f"{text!r} is not a valid expression: {description}", where=option) from None


# Running


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    config = session.config
    run_session = config.stash.get(session_key, None)
    if run_session is None or config.option.collectonly:
        return (yield)
    checks = [item.instance for item in session.items if isinstance(item, CheckItem)]
    if run_session.part.worker:
        return (yield from _as_worker(run_session, checks, config))
    is_split = bool(config.getoption("dist", "no") != "no")
    if not checks and not is_split:
        return (yield)
    return (yield from _as_controller(run_session, None if is_split else checks, session))


def _as_controller(run_session: Session, checks: list[Instance] | None, session: pytest.Session) -> Iterator[None]:
    """`checks` is None where workers run them; the scheduler then writes the journal's first line."""
    ending = session.config.stash[ending_key]
    stop_reason = ""
    try:
        if checks is not None:
            with interrupts.defer_signals():
                left_out = session.config.stash[left_out_key]
                run_session.write_head(checks, describe_selection(run_session, session.config), left_out)
                if run_session.unreachable:
                    raise run_session.unreachable
                run_session.start(checks, sort_for_session(checks, run_session))
                outcome = yield
        else:
            outcome = yield
        stop_reason = str(session.shouldfail or session.shouldstop or "")
        return outcome
    except (pytest.Session.Interrupted, pytest.Session.Failed) as stop:  # -x and similar options
        stop_reason = str(stop)
        raise
    except KeyboardInterrupt as signal:
        if not is_failure_of_a_worker(signal):
            ending.interrupt()
        stop_reason = str(signal) or "SIGINT"
        raise
    except pytest.exit.Exception as exit_request:
        stop_reason = str(exit_request)
        raise
    except ConformanceError as error:
        ending.fail(str(error), EXIT_BROKEN if isinstance(error, JournalError) else error.exit_code)
        stop_reason = str(error)
        pytest.exit(str(error), returncode=ending.exit_code)
    except Exception as error:
        if interrupt := interrupts.find_interrupt(error):
            ending.interrupt()
            stop_reason = str(interrupt) or "SIGINT"
            raise interrupt from None
        stop_reason = describe_crash(error)
        raise
    finally:
        interrupts.ignore_first_signal()
        _assemble_and_report(session, run_session, stop_reason)


def _as_worker(run_session: Session, checks: list[Instance], config: pytest.Config) -> Iterator[None]:
    from conformance.runner.distributed.xdist_scheduling import SECRETS, worker_checks

    share = worker_checks(checks, config)
    run_session.schedule(share, sort_for_session(share, run_session))  # started by the first item
    try:
        with interrupts.handle_worker_signals():
            return (yield)
    finally:
        run_session.finish()
        worker_output: dict[str, Any] = config.workeroutput  # type: ignore[attr-defined]
        worker_output[SECRETS] = sorted(run_session.secrets.values)
        if isinstance(run_session.journal, Outbox):
            worker_output[LINES] = run_session.journal.drain()


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(config: pytest.Config) -> Iterator[None]:
    """A report is sent as text. A worker on another machine sends its new journal lines with it."""
    data: Any = yield
    if data is None:
        return None
    run_session = config.stash.get(session_key, None)
    if run_session is not None and run_session.part.keys is not None and isinstance(run_session.journal, Outbox):
        data[LINES] = run_session.journal.drain()
    return data  # type: ignore[no-any-return]


def _assemble_and_report(session: pytest.Session, run_session: Session, stop_reason: str) -> None:
    """Assembles the run from its journal, and reports its invariants as items."""
    try:
        try:
            if worker_shares := session.config.pluginmanager.getplugin("conformance-sharing"):
                worker_shares.end_workers(stop_reason)
                stop_reason = stop_reason or worker_shares.crash
            run_session.join_workers()
        finally:
            run_session.finish(stop_reason)
        if not run_session.planned_count:
            return
        run = run_session.assemble_run()
    except JournalError as error:
        session.config.stash[ending_key].fail(str(error))
        return
    session.config.stash[run_key] = run
    reported = [result for result in run.results if _is_reported(result, run)]
    session.testscollected += len(reported)
    for result in reported:
        report_invariant(session.config, result)


def _is_reported(result: Result, run: Run) -> bool:
    """Whether a result is an invariant's; in a filtered run, untested ones are left out."""
    untested = result.outcome is Outcome.UNTESTED
    return result.check.startswith("invariant::") and not (run.filtered and untested)


@pytest.hookimpl(wrapper=True, trylast=True)  # before allure writes what was captured
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: Any = yield
    # what a fixture has printed or logged; execnet sends Unicode text only
    report.sections = [(name, clean_with_all(replace_surrogates(text))) for name, text in report.sections]
    if isinstance(item, CheckItem) and (call.when == "call" or report.failed):
        result = item.result if call.when == "call" else None
        report.conformance_outcome = result.outcome.value if result else "untested" if report.skipped else "crashed"
        if result:
            describe_report(report, result)
            report.conformance_waiver = report.failed and _may_be_waived(result, item.config.stash[session_key])
    return report  # type: ignore[no-any-return]


def _may_be_waived(result: Result, run_session: Session) -> bool:
    """Whether a waiver that has not expired names the result; whether it accepts it, the judge decides in the end."""
    today = datetime.now(UTC).date().isoformat()
    return any(waiver.until >= today and names_result(waiver, result) for waiver in run_session.profile.waivers)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    outcome = getattr(report, "conformance_outcome", "")
    if report.when == "call" and outcome in _STATUS_LETTERS and outcome != "broken":
        return outcome, _STATUS_LETTERS[outcome], outcome.upper()
    return None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the reports and sets the suite's own exit status (design, Exit codes)."""
    run = session.config.stash.get(run_key, None)
    run_session = session.config.stash.get(session_key, None)
    if run_session is None or run_session.part.worker or session.config.option.collectonly:
        return
    if run is None:
        run_session.discard_unused_directory()
    else:
        _write_reports(run, run_session, session.config.stash[ending_key])
        _move_waived_reports(run, session.config.pluginmanager.getplugin("terminalreporter"))
    session.exitstatus = _status(session, run)


def _write_reports(run: Run, run_session: Session, ending: Ending) -> None:
    from conformance.decisions.previous_run import with_previous_run
    from conformance.reports import write_reports

    try:
        write_reports(with_previous_run(run, run_session.directory), run_session.directory)
    except ConformanceError as error:
        remedy = f"; `conformance report {run_session.directory_name}` writes them from the journal"
        ending.fail(f"{error}{'' if run_session.journal.write_error else remedy}")


def _move_waived_reports(run: Run, reporter: Any) -> None:
    """Makes pytest count the waived results apart from failures, as the run does."""
    waived_keys = {(r.check, r.operation, r.case) for r in run.results if r.waived_by is not None}
    if reporter is None or not waived_keys:
        return
    for category, reports in list(reporter.stats.items()):
        moved = [report for report in reports if tuple(getattr(report, "conformance_key", ())) in waived_keys]
        reporter.stats[category] = [report for report in reports if report not in moved]
        if not reporter.stats[category]:
            del reporter.stats[category]
        if moved:
            reporter.stats.setdefault(WAIVED, []).extend(moved)


def _status(session: pytest.Session, run: Run | None) -> int:
    ending = session.config.stash[ending_key]
    pytest_status = session.exitstatus
    if ending.failure:
        return ending.exit_code
    if ending.interrupted or (run is None and pytest_status is pytest.ExitCode.INTERRUPTED):
        return EXIT_INTERRUPTED
    if run is not None:
        code = EXIT_CODES[run.verdict]
        return int(pytest.ExitCode.TESTS_FAILED) if ending.others_failed and not code else code
    return EXIT_USAGE if pytest_status is pytest.ExitCode.NO_TESTS_COLLECTED else int(pytest_status)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    run = config.stash.get(run_key, None)
    failure = config.stash[ending_key].failure
    if run is not None or failure:
        terminalreporter.section("conformance")
    if run is not None:
        from conformance.reports.terminal import summary_lines

        writer = config.get_terminal_writer()
        verbose = config.get_verbosity() > 0
        for line in summary_lines(run, writer.fullwidth if writer.hasmarkup else None, verbose=verbose):
            terminalreporter.write_line(line)
        run_session = config.stash[session_key]
        terminalreporter.write_line(f"report: {visible_name(run_session.directory_name)}/report.html")
        if hint := resume_hint(run_session, run):
            terminalreporter.write_line(hint)
    if failure:
        terminalreporter.write_line(f"error: {failure}", red=True)
