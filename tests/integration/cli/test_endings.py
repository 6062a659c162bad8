"""Runs that do not come to their end: signals, a target that dies, a disk that is full. None looks like a verdict."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conformance.runner import embedded_reference as embedded
from tests.support.commands import TIMEOUT_S, Desk, checks, passed, run_json, wait_until
from tests.support.terminal import terminal

pytestmark = pytest.mark.e2e

SELECTION = "check_authentication or check_bodies or check_idempotency"


def begun(desk: Desk, *given: object, **rest: Any) -> subprocess.Popen[str]:
    """A run of hundreds of checks that has journalled its first results; what needs no request is not counted."""
    command = ["-m", "conformance", "run", *desk.target(), "--report-dir", "out", "-k", SELECTION]
    process = desk.started([*command, "--concurrency", "2", *map(str, given)], **rest)
    journals = lambda: list((desk.place / "out").glob("journal*.ndjson"))
    wait_until(lambda: passed(journals()) >= 20, process)
    return process


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert "Traceback" not in out + err
    return process.returncode, out, err


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: signal.Signals(number).name
)
def test_an_interrupted_run_reports_what_it_had(desk: Desk, number: signal.Signals) -> None:
    """Exit 130, the verdict is `incomplete`, every report is there, and what did not run is listed as untested."""
    process = begun(desk)
    process.send_signal(number)
    code, out, err = ended(process)
    run = run_json(desk.place / "out")
    assert (code, err) == (130, "")
    assert (run["verdict"], run["complete"], run["interrupted"]) == ("incomplete", False, number.name)
    assert "report: out/report.html" in out
    assert (desk.place / "out" / "report.html").stat().st_size > 10_000
    assert desk.journal()[0]["kind"] == "run"
    untested = [r for r in run["results"] if r["outcome"] == "untested" and not r["check"].startswith("invariant")]
    assert untested
    assert {result["message"] for result in untested} == {f"not run: {number.name}"}
    assert set(checks(run)) == planned(desk)


@pytest.mark.parametrize("split", [(), ("-n", "2")], ids=["one process", "two"])
def test_a_run_whose_terminal_is_closed_has_its_reports(desk: Desk, split: tuple[str, ...]) -> None:
    """The kernel sends SIGHUP to the processes of the terminal, and what they print then is lost."""
    with terminal(desk, "run", *desk.target(), "--report-dir", "out", "-k", SELECTION, *split) as screen:
        wait_until(lambda: passed(list((desk.place / "out").glob("journal*.ndjson"))) >= 20, screen.process)
        assert screen.hang_up() == 130
    run = run_json(desk.place / "out")
    assert (run["verdict"], run["complete"], run["interrupted"]) == ("incomplete", False, "SIGHUP")
    assert (desk.place / "out" / "report.html").stat().st_size > 10_000


SIGNALLED = """
import signal, sys
from conformance import cli
from conformance.engine import session
from conformance.engine.scheduler import Engine
owner, name = eval(sys.argv.pop(1)), sys.argv.pop(1)
before, number = getattr(owner, name), int(sys.argv.pop(1))
def signalled(*given, **named):
    signal.raise_signal(number)
    return before(*given, **named)
setattr(owner, name, signalled)
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "where", ["session.Session write_head", "session load_sender", "Engine __init__", "Engine start", "Engine submit"]
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: signal.Signals(number).name)
def test_a_run_that_is_interrupted_while_it_begins_has_its_reports(
    desk: Desk, number: signal.Signals, where: str
) -> None:
    """What was going to be judged is written down, nothing or next to nothing is sent, and all of it is untested."""
    words = [*where.split(), str(int(number)), "run", *desk.target(), "--report-dir", "out", "-k", SELECTION]
    code, _, err = ended(desk.started(["-c", SIGNALLED, *words]))
    run = run_json(desk.place / "out")
    assert (code, err) == (130, "")
    assert (run["verdict"], run["interrupted"]) == ("incomplete", number.name)
    assert set(checks(run)) == planned(desk)


def planned(desk: Desk) -> set[tuple[str, str, str]]:
    return {(p["check"], p["operation"], p["case"]) for p in desk.journal()[0]["planned"]}


