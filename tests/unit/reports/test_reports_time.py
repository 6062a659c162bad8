"""What rendering may cost: every format, 1,000 results, 20,000 exchanges."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from conformance.core.model import Message, Run
from conformance.core.outcomes import Outcome
from conformance.reports import html
from tests.support.paths import ROOT
from tests.support.runs import OPERATIONS, exchange, result, run_of

MEASURED = """
import json, re, sys, time
from pathlib import Path
from tests.support import runs
from conformance.reports import write_reports
run = runs.big(1_000, 20_000)
started = time.process_time()
written = write_reports(run, Path(sys.argv[1]))
took = time.process_time() - started
peak = re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())  # ru_maxrss remembers the parent's too
print(json.dumps([took, int(peak[1]) / 1024, len(written)]))
"""


def test_every_format_is_rendered_within_8_seconds_and_400_megabytes(tmp_path: Path) -> None:
    """In a process of its own, the run itself included."""
    command = [sys.executable, "-c", MEASURED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=60)
    seconds, megabytes, formats = json.loads(done.stdout)
    assert formats == 8
    assert seconds < 8
    assert megabytes < 400


def test_the_page_of_a_big_run_is_at_most_6_megabytes(big: Run) -> None:
    """It is mailed, attached and opened on phones."""
    assert len(html.render(big).encode()) < 6_000_000


def test_no_target_can_make_the_page_bigger() -> None:
    """1,000 failures, each of another cause, whose every text is long and grows when it is escaped."""
    noise = "<\x00" * 2_000
    bodies = Message((("x", noise),) * 50, noise, len(noise))
    sent = [exchange(f"x{n}", OPERATIONS[n % 20], 500, request=bodies, response=bodies) for n in range(1_000)]
    texts = {"message": noise, "expected": noise, "observed": noise, "case": noise, "notes": (noise,) * 60}
    judged = [
        result("ENV-1", OPERATIONS[n % 20].id, Outcome.FAILED, check=f"c::{n}", exchanges=(f"x{n}",), **texts)
        for n in range(1_000)
    ]
    page = html.render(run_of(judged, sent))
    assert len(page.encode()) <= html.LIMIT
    assert "shortened to keep this page small" in page
