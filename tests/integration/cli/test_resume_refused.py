"""What cannot be resumed: one line gives the reason, and nothing is changed."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.support.commands import REFERENCE, TIMEOUT_S, Desk, shared_reference, wait_until
from tests.support.resume import (
    SELECTION,
    begun,
    cut_short,
    everything,
    resume,
)

pytestmark = pytest.mark.e2e


@pytest.mark.slow
def test_a_run_that_still_goes_on_is_left_alone(desk: Desk) -> None:
    """Two processes never write one journal."""
    process = begun(desk)
    os.killpg(process.pid, signal.SIGSTOP)
    done = resume(desk)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert done.code == 2
    assert "another process is writing it (that run has not ended)" in done.one_line()


@pytest.mark.parametrize(
    "given",
    [
        ("-k", "AUTH-1"),
        ("-m", "stable"),
        ("--only", "x[y]"),
        ("--lf",),
        ("--seed", "1"),
        ("--examples", "3"),
        ("--report-dir", "other"),
    ],
    ids=lambda given: given[0],
)
def test_what_would_make_it_another_run_cannot_be_asked_for(desk: Desk, given: tuple[str, ...]) -> None:
    done = resume(desk, *given)
    assert done.code == 2
    assert f"--resume: {given[0]} cannot be given" in done.one_line()


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A run that was cut short, and is not touched by whoever is refused."""
    desk = Desk(tmp_path_factory.mktemp("stopped"), shared_reference())
    cut_short(desk)
    return desk


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--base-url", "http://127.0.0.1:9"), "its base URL is http://127.0.0.1:{port}, not http://127.0.0.1:9"),
        (("--var", "control=http://127.0.0.1:9"), "the profile reference or a variable has changed"),
    ],
    ids=["base URL", "variable"],
)
def test_another_target_or_profile_is_refused(stopped: Desk, given: tuple[str, ...], told: str) -> None:
    """Exit 2 and one line that says what differs and what to do; nothing in the folder changes."""
    before = everything(stopped.place / "out")
    done = resume(stopped, *given)
    assert done.code == 2
    assert told.format(port=stopped.service.base_url.rpartition(":")[2]) in done.one_line()
    assert "start a new run" in done.text
    assert everything(stopped.place / "out") == before


@pytest.mark.slow
@pytest.mark.parametrize("member", ["contract", "checks"])
def test_another_suite_is_refused(stopped: Desk, desk: Desk, member: str) -> None:
    """Its results would not be comparable with those that there are."""
    (desk.place / "out").mkdir()
    head, *rest = (stopped.place / "out" / "journal.ndjson").read_text().splitlines(keepends=True)
    told = json.loads(head)
    told["suite"][member] = "0" * 64
    (desk.place / "out" / "journal.ndjson").write_text("".join([json.dumps(told) + "\n", *rest]))
    done = resume(desk)
    assert done.code == 2
    assert f"the {member} of the suite changed" in done.one_line()


@pytest.mark.slow
def test_a_profile_that_was_moved_must_be_named(stopped: Desk, desk: Desk) -> None:
    """The run has its path; where no file is there any more, one line says so, with the path."""
    (desk.place / "out").mkdir()
    head, *rest = (stopped.place / "out" / "journal.ndjson").read_text().splitlines(keepends=True)
    gone = str(desk.place / "moved.toml")
    (desk.place / "out" / "journal.ndjson").write_text("".join([head.replace(str(REFERENCE), gone), *rest]))
    done = desk.conformance("run", "--resume", "out")
    assert done.code == 2
    assert f"--resume: the run's profile {gone} was not found (name it with --profile)" in done.one_line()


@pytest.mark.parametrize("journal", [None, b"", b'{"kind":"ru'], ids=["no folder", "empty", "torn"])
def test_without_a_first_line_there_is_nothing_to_go_on_with(desk: Desk, journal: bytes | None) -> None:
    if journal is not None:
        (desk.place / "out").mkdir()
        (desk.place / "out" / "journal.ndjson").write_bytes(journal)
    done = resume(desk)
    assert done.code == 2
    wanted = "there is no run here" if journal is None else "the run ended before its first request"
    assert wanted in done.one_line()


def test_a_demo_does_not_go_on(desk: Desk) -> None:
    """Its target ended with it; nothing claims otherwise."""
    process = desk.started(["-m", "conformance", "demo", "--report-dir", "out", "-k", SELECTION])
    path = desk.place / "out" / "journal.ndjson"
    wait_until(lambda: path.exists() and b'"kind":"result"' in path.read_bytes(), process)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert "resume" not in out
    done = resume(desk)
    assert done.code == 2
    assert "a run whose target has ended cannot be resumed" in done.one_line()