def test_ctrl_c_ends_all_processes_of_a_split_run(desk: Desk) -> None:
    """A terminal sends the signal to each of them; one report tells what all of them had."""
    process = begun(desk, "-n", "2")
    os.killpg(process.pid, signal.SIGINT)
    code, _, _ = ended(process)
    run = run_json(desk.place / "out")
    assert (code, run["complete"], run["verdict"]) == (130, False, "incomplete")
    assert len([o for o in checks(run).values() if o != "untested"]) >= 20
    assert not list((desk.place / "out").glob("journal-*"))


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_two_signals_at_once_are_no_error_of_the_suite(desk: Desk, second: signal.Signals) -> None:
    """A service manager sends SIGTERM and SIGHUP together: the second one hits what handles the first."""
    process = begun(desk, "-n", "2")
    process.send_signal(signal.SIGTERM)
    process.send_signal(second)
    code, out, err = ended(process)
    run = run_json(desk.place / "out")
    assert (code, run["complete"], run["verdict"]) == (130, False, "incomplete"), out + err


@pytest.mark.slow
@pytest.mark.parametrize("split", [(), ("-n", "2")], ids=["one process", "two"])
def test_of_a_killed_run_the_journal_is_left_and_makes_a_report(desk: Desk, split: tuple[str, ...]) -> None:
    """SIGKILL leaves no time for anything. `conformance report` makes a report of what there was."""
    process = begun(desk, *split)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=TIMEOUT_S)
    assert not (desk.place / "out" / "run.json").exists()
    done = desk.conformance("report", "out")
    assert done.code == 0, done.err
    run = run_json(desk.place / "out")
    outcomes = list(checks(run).values())
    assert (run["verdict"], run["complete"], run["interrupted"]) == ("incomplete", False, "killed")
    assert outcomes.count("passed") >= 15
    assert "untested" in outcomes
    assert "killed" in (desk.place / "out" / "report.html").read_text()


@pytest.mark.slow
def test_a_target_that_dies_ends_the_run_soon_and_without_a_verdict(tmp_path: Path) -> None:
    """Silence is not an answer that could be wrong: exit 3, never 0 or 1, and no waiting for each of the rest."""
    with embedded.reference() as service:
        desk = Desk(tmp_path, service)
        process = begun(desk, "--concurrency", "16")
        (reference,) = children_of(os.getpid(), "reference", service.base_url)
        os.kill(reference, signal.SIGKILL)
        started = time.monotonic()
        code, out, _ = ended(process)
        took = time.monotonic() - started
    run = run_json(desk.place / "out")
    assert took < 15, "nothing more is sent, and no fixture is made"
    assert (code, run["verdict"], run["complete"]) == (3, "incomplete", False), out
    assert "failed" not in checks(run).values()
    assert "stopped answering" in out


def children_of(parent: int, word: str, url: str) -> list[int]:
    """The processes that this one started and that listen where the URL says."""
    port = f"{int(url.rpartition(':')[2]):04X}"
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, command = int(stat.parent.name), (stat.parent / "cmdline").read_text()
            is_child = int(stat.read_text().rpartition(")")[2].split()[1]) == parent
            if is_child and word in command and port in listening_ports(pid):
                found.append(pid)
        except OSError:
            continue
    return found


def listening_ports(pid: int) -> set[str]:
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a connection that was closed meanwhile
            target = str(link.readlink())
            if target.startswith("socket:"):
                inodes.add(target[8:-1])
    rows = [row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return {row[1].split(":")[1] for row in rows if row[9] in inodes}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "split"),
    [(4_000, ()), (400_000, ()), (400_000, ("-n", "2"))],
    ids=["at once", "in the middle", "in the middle, two processes"],
)
def test_a_full_disk_is_the_suites_trouble(desk: Desk, limit: int, split: tuple[str, ...]) -> None:
    """No file may grow beyond a limit, as on a full disk: exit 5, one line, and nothing that looks like a verdict."""
    command = ["run", *desk.target(), "-q", "--report-dir", "out", "-k", SELECTION, *split]
    process = desk.started(
        ["-m", "conformance", *map(str, command)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        env={"PYTHONDONTWRITEBYTECODE": "1"},  # Python would cut its own files off, and never read them again
    )
    code, out, err = ended(process)
    (line,) = err.splitlines()
    assert code == 5, out + err
    assert "out" in line and "File too large" in line and "free some space" not in line
    assert "`ulimit -f`" in line
    assert ("report: " in out) is (desk.place / "out" / "report.html").exists()


@pytest.mark.parametrize("limit", [16, 20])
def test_too_few_file_handles_are_the_environments_trouble(desk: Desk, limit: int) -> None:
    """Exit 5; the one line says what is lacking, how much there is, and what to do."""
    process = desk.started(
        ["-m", "conformance", "run", *desk.target(), "-q", "--report-dir", "out", "-k", "getApiKeyIdentity"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )
    code, out, err = ended(process)
    (line,) = err.splitlines()
    assert code == 5, out + err
    assert re.search(rf"Too many open files.*the limit of open files, which is {limit}.*lower --concurrency", line)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("list", "--checks"), 0),
        (("--help",), 0),
        (("run", "--help"), 0),
        (("run", "--profile", "nowhere.toml"), 2),
        (("nonsense",), 2),
    ],
    ids=["list", "help", "help of run", "no profile", "no command"],
)
@pytest.mark.parametrize("streams", ["a closed pipe", "a full disk behind stderr", "no UTF-8"])
def test_no_trouble_with_telling_looks_like_a_verdict(
    desk: Desk, words: tuple[str, ...], expected: int, streams: str
) -> None:
    """Nobody reads any more, the log's disk is full, a console takes few characters: the exit code is what it was."""
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") as full:
        to = {"a closed pipe": (writer, writer), "a full disk behind stderr": (subprocess.DEVNULL, full)}
        out, err = to.get(streams, (subprocess.DEVNULL, subprocess.DEVNULL))
        command = [sys.executable, "-m", "conformance", *words]
        environment = {**os.environ, "PYTHONIOENCODING": "cp1252"} if streams == "no UTF-8" else None
        done = subprocess.run(command, cwd=desk.place, stdout=out, stderr=err, env=environment, timeout=TIMEOUT_S)
    os.close(writer)
    assert done.returncode == expected


