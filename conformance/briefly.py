"""A pytest plugin for the commands, where no other plugin looks on: an item is called and reported, and nothing is set
up, captured or taken down for what no check has. That is half of what pytest does for each of thousands of items.
"""

from __future__ import annotations

import pytest

from conformance.items import CheckItem


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """pytest's own for an item that is no check. Raises KeyboardInterrupt, and pytest's Exit, as that does."""
    if not isinstance(item, CheckItem):
        return None
    call = pytest.CallInfo.from_call(item.runtest, when="call", reraise=(pytest.exit.Exception, KeyboardInterrupt))
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    item.ihook.pytest_runtest_logreport(report=report)
    return True
