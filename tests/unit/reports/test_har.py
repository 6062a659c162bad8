"""The HAR file of a run whose journal was changed."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

from conformance.reports import har
from tests.support.runs import OPERATIONS, exchange, run_of


def test_har_has_no_time_that_no_date_has(tmp_path: Path) -> None:
    """A changed journal may name any second."""
    har.write_file(replace(run_of([]), exchanges=(replace(exchange("x1", OPERATIONS[0]), at=-9e18),)), tmp_path)
    [entry] = json.loads((tmp_path / har.FILE).read_text(encoding="utf-8"))["log"]["entries"]
    assert entry["startedDateTime"].startswith("20")
