"""Each wall of the house holds: a forbidden import, added to a copy of the package, breaks its contract."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"]
FORBIDDEN = {
    "a lower floor imports a higher one": ("core/errors.py", "conformance.judge.verdict", "Ten floors"),
    "rooms of one floor": ("profile/model.py", "conformance.reports.junit", "Ten floors"),
    "a room without a floor": ("annex/__init__.py", "conformance.core.errors", "Ten floors"),
    "a loose module": ("annex.py", "conformance.core.errors", "Ten floors"),
    "reports look at the contract": ("reports/junit.py", "conformance.contract", "import no room of the suite"),
    "reports read the journal": ("reports/junit.py", "conformance.journal.journal", "import no room of the suite"),
    "the reference reads the contract": ("reference/app.py", "conformance.contract", "import no room of the suite"),
    "the reference uses the model": ("reference/app.py", "conformance.core.model", "Of the core the reference"),
    "the reference uses a report": ("reference/app.py", "conformance.reports.junit", "Of the core the reference"),
    "a check knows the reference": ("checks/check_oauth.py", "conformance.reference.policy", "the rooms that start it"),
    "the judge knows the reference": ("judge/verdict.py", "conformance.reference.policy", "the rooms that start it"),
    "a circle": ("journal/journal.py", "conformance.journal.run_directory", "No import circles"),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "conformance", place / "conformance", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


@pytest.mark.parametrize("case", FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_forbidden_import_is_found(case: tuple[str, str, str], copy: Path) -> None:
    """Each in the contract that forbids it."""
    name, imported, contract = case
    path = copy / "conformance" / name
    before = path.read_bytes() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_bytes((before or b"") + f"\nimport {imported}\n".encode())
    try:
        done = subprocess.run(LINT, cwd=copy, capture_output=True, text=True)
    finally:
        path.unlink() if before is None else path.write_bytes(before)
        if before is None and path.name == "__init__.py":
            shutil.rmtree(path.parent)
    shown = " ".join(done.stdout.split())
    assert done.returncode == 1
    broken = [part.rpartition(" KEPT ")[2] for part in shown.split(" BROKEN")[:-1]]
    assert any(contract in part for part in broken), shown[-1500:]


def test_the_copy_itself_breaks_no_wall(copy: Path) -> None:
    """Without a forbidden import every contract is kept."""
    done = subprocess.run(LINT, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-1500:]
