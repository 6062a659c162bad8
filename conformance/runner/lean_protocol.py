"""A pytest plugin for the commands, where no other plugin looks on: an item is called and reported, and nothing is set
up, captured or taken down for what no check has. That is half of what pytest does for each of thousands of items.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from conformance.runner.items import CheckItem


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """What pytest keeps for the next run is no part of this one: where it cannot be written, pytest before 9.2 would
    end without a report."""
    if (cache := getattr(config, "cache", None)) is not None:
        written = cache.set

        def set_if_possible(key: str, value: Any) -> None:
            with contextlib.suppress(OSError):
                written(key, value)

        cache.set = set_if_possible


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """pytest's own for an item that is no check. Raises KeyboardInterrupt, and pytest's Exit, as that does."""
    if not isinstance(item, CheckItem):
        return None
    call = pytest.CallInfo.from_call(item.runtest, when="call", reraise=(pytest.exit.Exception, KeyboardInterrupt))
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    item.ihook.pytest_runtest_logreport(report=report)
    return True
