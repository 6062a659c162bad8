"""The figure over all modes: how many canaries there were, where was searched, and how many were found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.canary.desk import Canaries, canaries


@dataclass
class Tally:
    """What was searched in the whole session."""

    modes: dict[str, int] = field(default_factory=dict)
    """Mode -> its canaries."""
    bytes: int = 0
    found: int = 0

    def nothing_in(self, own: Canaries, mode: str) -> None:
        """Asserts that no canary is anywhere, after something was looked at."""
        leaks = own.leaks()
        self.found += sum(map(len, leaks.values()))
        self.modes[mode] = len(own.keys) + len(own.seen)
        self.bytes += sum(path.stat().st_size for path in own.desk.place.rglob("*") if path.is_file())
        assert own.watch.samples > 3
        assert leaks == {}


_TALLY = Tally()


@pytest.fixture
def tally() -> Tally:
    return _TALLY


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Canaries:
    """The secrets are kept in another folder than the one that is searched."""
    return canaries(tmp_path_factory.mktemp("place"), tmp_path_factory.mktemp("kept"))


@pytest.fixture(scope="session", autouse=True)
def _told(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    terminal = request.config.pluginmanager.get_plugin("terminalreporter")
    if _TALLY.modes and terminal is not None:
        terminal.write_line("")
        terminal.write_line(
            f"canaries found in outputs: {_TALLY.found}, over {len(_TALLY.modes)} modes with "
            f"{sum(_TALLY.modes.values()):,} canaries, in {_TALLY.bytes / 1e6:.0f} MB of files"
        )


def kept(own: Canaries) -> Path:
    """Where the secrets are kept."""
    return Path(own.desk.extra["XDG_DATA_HOME"])
