"""The pytest plugin: `pytest -p conformance.plugin --pyargs conformance.checks --conformance-profile P`.

Each check on each operation in each case is one item. The engine runs what was selected concurrently, and an item only
waits for its own result. Loaded only when asked for; every option begins with `--conformance-`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import conformance.checks
from conformance.checks.registry import Instance
from conformance.engine.engine import Stopped
from conformance.errors import ConformanceError
from conformance.judge.verdict import EXIT_CODES, EXIT_INTERRUPTED
from conformance.model import Level, Outcome, Result, Run, Stability
from conformance.reach import reach
from conformance.session import Options, Session

_CHECKS = Path(conformance.checks.__path__[0])
_SHORT = {"warned": "W", "inconclusive": "I", "inapplicable": "-", "untested": "U", "broken": "B"}
_INTERRUPTED_KEY = "conformance_interrupted"

session_key = pytest.StashKey[Session]()
run_key = pytest.StashKey[Run]()


class CheckFailed(Exception):
    """A check failed; the message is all there is to say."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "conformance of a Commerce Service implementation")
    group.addoption("--conformance-profile", metavar="FILE", help="the target's profile (TOML); required")
    group.addoption("--conformance-base-url", metavar="URL", help="instead of the profile's base_url")
    group.addoption(
        "--conformance-var", metavar="NAME=VALUE", action="append", default=[], help="overrides one of [variables]"
    )
    group.addoption("--conformance-report-dir", metavar="DIR", help="an empty folder for the reports")
    group.addoption("--conformance-concurrency", metavar="N", type=int, help="requests in flight at once")
    group.addoption("--conformance-deadline", metavar="SECONDS", type=float, help="the whole run")
    group.addoption("--conformance-seed", metavar="N", type=int, help="for generated requests")
    group.addoption(
        "--conformance-only", metavar="NAME", action="append", default=[], help="just the item of that name; repeatable"
    )


def options_of(config: pytest.Config) -> Options:
    """Raises pytest.UsageError on an option that makes no sense."""
    get = config.getoption
    if not get("--conformance-profile"):
        raise pytest.UsageError("--conformance-profile FILE is needed: it says what the target leaves open")
    variables = {}
    for pair in get("--conformance-var"):
        name, equals, value = pair.partition("=")
        if not equals:
            raise pytest.UsageError(f"--conformance-var {pair}: NAME=VALUE is needed")
        variables[name] = value
    told = getattr(config, "workerinput", {}).get("conformance", {})
    report_dir = told.get("directory") or get("--conformance-report-dir")
    return Options(
        profile=Path(get("--conformance-profile")),
        base_url=get("--conformance-base-url"),
        variables=variables,
        report_dir=Path(report_dir) if report_dir else None,
        concurrency=get("--conformance-concurrency"),
        deadline_s=get("--conformance-deadline"),
        seed=told.get("seed", get("--conformance-seed")),
        worker=getattr(config, "workerinput", {}).get("workerid", ""),
        run=told.get("run", ""),
    )


def pytest_configure(config: pytest.Config) -> None:
    for name in (*Stability, *Level):
        config.addinivalue_line("markers", f"{name.value}: checks of {name.value} operations or requirements")
    if config.pluginmanager.hasplugin("dsession") or config.pluginmanager.hasplugin("xdist"):
        from conformance.sharing import Sharing

        config.pluginmanager.register(Sharing(config), "conformance-sharing")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.option.collectonly and not session.config.getoption("--conformance-profile"):
        raise pytest.UsageError("--conformance-profile FILE is needed to collect: cases depend on it")
    try:
        made = Session(options_of(session.config))
        if made.options.worker:
            assert made.options.report_dir is not None
            made.directory = made.options.report_dir
        elif not session.config.option.collectonly:
            reach(made.profile)
            made.claim()
    except ConformanceError as error:
        pytest.exit(str(error), returncode=error.exit_code)
    except pytest.UsageError as error:
        pytest.exit(str(error), returncode=2)
    session.config.stash[session_key] = made


# Collection


class CheckFile(pytest.File):
    """One `check_<subject>.py`: its items are the instances that the profile calls for."""

    def collect(self) -> Iterator[CheckItem]:
        subject = self.path.stem
        for instance in self.config.stash[session_key].instances:
            if instance.check.subject == subject:
                yield CheckItem.from_parent(self, name=instance.name, instance=instance)


