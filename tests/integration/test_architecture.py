"""The page of architecture shows the rooms that there are, and the rooms are those of the design."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.architecture import PAGE, ROOT, drawn_page, floors, rooms

PACKAGE = ROOT / "conformance"


def test_the_picture_shows_the_package_of_today() -> None:
    """`python -m tests.support.architecture` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    assert drawn_page(page) == page


def test_there_are_fourteen_rooms_on_ten_floors() -> None:
    """Thirteen of them on floors, and the reference service beside them."""
    assert len(floors()) == 10
    assert sorted(room for floor in floors() for room in floor) == sorted(set(rooms()) - {"reference"})
    assert len(rooms()) == 14


def test_no_module_lies_outside_the_rooms() -> None:
    """Beside the rooms stand only `__init__.py` and `__main__.py`."""
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_no_check_file_imports_another() -> None:
    """What check files share stands in `checks/support`, which imports none of them either."""
    found = {
        f"{path.relative_to(PACKAGE)}: {node.module}"
        for path in (PACKAGE / "checks").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and any(name.startswith("conformance.checks.check_") for name in _imported(node))
    }
    assert found == set()


def test_a_room_is_entered_by_what_it_offers() -> None:
    """A module of another room imports only modules and names that a room's `__all__` lists."""
    assert _trespasses(PACKAGE) == []


def _imported(node: ast.ImportFrom) -> list[str]:
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _trespasses(package: Path) -> list[str]:
    offered = {room: _offered(package / room / "__init__.py") for room in rooms()}
    found = []
    for path in package.rglob("*.py"):
        own = path.relative_to(package).parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in _imported(node) if isinstance(node, ast.ImportFrom) else []:
                root, room, entrance = [*name.split("."), "", ""][:3]
                if root == "conformance" and room in offered and room != own and entrance not in ["", *offered[room]]:
                    found.append(f"{path.relative_to(package)}: {name}")
    return found


def _offered(path: Path) -> set[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()
