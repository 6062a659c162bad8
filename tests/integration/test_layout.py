"""The layout of the tests: it mirrors the package, so that nobody has to look for a module's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.paths import ROOT

TESTS = ROOT / "tests"
UNIT_TESTS = sorted((TESTS / "unit").rglob("test_*.py"))
FOLDERS = {"benchmarks", "hostile", "integration", "matrix", "support", "unit"}


def names_in(room: Path) -> list[str]:
    """What a room holds: its modules, packages and data files, and the room itself."""
    return [room.name, *(path.stem for path in room.iterdir() if not path.name.startswith("_"))]


@pytest.mark.parametrize("path", UNIT_TESTS, ids=lambda path: str(path.relative_to(TESTS / "unit")))
def test_a_unit_test_stands_where_its_module_does(path: Path) -> None:
    """`tests/unit/ROOM/test_MODULE.py`, or `test_MODULE_TOPIC.py` where a module has several files of tests."""
    room = ROOT / "conformance" / path.parent.relative_to(TESTS / "unit")
    assert room.is_dir()
    name = path.stem.removeprefix("test_")
    assert any(name == module or name.startswith(f"{module}_") for module in names_in(room))


def test_every_room_has_unit_tests_or_commands_that_drive_it() -> None:
    """Rooms without a folder of unit tests have one of integration tests."""
    rooms = {path.name for path in (ROOT / "conformance").iterdir() if (path / "__init__.py").is_file()}
    tested = {path.name for kind in ("unit", "integration") for path in (TESTS / kind).iterdir() if path.is_dir()}
    assert rooms <= tested


def test_there_are_no_other_folders() -> None:
    """What drives the whole is in one of three folders; what tests share is in `support`."""
    found = {path.name for path in TESTS.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert found == FOLDERS


def test_no_file_of_tests_is_longer_than_400_lines() -> None:
    long = [path for path in TESTS.rglob("*.py") if path.read_text(encoding="utf-8").count("\n") > 400]
    assert long == []
