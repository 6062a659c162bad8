"""The figure over all modes: how many canaries there were, where was searched, and how many were found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.canary.canaries import Canaries, canaries


class Tally:
    """Looks into everything that a mode left behind."""

    def __init__(self, tell: Callable[[str, Any], None]) -> None:
        self._tell = tell

    def nothing_in(self, own: Canaries) -> None:
        """Asserts that no canary is anywhere, after something was looked at."""
        leaks = own.leaks()
        size = sum(path.stat().st_size for path in own.desk.place.rglob("*") if path.is_file())
        self._tell("canaries", (len(own.keys) + len(own.seen), size, sum(map(len, leaks.values()))))
        assert own.watch.samples > 3
        assert leaks == {}


@pytest.fixture
def tally(record_property: Callable[[str, Any], None]) -> Tally:
    return Tally(record_property)


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Canaries:
    """The secrets are kept in another folder than the one that is searched."""
    return canaries(tmp_path_factory.mktemp("place"), tmp_path_factory.mktemp("kept"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    told = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        for name, value in report.user_properties
        if name == "canaries"
    ]
    if told:
        canaries_, files, found = (sum(column) for column in zip(*told, strict=True))
        terminalreporter.write_line(
            f"canaries found in outputs: {found}, over {len(told)} modes with {canaries_:,} canaries, "
            f"in {files / 1e6:.0f} MB of files"
        )


def kept(own: Canaries) -> Path:
    """Where the secrets are kept."""
    return Path(own.desk.extra["XDG_DATA_HOME"])
