"""A fixture's function may change the current folder of the process: every relative path still names the same file."""

from __future__ import annotations

import pytest

from tests.support.commands import REFERENCE, Desk, run_json

pytestmark = pytest.mark.e2e

MOVING = """
import json, os, urllib.request

def merchant(context):
    os.chdir("/")
    request = urllib.request.Request("{control}/fixtures/merchant/stocked", method="POST")
    return json.load(urllib.request.urlopen(request))
"""


def target(desk: Desk) -> list[str]:
    """A profile with such a function, named by a relative path."""
    (desk.place / "moving.py").write_text(MOVING.replace("{control}", desk.service.control_url))
    stated = 'http = { method = "POST", url = "{var.control}/fixtures/merchant/stocked" }'
    (desk.place / "mine.toml").write_text(REFERENCE.read_text().replace(stated, 'python = "moving.py:merchant"', 1))
    schemas = REFERENCE.with_name("reference.schemas.yaml")
    (desk.place / schemas.name).write_text(schemas.read_text())
    return ["--profile", "mine.toml", *desk.target()[2:]]


@pytest.mark.parametrize("split", [(), ("-n", "2")], ids=["one process", "two"])
def test_the_reports_are_in_the_folder_that_was_named(desk: Desk, split: tuple[str, ...]) -> None:
    done = desk.conformance("run", *target(desk), "-k", "check_public", "--report-dir", "out", *split)
    assert (done.code, done.err) == (3, "")
    assert "report: out/report.html\n" in done.out  # as the user types it
    run = run_json(desk.place / "out")
    assert (run["verdict"], run["complete"]) == ("incomplete", True)
    assert (desk.place / "out" / "report.html").is_file()
