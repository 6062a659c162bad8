"""The wheel: built, installed away from the checkout, and run from a folder that has nothing to do with it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.commands import TIMEOUT_S, Desk, checks, run_json, shared_reference
from tests.support.paths import ROOT

pytestmark = pytest.mark.e2e

INSIDE = (
    "profiles/template.toml",
    "profiles/reference.toml",
    "profiles/reference.schemas.yaml",
    "contract/openapi.yaml",
    "contract/requirements.yaml",
    "profile/profile.schema.json",
    "profile/facts.schema.json",
    "journal/journal.schema.json",
    "reports/run.schema.json",
    "reports/page/templates/report.html.j2",
    "reports/page/templates/report.css",
    "runner/isolated.ini",
)
AUTH = "getApiKeyIdentity and AUTH-1"

pytestmark = pytest.mark.skipif(not find_spec("hatchling"), reason="the wheel is built with hatchling")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps"]
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        *quiet,
        "--no-build-isolation",
        "--wheel-dir",
        str(target),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True, text=True)
    (found,) = target.glob("*.whl")
    return found


@pytest.fixture
def elsewhere(wheel: Path, tmp_path: Path) -> Desk:
    """A folder outside the checkout, in which the wheel's content comes before any other installation."""
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    (tmp_path / "work").mkdir()
    return Desk(tmp_path / "work", shared_reference(), {"PYTHONPATH": str(installed)})


def test_all_that_is_no_python_is_inside(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert [name for name in INSIDE if f"conformance/{name}" not in names] == []
    assert [name for name in names if "test" in name.lower() or "__pycache__" in name] == []
    assert (
        "conformance = conformance.__main__:main"
        in zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    )


def test_it_is_the_wheels_code_that_runs(elsewhere: Desk) -> None:
    program = """
import conformance
from conformance.runner.embedded_reference import bundled_profiles
print(conformance.__file__, bundled_profiles())
"""
    process = elsewhere.started(["-c", program])
    out, _ = process.communicate(timeout=TIMEOUT_S)
    module, profiles = out.split()
    assert Path(module).is_relative_to(elsewhere.place.parent / "installed")
    assert (Path(profiles) / "template.toml").is_file()
    assert elsewhere.conformance("--help").code == 0


@pytest.mark.slow
def test_run_certifies_a_target(elsewhere: Desk) -> None:
    """With the profile that is inside the wheel."""
    profile = elsewhere.place.parent / "installed" / "conformance" / "profiles" / "reference.toml"
    target = ["--profile", profile, *elsewhere.target()[2:]]
    done = elsewhere.conformance("run", *target, "-q", "-k", AUTH, "--report-dir", "out")
    assert done.code == 3, done.text
    assert set(checks(run_json(elsewhere.place / "out")).values()) == {"passed"}


@pytest.mark.slow
def test_demo_runs(elsewhere: Desk) -> None:
    done = elsewhere.conformance("demo", "-k", AUTH)
    assert done.code == 3, done.text
    (folder,) = (elsewhere.place / "reports").iterdir()
    assert run_json(folder)["verdict"] == "incomplete"
    assert (folder / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_plain_pytest_runs(elsewhere: Desk) -> None:
    done = elsewhere.pytest("-k", AUTH, "--conformance-report-dir", "out")
    assert done.code == 3, done.text
    assert "a filtered run certifies nothing" in done.out
