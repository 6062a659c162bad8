"""No private part of another library is used, but for those listed here, each with its reason beside it in the code."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = sorted((ROOT / "conformance").rglob("*.py"))
USED: Final = {
    # the only parser of regular expressions there is
    ("client/pattern.py", "re._constants"),
    ("client/pattern.py", "re._parser"),
    # pytest has no public way to tell a wrong expression from a right one
    ("runner/plugin.py", "_pytest.mark.expression"),
}
PUBLIC: Final = {"_replace", "_asdict", "_fields", "_make", "_exit"}
"""Documented all the same: of named tuples and of `os`."""


def _private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def _own_names(trees: list[ast.Module]) -> set[str]:
    """Private names that this package itself defines: functions, classes, variables, fields, attributes of `self`."""
    found = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            found |= {node.attr} if isinstance(node.ctx, ast.Store) else set()
    return found


def _used(tree: ast.Module, own: set[str]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _private(node.attr) and node.attr not in own | PUBLIC:
            yield node.attr, node.lineno
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("conformance"):
            for alias in node.names:
                if any(map(_private, f"{node.module}.{alias.name}".split("."))):
                    name = f"{node.module}.{alias.name}" if _private(alias.name) else str(node.module)
                    yield name, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((a.name, node.lineno) for a in node.names if any(map(_private, a.name.split("."))))


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def _found() -> dict[tuple[str, str], tuple[Path, int]]:
    own = _own_names(list(_trees().values()))
    return {
        (path.relative_to(ROOT / "conformance").as_posix(), name): (path, line)
        for path, tree in _trees().items()
        for name, line in _used(tree, own)
    }


def test_private_parts_of_other_packages_are_those_listed() -> None:
    """A name with an underscore in front may change with any release: what uses one is known, and has a reason."""
    assert set(_found()) == USED


def test_each_has_its_reason_beside_it() -> None:
    """A comment in the same line, or in the lines right above."""
    for path, line in _found().values():
        with path.open("rb") as file:
            comments = {t.start[0] for t in tokenize.tokenize(file.readline) if t.type == tokenize.COMMENT}
        assert comments & {line, line - 1}, f"{path.name}, line {line}"


def test_the_search_finds_what_it_is_for() -> None:
    """Imports of private modules and names, and private attributes that are not our own."""
    tree = ast.parse("import _x\nfrom a._b import c\nfrom a import _d\nnode.gateway._io\nself._own\np._replace()\n")
    assert [name for name, _ in _used(tree, {"_own"})] == ["_x", "a._b", "a._d", "_io"]


def test_no_code_is_made_of_a_text() -> None:
    """`exec` of a library's source makes a private part of all of it."""
    for path, tree in _trees().items():
        called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {func.id for func in called if isinstance(func, ast.Name)}
        assert not names & {"exec", "eval", "compile"}, path
