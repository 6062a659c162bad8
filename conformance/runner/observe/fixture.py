"""A pytest plugin for a team's own end-to-end tests: `conformance_proxy` is the base URL of an observing proxy.

`pytest -p conformance.runner.observe.fixture --conformance-profile profiles/mine.toml`. Findings are added to the
report of the test that caused them, and to the end of pytest's output; the run's own reports are written too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from conformance.client.redaction.secrets import clean_with_all
from conformance.core.errors import ConformanceError
from conformance.core.messages import plural
from conformance.reports.shaping.text import console_text
from conformance.reports.terminal import verdict_line
from conformance.runner.observe.listening import BackgroundProxy
from conformance.runner.observe.traffic_run import TrafficOptions
from conformance.runner.options import pytest_addoption as add_run_options
from conformance.runner.options import read_options

_proxy_key: Final = pytest.StashKey[BackgroundProxy]()
_summary_key: Final = pytest.StashKey[list[str]]()
_STRICT: Final = "conformance_strict"
_MAX_LINES: Final = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    try:
        add_run_options(parser)
    except ValueError:
        pass  # the plugin of the checks is loaded too, and has added them
    parser.addini(_STRICT, "conformance_proxy answers 502 where the target broke a required requirement", "bool", False)


@pytest.fixture(scope="session")
def conformance_proxy(request: pytest.FixtureRequest) -> Iterator[str]:
    """The base URL of a proxy to the target of `--conformance-profile`; its reports are written at the end."""
    config = request.config
    proxy = _start_proxy(config)
    config.stash[_proxy_key] = proxy
    proxy.label = request.node.name
    yield proxy.base_url
    del config.stash[_proxy_key]
    try:
        run, directory, _ = proxy.stop()
    except ConformanceError as error:
        config.stash[_summary_key] = [f"no report: {error}"]
        return
    findings = [f"{label}: {text}" for label, texts in proxy.findings.items() for text in dict.fromkeys(texts)]
    rest = [f"… and {len(findings) - _MAX_LINES} more"] if len(findings) > _MAX_LINES else []
    lines = [verdict_line(run), *findings[:_MAX_LINES], *rest, f"report: {directory / 'report.html'}"]
    config.stash[_summary_key] = lines


def _start_proxy(config: pytest.Config) -> BackgroundProxy:
    try:
        options, _ = read_options(config)
        assert options.profile is not None
        target = TrafficOptions(options.profile, options.base_url, options.variables, options.report_dir)
        proxy = BackgroundProxy(target, strict=bool(config.getini(_STRICT)))
        proxy.start()
    except ConformanceError as error:
        pytest.exit(clean_with_all(str(error)), returncode=error.exit_code)
    return proxy


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Exchanges belong to the test that runs while they are recorded."""
    if proxy := item.config.stash.get(_proxy_key, None):
        proxy.label = item.nodeid
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    proxy = item.config.stash.get(_proxy_key, None)
    if call.when == "setup" and proxy is not None:
        proxy.label = item.nodeid  # the fixture was set up for this test
    if call.when == "call" and proxy is not None:
        for text in dict.fromkeys(proxy.findings_of(item.nodeid)):
            item.user_properties.append(("conformance", text))
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if call.when == "call":
        texts = [str(value) for name, value in item.user_properties if name == "conformance"]
        if texts:
            report.sections.append((f"conformance: {plural(len(texts), 'finding')}", "\n".join(texts)))
    return report  # type: ignore[return-value]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if lines := config.stash.get(_summary_key, []):
        terminalreporter.section("conformance of the observed traffic")
        for line in lines:
            terminalreporter.line(console_text(line))