class CheckItem(pytest.Item):
    """One check on one operation in one case."""

    def __init__(self, *, instance: Instance, **rest: Any) -> None:
        super().__init__(**rest)
        self.instance = instance
        self.result: Result | None = None
        level = self.config.stash[session_key].contract.requirements[instance.check.requirement].level
        for mark in (instance.operation.stability.value, level.value, *_names(instance)):
            self.extra_keyword_matches.add(mark)
        self.add_marker(instance.operation.stability.value)
        self.add_marker(level.value)

    def runtest(self) -> None:
        __tracebackhide__ = True
        try:
            self.result = result = self.config.stash[session_key].result(self.instance)
        except Stopped as stopped:
            pytest.skip(f"not run: {stopped}")
        if result.outcome in (Outcome.FAILED, Outcome.BROKEN):
            raise CheckFailed(describe(result))
        if result.outcome in (Outcome.INCONCLUSIVE, Outcome.INAPPLICABLE, Outcome.UNTESTED):
            pytest.skip(f"{result.outcome.value}: {result.message}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, CheckFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


def _names(instance: Instance) -> tuple[str, ...]:
    return instance.check.requirement, instance.operation.id


def describe(result: Result) -> str:
    """A failure in a few lines."""
    lines = [f"{result.requirement}: {result.message}"]
    if result.expected:
        lines.append(f"expected {result.expected}, observed {result.observed or 'something else'}")
    if result.exchanges:
        lines.append(f"exchanges {', '.join(result.exchanges)} in the journal")
    return "\n".join(lines)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.parent == _CHECKS and file_path.name.startswith("check_") and file_path.suffix == ".py":
        return CheckFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    only = set(config.getoption("--conformance-only"))
    if only:
        dropped = [item for item in items if item.name not in only]
        items[:] = [item for item in items if item.name in only]
        config.hook.pytest_deselected(items=dropped)
    items.sort(key=lambda item: isinstance(item, CheckItem) and item.instance.check.exclusive)


# Running


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    config = session.config
    own = config.stash.get(session_key, None)
    checks = [item.instance for item in session.items if isinstance(item, CheckItem)]
    splits = bool(config.getoption("dist", "no") != "no")
    if own is None or config.option.collectonly or (not checks and not splits):
        return (yield)
    if own.options.worker:
        return (yield from _as_worker(own, checks, config))
    interrupted = ""
    try:
        own.write_head(checks if not splits else own.instances)
        if not splits:
            own.start(checks)
        outcome = yield
        interrupted = str(session.shouldfail or session.shouldstop or "")
        return outcome
    except KeyboardInterrupt:
        interrupted = "SIGINT"
        setattr(config, _INTERRUPTED_KEY, True)
        raise
    except ConformanceError as error:
        pytest.exit(str(error), returncode=error.exit_code)
    finally:
        own.finish(interrupted)
        _conclude(session, own)


def _as_worker(own: Session, checks: list[Instance], config: pytest.Config) -> Iterator[None]:
    from conformance.sharing import share_of

    own.start(share_of(checks, config))
    try:
        return (yield)
    finally:
        own.finish()


def _conclude(session: pytest.Session, own: Session) -> None:
    """The run out of its journal; the invariants, which are judged on all of it, reported as items of their own."""
    own.join_workers()
    run = own.assembled()
    session.config.stash[run_key] = run
    for result in run.results:
        if result.check.startswith("invariant::"):
            _report_invariant(session.config, result)


def _report_invariant(config: pytest.Config, result: Result) -> None:
    nodeid = f"conformance/checks/invariants.py::{result.requirement}[{result.operation}]"
    location = ("conformance/checks/invariants.py", None, f"{result.requirement}[{result.operation}]")
    failed = result.outcome in (Outcome.FAILED, Outcome.BROKEN)
    skipped = result.outcome in (Outcome.INCONCLUSIVE, Outcome.INAPPLICABLE, Outcome.UNTESTED)
    longrepr: Any = describe(result) if failed else (location[0], 0, result.message) if skipped else None
    config.hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
    for when in ("setup", "call", "teardown"):
        call = when == "call"
        report = pytest.TestReport(
            nodeid=nodeid,
            location=location,
            keywords={},
            outcome="failed" if failed and call else "skipped" if skipped and call else "passed",
            longrepr=longrepr if call else None,
            when=when,  # type: ignore[arg-type]
            duration=0.0,
            start=time.time(),
            stop=time.time(),
        )
        if call:
            report.conformance_outcome = result.outcome.value  # type: ignore[attr-defined]
        config.hook.pytest_runtest_logreport(report=report)
    config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: Any = yield
    if isinstance(item, CheckItem) and call.when == "call":
        report.conformance_outcome = item.result.outcome.value if item.result else Outcome.UNTESTED.value
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
    if own is None or own.options.worker:
        return
    if run is None:
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and not session.config.option.collectonly:
            session.exitstatus = 2
        _forget(own)
        return
    from conformance.reports import write_reports

    try:
        write_reports(run, own.directory)
    except ConformanceError as error:
        print(f"\nreports: {error}")
        session.exitstatus = 5
        return
    interrupted = getattr(session.config, _INTERRUPTED_KEY, False)
    session.exitstatus = EXIT_INTERRUPTED if interrupted else EXIT_CODES[run.verdict]


def _forget(own: Session) -> None:
    """A folder that was claimed for a run that never began."""
    empty = [path for path in own.directory.glob("journal*.ndjson") if path.stat().st_size == 0]
    for path in empty:
        path.unlink()
    if empty and not any(own.directory.iterdir()):
        own.directory.rmdir()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    run = config.stash.get(run_key, None)
    if run is None:
        return
    from conformance.reports.terminal import summary_lines

    terminalreporter.section("conformance")
    for line in summary_lines(run):
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"report: {config.stash[session_key].directory / 'report.html'}")
