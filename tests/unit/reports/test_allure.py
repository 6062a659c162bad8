"""`allure-results/` is read by Allure itself: npm's `allure` 3 makes its report of it.

ALLURE names its command; without it this is skipped, with CI=true that is a failure.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.reports import allure


@pytest.fixture(scope="module")
def command() -> str:
    found = os.environ.get("ALLURE")
    if not found:
        assert not os.environ.get("CI"), "ALLURE must name npm's allure 3 where CI is set"
        pytest.skip("ALLURE does not name npm's allure 3 (node_modules/.bin/allure)")
    return found


def generated(command: str, run: Run, folder: Path) -> Path:
    """The report that Allure makes of a run's folder with its configuration, which it finds there by itself."""
    allure.write_file(run, folder)
    given = [command, "generate", "--cwd", str(folder), "-o", str(folder / "report")]
    done = subprocess.run(given, cwd=folder.parent, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "report"


def _places(report: Path) -> tuple[dict[str, int], dict[str, set[str]]]:
    """By the name of a category as Allure shows it: the number of its results, and the names of its groups."""
    store = json.loads((report / "widgets" / "categories.json").read_text(encoding="utf-8"))
    nodes = store["nodes"]
    roots = [nodes[root] for root in store["roots"]]
    groups = {root["name"]: {nodes[child]["name"] for child in root["childrenIds"]} for root in roots}
    return {root["name"]: root["statistic"]["total"] for root in roots}, groups


def test_allure_makes_its_report(command: str, small: Run, tmp_path: Path) -> None:
    """Every result is a test of the report, invariants too, with the status that it was given."""
    report = generated(command, small, tmp_path)
    assert (report / "index.html").is_file()
    told = [json.loads(path.read_text()) for path in (report / "data" / "test-results").glob("*.json")]
    assert len(told) == len(small.results)
    given_out = [json.loads(path.read_text()) for path in (tmp_path / allure.FOLDER).glob("*-result.json")]
    assert Counter(one["status"] for one in told) == Counter(one["status"] for one in given_out)


def test_allure_shows_our_categories(command: str, small: Run, tmp_path: Path) -> None:
    """A result that did not pass stands in the category of its outcome, waived ones apart; failures by cause."""
    counts, groups = _places(generated(command, small, tmp_path))
    outcomes = Counter(
        "waived" if result.waived_by is not None else str(result.outcome)
        for result in small.results
        if result.outcome is not Outcome.PASSED
    )
    assert counts == {allure.CATEGORIES[outcome][0]: count for outcome, count in outcomes.items()}
    failed = [c for c in small.causes if c.outcome is Outcome.FAILED and c.waived_by is None]
    assert len(groups["Target violates the interface"]) == len(failed)


def test_a_hostile_run_has_the_same_categories(command: str, hostile: Run, tmp_path: Path) -> None:
    """No text of a target or of a profile moves a result into another category, or breaks the configuration."""
    counts, _ = _places(generated(command, hostile, tmp_path))
    assert counts.keys() <= {name for name, _, _ in allure.CATEGORIES.values()}
