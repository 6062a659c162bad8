"""What each hostile mode cost, told with its test and summed up at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Tell = Callable[[str, Any], None]


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Tell:
    """Keeps a figure with the test: in junit.xml, and in the line at the end."""
    return lambda name, value: request.node.user_properties.append((name, value))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, ()) if r.when == "call"]
    told = {r.nodeid.partition("::")[2]: dict(r.user_properties) for r in reports}
    figures = {name: found for name, found in told.items() if "tree_mb" in found}
    if not figures:
        return
    late = max(figures, key=lambda name: figures[name]["beyond_deadline_s"])
    big = max(figures, key=lambda name: figures[name]["tree_mb"])
    terminalreporter.write_line(
        f"hostile modes: {len(figures)}; longest {figures[late]['beyond_deadline_s']} s beyond its deadline ({late}); "
        f"largest tree {figures[big]['tree_mb']} MB ({big})"
    )
