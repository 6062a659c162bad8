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
from conformance.reports import allure


def test_allure_makes_its_report(small: Run, tmp_path: Path) -> None:
    """Every result is a test of the report, invariants too, with the status that it was given."""
    command = os.environ.get("ALLURE")
    if not command:
        assert not os.environ.get("CI"), "ALLURE must name npm's allure 3 where CI is set"
        pytest.skip("ALLURE does not name npm's allure 3 (node_modules/.bin/allure)")
    results = allure.write_file(small, tmp_path)
    given = [command, "generate", str(results), "-o", str(tmp_path / "report")]
    done = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "report" / "index.html").is_file()
    files = (tmp_path / "report" / "data" / "test-results").glob("*.json")
    told = [json.loads(path.read_text()) for path in files]
    assert len(told) == len(small.results)
    given_out = [json.loads(path.read_text()) for path in results.glob("*-result.json")]
    assert Counter(one["status"] for one in told) == Counter(one["status"] for one in given_out)
