"""What `tests/conftest.py` promises: which tests run, and that they run wherever they are started."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.support.paths import ROOT

SLOW, SAMPLED, NEVER_SAMPLED = pytest.mark.slow, pytest.mark.slow(every=2), pytest.mark.slow(every=0)
CHILD = """
import subprocess, sys
from tests.conftest import pytest_configure
pytest_configure()
show = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
subprocess.run([sys.executable, "-c", show], check=True)
"""


@dataclass
class Config:
    """The part of pytest's configuration that the selection reads; `excluded` is what it left out."""

    markexpr: str = ""
    all: bool = False
    args: tuple[str, ...] = ("tests",)
    excluded: list[Any] = field(default_factory=list)

    def getoption(self, name: str) -> Any:
        return getattr(self, name)

    @property
    def hook(self) -> Any:
        return SimpleNamespace(pytest_deselected=self.pytest_deselected)

    def pytest_deselected(self, items: list[Any]) -> None:
        self.excluded += items


@dataclass(frozen=True, eq=False)
class Item:
    name: str
    marker: pytest.MarkDecorator | None = None

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marker.mark if self.marker else None


ITEMS = [
    Item("ordinary"),
    Item("slow", SLOW),
    *(Item(f"case {number}", SAMPLED) for number in range(3)),
    *(Item(f"dozen {number}", NEVER_SAMPLED) for number in range(2)),
]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (Config(), ["ordinary"]),
        (Config(markexpr="slow or not slow"), ["ordinary", "slow", "case 0", "case 2"]),
        (Config(all=True), [item.name for item in ITEMS]),
        (Config(args=("tests/test_x.py::test_y",)), [item.name for item in ITEMS]),
    ],
    ids=["the test command", "-m", "--all", "by id"],
)
def test_slow_tests_run_when_they_are_asked_for(config: Any, expected: list[str]) -> None:
    """Of cases with `every=2` each second one is the sample; `every=0` is never in it. What is left out is reported."""
    items: list[Any] = list(ITEMS)
    conftest.pytest_collection_modifyitems(config, items)
    assert [item.name for item in items] == expected
    assert len(items) + len(config.excluded) == len(ITEMS)


def test_children_react_to_sigint_where_the_shell_ignores_it() -> None:
    """A background job of a shell ignores SIGINT; the commands that tests interrupt must not."""
    command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", CHILD]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