@pytest.mark.parametrize("options", [(), ("-q",)], ids=["all", "quiet"])
def test_a_run_whose_output_has_no_room_goes_on(desk: Desk, options: tuple[str, ...]) -> None:
    """Exit 5 and one line, which says that the reports are there: they are, and complete."""
    with Path("/dev/full").open("wb") as full:
        command = [
            "-m",
            "conformance",
            "run",
            *desk.target(),
            *options,
            "--report-dir",
            "out",
            "-k",
            "AUTH-1 and getApi",
        ]
        done = desk.finished(desk.started(command, stdout=full))
    assert done.code == 5, done.err
    assert re.search(r"standard output: No space left .*reports, are complete; free some space", done.one_line())
    assert run_json(desk.place / "out")["complete"] and (desk.place / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "code"), [(("list",), 5), (("--help",), 5), (("run", "--profile", "nowhere.toml"), 2)], ids=str
)
def test_output_without_room_is_an_error(desk: Desk, words: tuple[str, ...], code: int) -> None:
    """Of any command; where the command itself fails, its own code says more."""
    with Path("/dev/full").open("wb") as full:
        done = desk.finished(desk.started(["-m", "conformance", *words], stdout=full))
    assert done.code == code, done.err
    assert ("standard output: No space left on device" in done.one_line()) is (code == 5)


def test_two_interrupts_at_once_end_a_command_as_interrupted(desk: Desk) -> None:
    """Whatever they hit: its start, a run, or what says that it was interrupted. Never 1, which is a verdict."""
    for pause_s in (0.3, 0.5, 0.7, 0.9, 1.1):
        process = desk.started(["-m", "conformance", "run", *map(str, desk.target()), "--report-dir", f"o{pause_s}"])
        time.sleep(pause_s)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        out, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode in (130, -signal.SIGINT), out + err


@pytest.mark.slow
def test_too_few_descriptors_are_the_suites_trouble(desk: Desk) -> None:
    """What this machine could not send, the target did not fail to answer: no red row, and no verdict."""
    process = desk.started(
        ["-m", "conformance", "run", *map(str, desk.target()), "-q", "--report-dir", "out", "-k", "AUTH-1 or NF-1"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)),
    )
    code, out, err = ended(process)
    assert code == 5, out + err
    journal = (desk.place / "out" / "journal.ndjson").read_text()
    assert "this machine cannot open a connection" in journal
    assert '"outcome":"failed"' not in journal


@pytest.mark.slow
def test_a_run_that_nobody_waits_for_leaves_no_reference_behind(tmp_path: Path, desk: Desk) -> None:
    """`demo` starts a service of its own; it ends with the command, however that ends."""
    process = desk.started(["-m", "conformance", "demo", "--report-dir", "out"])
    wait_until((desk.place / "out" / "journal.ndjson").exists, process)
    target = descendants(process.pid)
    assert target
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not any(is_running(pid) for pid in target))


def is_running(pid: int) -> bool:
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_text())
    except OSError:
        return False


def descendants(parent: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{parent}/task").iterdir():
        found += [int(pid) for pid in (task / "children").read_text().split()]
    return found
