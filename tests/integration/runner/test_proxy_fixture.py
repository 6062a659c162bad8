"""The recipe of profiles/README.md: a team's own end-to-end tests behind the fixture `conformance_proxy`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.commands import Desk, Done, shared_reference
from tests.support.paths import ROOT

RECIPE = re.search(r"```python\n(import httpx.*?)```", (ROOT / "profiles" / "README.md").read_text(), re.DOTALL)


def run_recipe(place: Path, prefix: str, *words: str, ini: str = "") -> Done:
    assert RECIPE is not None
    desk = Desk(place, shared_reference())
    (place / "test_shop.py").write_text(RECIPE[1])
    target = [word.replace("--", "--conformance-", 1) if word[:2] == "--" else word for word in desk.target(prefix)]
    folder = ["--conformance-report-dir", str(place / "out"), "--junitxml", "junit.xml", "-c", desk.ini()]
    (place / "pytest.ini").write_text(f"[pytest]\n{ini}")
    command = ["-m", "pytest", "-p", "conformance.runner.observe.fixture", *target, *folder, *words, "test_shop.py"]
    return desk.finished(desk.started(command, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}))


def properties(place: Path) -> list[str]:
    """The findings of each test in the JUnit report of the team's own run."""
    found = ElementTree.parse(place / "junit.xml").iterfind(".//testcase/properties/property[@name='conformance']")
    return [item.attrib["value"] for item in found]


def test_a_teams_own_tests_get_the_verdict_at_the_end(tmp_path: Path) -> None:
    """A conforming target: nothing is found, and the reports are there."""
    done = run_recipe(tmp_path, "")
    assert done.code == 0, done.text
    assert "conformance of the observed traffic" in done.out and "INCOMPLETE" in done.out
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["traffic"]["requests"] == 2 and run["counts"]["failed"] == 0
    assert properties(tmp_path) == []


def test_findings_are_added_to_the_test_that_caused_them(tmp_path: Path) -> None:
    """In JUnit and at the end; their own tests pass or fail as before."""
    done = run_recipe(tmp_path, "F010")
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    failed = {result["requirement"] for result in run["results"] if result["outcome"] == "failed"}
    assert failed and properties(tmp_path), done.text
    assert {text.split()[0] for text in properties(tmp_path)} == failed
    assert "test_shop.py::test_" in done.out.partition("conformance of the observed traffic")[2]


@pytest.mark.parametrize("words", [["--conformance-profile", "none.toml"], []])
def test_a_wrong_profile_ends_with_one_line(tmp_path: Path, words: list[str]) -> None:
    """Exit 2; the line names the file."""
    done = run_recipe(tmp_path, "", *words) if words else None
    assert done is None or (done.code == 2 and "none.toml" in done.text)
