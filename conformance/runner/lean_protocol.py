"""A pytest plugin for the commands: calls and reports an item without set-up, capture and teardown.

Checks use none of them. That halves pytest's own work for each of thousands of items.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from conformance.runner.items import CheckItem


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Makes pytest's cache ignore OSError: pytest before 9.2 would end without a report if it cannot be written."""
    if (cache := getattr(config, "cache", None)) is not None:
        write = cache.set

        def set_if_possible(key: str, value: Any) -> None:
            with contextlib.suppress(OSError):
                write(key, value)

        cache.set = set_if_possible


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Handles checks; other items are left to pytest. Raises KeyboardInterrupt and pytest's Exit, like pytest."""
    if not isinstance(item, CheckItem):
        return None
    call = pytest.CallInfo.from_call(item.runtest, when="call", reraise=(pytest.exit.Exception, KeyboardInterrupt))
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    item.ihook.pytest_runtest_logreport(report=report)
    return True
