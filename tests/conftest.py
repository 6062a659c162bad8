"""Which tests a run takes, and what all of them share."""

from __future__ import annotations

import signal
from collections import Counter

import pytest
from hypothesis import settings

from tests.support.fixtures import answer, big, desk, hostile, scripted, served, small, unused_port

__all__ = ["answer", "big", "desk", "hostile", "scripted", "served", "small", "unused_port"]

settings.register_profile("no deadline", settings(), deadline=None)  # the machine may be busy: no test is about time
settings.load_profile("no deadline")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="every case of the slow tests, not only a sample of them")


def pytest_configure() -> None:
    """A shell that starts a job in the background lets it ignore SIGINT, and children inherit that.

    A handler of our own that does nothing is not inherited: the commands that tests start react to SIGINT everywhere.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is marked `slow`, unless `-m`, `--all` or an id asks for it.

    Of what one `slow(every=N)` marks, the cases of a test or a module, `-m` takes each Nth, and none where N is 0;
    `--all` takes all.
    """
    if config.getoption("all") or any("::" in argument for argument in config.args):
        return
    selected = bool(config.getoption("markexpr"))
    seen: Counter[int] = Counter()
    excluded = []
    for item in items:
        marker = item.get_closest_marker("slow")
        if marker is None:
            continue
        every = marker.kwargs.get("every", 1)
        if not selected or not every or seen[id(marker)] % every:
            excluded.append(item)
        seen[id(marker)] += 1
    if excluded:
        config.hook.pytest_deselected(items=excluded)
        gone = set(excluded)
        items[:] = [item for item in items if item not in gone]
