"""A crash of the suite is the suite's: outcome `broken` or exit 5, never a verdict on the target."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.commands import TIMEOUT_S, Desk, checks, run_json, wait_until

pytestmark = pytest.mark.e2e

AUTH = "getApiKeyIdentity and AUTH-1"
OUT = ("--conformance-report-dir", "out")

RAISES = """
import conformance.checks.check_authentication as subject
from conformance.checks.support import registry
from dataclasses import replace
async def broken(case, *rest):
    raise KeyError("a bug of ours")
kept = list(registry.all_checks())
name = "a_defective_credential_is_answered_401"
registry.all_checks = None
import conformance.engine.session as session
session.all_checks = lambda: tuple(replace(c, function=broken) if c.name == name else c for c in kept)
"""

CASES_RAISE = """
import conformance.engine.session
from conformance.checks.support import registry
def no_instances(*given):
    raise KeyError("a bug of ours")
conformance.engine.session.instances = no_instances
"""

HOOK_RAISES = """
def pytest_runtest_logfinish(nodeid):
    raise KeyError("a bug of ours")
"""

RESULT_RAISES = """
import conformance.engine.session
def result(self, instance, on_wait):
    raise KeyError("a bug of ours")
conformance.engine.session.Session.result = result
"""

OPENING_RAISES = """
import conformance.engine.session
def open_context(settings):
    raise KeyError("a bug of ours")
conformance.engine.session.open_context = open_context
"""

REPORT_RAISES = """
import conformance.reports.junit
def write_file(run, directory):
    raise KeyError("a bug of ours")
conformance.reports.junit.write_file = write_file
"""

ASSEMBLY_RAISES = """
from conformance.engine.session import Session
def assemble_run(self):
    raise KeyError("a bug of ours")
Session.assemble_run = assemble_run
"""

ORDER_RAISES = """
import conformance.runner.plugin as plugin
def sort(checks, session):
    yield list(checks)[0]
    raise KeyError("a bug of ours")
plugin.sort_for_session = sort
"""


def sabotaged(desk: Desk, source: str) -> list[str]:
    (desk.place / "sabotage.py").write_text(source)
    return ["-p", "sabotage"]


def test_a_check_that_raises_is_broken(desk: Desk) -> None:
    """The others are judged as ever; the run as a whole is `broken`, exit 5."""
    done = desk.pytest(*sabotaged(desk, RAISES), "-k", AUTH, *OUT, env={"PYTHONPATH": str(desk.place)})
    run = run_json(desk.place / "out")
    assert (done.code, run["verdict"]) == (5, "broken"), done.text
    outcomes = {key[0].partition("::")[2]: outcome for key, outcome in checks(run).items()}
    assert outcomes.pop("a_defective_credential_is_answered_401") == "broken"
    assert set(outcomes.values()) == {"passed"}
    message = next(r["message"] for r in run["results"] if r["outcome"] == "broken")
    assert "the suite erred: KeyError: 'a bug of ours' at broken, line" in message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "prefix"),
    [
        (CASES_RAISE, ""),
        (HOOK_RAISES, ""),
        (HOOK_RAISES, "F031"),
        (RESULT_RAISES, ""),
        (OPENING_RAISES, ""),
        (REPORT_RAISES, "F031"),
        (ASSEMBLY_RAISES, ""),
        (ORDER_RAISES, ""),
    ],
    ids=["cases", "hook", "hook, bad target", "result", "opening", "report, bad target", "assembly", "order"],
)
def test_whatever_crashes_is_exit_5(desk: Desk, source: str, prefix: str) -> None:
    """pytest's own statuses for it, 1 and 3, would read as nonconformant and incomplete."""
    given = [*sabotaged(desk, source), "-k", AUTH, *OUT]
    done = desk.pytest(*given, prefix=prefix, env={"PYTHONPATH": str(desk.place)})
    assert done.code == 5, done.text
    assert "a bug of ours" in done.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("conformance.engine.session", "instances"),
        ("conformance.engine.session", "open_context"),
        ("conformance.engine.session", "Session.assemble_run"),
    ],
)
def test_a_crash_under_the_command_is_one_line(desk: Desk, module: str, name: str) -> None:
    """What and where in one line; the traceback, for whoever mends it, in a file."""
    script = (
        f"import sys, {module}\n"
        "def crash(*given, **named):\n    raise KeyError('a bug of ours')\n"
        f"{module}.{name} = crash\n"
        "from conformance.cli import main\nmain(sys.argv[1:])\n"
    )
    process = desk.started(["-c", script, "run", *desk.target(), "-q", "-k", AUTH, "--report-dir", "out"])
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 5, out + err
    assert "Traceback" not in out + err
    (line,) = err.splitlines()
    assert line.startswith("error: the suite erred: KeyError: 'a bug of ours'")
    crash = desk.place / "out" / "suite-error.txt"
    assert not crash.exists() or "in crash" in crash.read_text()


@pytest.mark.slow
def test_a_worker_that_is_killed_makes_the_run_the_suites_trouble(desk: Desk) -> None:
    """What it was about to judge is not judged; the run ends all the same."""
    _, err = split_run(desk, "gw1", signal.SIGKILL, "-k", "check_bodies")
    assert "gw1" in err
    assert not list((desk.place / "out").glob("journal-*"))
    run = run_json(desk.place / "out")
    assert not run["complete"]
    assert run["interrupted"].startswith("worker gw1 ended")


@pytest.mark.slow
def test_the_worker_of_the_exclusive_checks_may_crash(desk: Desk) -> None:
    """The other one has been asked to end by then: it gets none of them, and the run names the crash."""
    out, err = split_run(desk, "gw0", signal.SIGKILL)
    assert "worker gw0 ended" in err and "INTERNAL" not in out + err
    assert run_json(desk.place / "out")["interrupted"].startswith("worker gw0 ended")


@pytest.mark.slow
def test_a_worker_that_hangs_ends_with_the_deadline(desk: Desk) -> None:
    """A stopped process ends neither by its own deadline nor by a signal. It is killed, and the error names it."""
    _, err = split_run(desk, "gw1", signal.SIGSTOP, "--deadline", "8")
    assert "worker gw1 ended" in err
    assert not run_json(desk.place / "out")["complete"]


def split_run(desk: Desk, worker: str, number: signal.Signals, *options: str) -> tuple[str, str]:
    """What a run of two workers prints that ends with 5, since one of them got a signal after its first result."""
    process = desk.started(
        ["-m", "conformance", "run", *desk.target(), "-q", "-n", "2", *options, "--report-dir", "out"]
    )
    part = desk.place / "out" / f"journal-{worker}.ndjson"
    wait_until(lambda: part.exists() and b'"result"' in part.read_bytes(), process)
    os.kill(worker_with(part, process.pid), number)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 5, out + err
    return out, err


def worker_with(path: Path, parent: int) -> int:
    """The child of the run that holds this file open."""
    for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        if any(link.resolve() == path for link in Path(f"/proc/{pid}/fd").iterdir() if link.exists()):
            return int(pid)
    raise AssertionError(f"nobody writes {path}")
