"""A summary of what each kind of load cost."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for report in terminalreporter.stats.get("passed", ()):
        for name, value in report.user_properties:
            if name == "load":
                terminalreporter.write_line(f"{report.nodeid.partition('::')[2]}: {value}")
