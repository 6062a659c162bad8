"""What each manner of load cost, told at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Tell = Callable[[str, Any], None]


@pytest.fixture
def tell(record_property: Tell) -> Tell:
    return record_property


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for report in terminalreporter.stats.get("passed", ()):
        for name, value in report.user_properties:
            if name == "load":
                terminalreporter.write_line(f"{report.nodeid.partition('::')[2]}: {value}")
