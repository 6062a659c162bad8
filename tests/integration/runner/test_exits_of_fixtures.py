"""A fixture's function that ends the process ends no run: it is a fixture's failure, and the run has its reports."""

from __future__ import annotations

import pytest

from tests.support.commands import REFERENCE, Desk, run_json

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("source", ["import os\ndef merchant(context):\n    os._exit(0)\n", "import os\nos._exit(0)\n"])
def test_a_run_whose_fixture_ends_the_process(desk: Desk, source: str) -> None:
    """It ended with 0 and without a verdict, as a conformant target does."""
    (desk.place / "leaving.py").write_text(source)
    stated = 'http = { method = "POST", url = "{var.control}/fixtures/merchant/stocked" }'
    (desk.place / "mine.toml").write_text(REFERENCE.read_text().replace(stated, 'python = "leaving.py:merchant"', 1))
    schemas = REFERENCE.with_name("reference.schemas.yaml")
    (desk.place / schemas.name).write_text(schemas.read_text())
    target = ["--profile", "mine.toml", *desk.target()[2:]]
    done = desk.conformance("run", *target, "-k", "check_public", "--report-dir", "out")
    assert done.code == 3, done.text
    assert "os._exit(0)" in done.out
    assert run_json(desk.place / "out")["verdict"] == "incomplete"
