"""The rules of the house: floors, types, lint, sizes. Each is a law of design.md or style.md."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SOURCES = sorted((ROOT / "conformance").rglob("*.py"))
TOP_LEVEL = {"pyproject.toml", "README.md", "conformance", "profiles", "tests", "reports"}


def _tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is not a git checkout")
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def _run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]


@pytest.mark.slow
def test_types_are_checked_strictly() -> None:
    """mypy, strict, over the whole package."""
    _run("mypy")


def test_lint_is_clean() -> None:
    """ruff, with every exception justified in pyproject.toml."""
    _run("ruff", "check", ".")


def test_a_module_imports_only_from_lower_floors() -> None:
    """import-linter holds the floors, and that the reference service and the reports know nothing of the rest."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_top_level_holds_six_entries() -> None:
    """Beside them only dot-files."""
    top = {name.split("/")[0] for name in _tracked()}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_has_one_subject_and_fits_a_screenful_or_ten(path: Path) -> None:
    """At most 400 lines a file and 50 a function, and a docstring that says what the module is about."""
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    tree = ast.parse(text)
    assert path.name == "__init__.py" or ast.get_docstring(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 50, f"{node.name} is too long"
