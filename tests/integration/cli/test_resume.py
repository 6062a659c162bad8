"""`conformance run --resume RUN_DIR`: a run that was cut short goes on where it stopped, or says why it cannot."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import REFERENCE, TIMEOUT_S, Desk, results, run_json, shared_reference, wait_until
from tests.support.resume import (
    LIMITS,
    SELECTION,
    SPLIT,
    begun,
    cut_short,
    everything,
    journals,
    lines,
    name_of,
    resume,
    same,
)

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the selection comes to where nothing interrupts it."""
    desk = Desk(tmp_path_factory.mktemp("whole"), shared_reference())
    done = desk.conformance("run", *desk.target(), "-q", "-k", SELECTION, "--report-dir", "out")
    assert done.code == 3, done.text
    return run_json(desk.place / "out")


@pytest.mark.slow(every=8)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=name_of)
def test_a_resumed_run_comes_to_what_a_whole_one_does(
    desk: Desk, whole: dict[str, Any], number: signal.Signals
) -> None:
    """What had a result keeps it and is not run again; the rest is, under ids and names of its own."""
    cut_short(desk, number=number)
    kept = {line["check"] + line["operation"] + line["case"]: line for line in lines(desk, "result")}
    done = resume(desk)
    run = run_json(desk.place / "out")
    assert (done.code, done.err) == (3, "")
    assert same(run, whole)
    assert (run["complete"], run["interrupted"], run["parts"]) == (True, "", 2)
    told = {line["check"] + line["operation"] + line["case"]: line for line in lines(desk, "result")}
    assert kept.items() <= told.items()
    assert len(told) == len(lines(desk, "result"))
    exchanges = lines(desk, "exchange")
    assert len({line["id"] for line in exchanges}) == len(exchanges) == run["traffic"]["requests"]
    at = {part: [line["at"] for line in exchanges if line["id"][0] == part] for part in "xr"}
    assert min(at["r"]) > max(at["x"])
    (part,) = lines(desk, "resumed")
    assert part["after"] == ("killed" if number is signal.SIGKILL else signal.Signals(number).name)
    assert (part["part"], part["left"]) == (2, len(told) - len(kept))
    assert part["run"] != lines(desk, "run")[0]["run"]


@pytest.mark.slow(every=0)
def test_every_report_says_that_it_was_resumed(desk: Desk) -> None:
    """Once for each time; and they are those of the whole."""
    cut_short(desk)
    cut_short_again(desk)
    done = resume(desk)
    assert "resumed 2 times" in done.out
    assert "resumed 2 times" in (desk.place / "out" / "summary.md").read_text()
    assert "resumed 2 times" in (desk.place / "out" / "report.html").read_text()
    assert run_json(desk.place / "out")["parts"] == 3
    assert "untested" not in results(run_json(desk.place / "out")).values()


def cut_short_again(desk: Desk) -> None:
    command = ["run", "--resume", "out", "--profile", str(REFERENCE), "--concurrency", "1"]
    process = desk.started(["-m", "conformance", *command])
    before = len(lines(desk, "result"))
    path = desk.place / "out" / "journal.ndjson"
    wait_until(lambda: path.read_bytes().count(b'"kind":"result"') >= before + 5, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_its_last_line_says_how_to_go_on_and_that_works(desk: Desk, whole: dict[str, Any]) -> None:
    """Without the profile's path, which the run has, wherever the profile lies."""
    out, _ = cut_short(desk, number=signal.SIGTERM)
    last = out.splitlines()[-1]
    assert last == "resume: conformance run --resume out"
    assert desk.conformance(*last.split()[2:]).code == 3
    assert same(run_json(desk.place / "out"), whole)


def inside(desk: Desk, change: Callable[[str], str] = lambda text: text) -> list[str]:
    """The options of a run whose profile lies in the current folder; `change` is made to it."""
    folder = desk.place / "mine"
    folder.mkdir(exist_ok=True)
    for path in REFERENCE.parent.glob("reference*"):
        (folder / path.name).write_text(path.read_text())
    (folder / "reference.toml").write_text(change(REFERENCE.read_text()))
    return ["--profile", "mine/reference.toml", *desk.target()[2:]]


@pytest.mark.slow(every=0)
def test_a_profile_in_reach_need_not_be_named(desk: Desk, whole: dict[str, Any]) -> None:
    """Base URL and variables are those of the run."""
    out, _ = cut_short(desk, *inside(desk), number=signal.SIGINT)
    assert out.splitlines()[-1] == "resume: conformance run --resume out"
    done = desk.conformance("run", "--resume", "out", "-q")
    assert (done.code, len(done.out.splitlines())) == (3, 1)
    assert done.out.startswith("? INCOMPLETE: ") and done.out.endswith("; report: out/report.html\n")
    assert same(run_json(desk.place / "out"), whole)


@pytest.mark.slow(every=8)
@pytest.mark.parametrize("then", [SPLIT, ()], ids=["two again", "one"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=name_of)
def test_a_split_run_is_resumed_split_or_not(
    desk: Desk, whole: dict[str, Any], number: signal.Signals, then: tuple[str, ...]
) -> None:
    """What its processes left behind is joined first. The signal reached only the one that deals the checks out."""
    process = begun(desk, *SPLIT)
    process.send_signal(number)
    process.communicate(timeout=TIMEOUT_S)
    done = resume(desk, *then)
    assert done.code == 3, done.text
    assert same(run_json(desk.place / "out"), whole)
    assert [path.name for path in journals(desk)] == ["journal.ndjson"]
    sent = [line["id"] for line in lines(desk, "exchange")]
    told = [(line["check"], line["operation"], line["case"]) for line in lines(desk, "result")]
    assert len(sent) == len(set(sent))
    assert len(told) == len(set(told))


@pytest.mark.slow
def test_workers_have_ended_before_their_journals_are_joined(desk: Desk) -> None:
    """A signal to the first process ends all of them, and what they sent until then is in the journal."""
    process = begun(desk, *SPLIT)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, err) == (130, ""), out
    workers = {line["worker"] for line in lines(desk, "end")}
    assert workers == {"gw0", "gw1", ""}
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.slow(every=0)
def test_one_process_is_resumed_by_two(desk: Desk, whole: dict[str, Any]) -> None:
    cut_short(desk, number=signal.SIGINT)
    assert resume(desk, *SPLIT).code == 3
    assert same(run_json(desk.place / "out"), whole)


# Nothing left to do


@pytest.mark.slow
def test_a_complete_run_is_only_told_again(desk: Desk) -> None:
    """It says so, makes the reports again, and ends with the run's own exit code; it needs no profile."""
    desk.conformance("run", *desk.target("F003"), "-k", "ENV-2 or getApiKeyIdentity", "--report-dir", "out")
    before = everything(desk.place / "out")
    names = {path.name for path in (desk.place / "out").iterdir()}
    (desk.place / "out" / "report.html").unlink()
    done = desk.conformance("run", "--resume", "out")
    assert done.code == 1
    assert "out: the run is complete; its reports are written again" in done.out
    assert {path.name for path in (desk.place / "out").iterdir()} == names
    assert journals(desk)[0].read_bytes() == before[journals(desk)[0]]


@pytest.mark.slow
def test_a_run_that_lacks_only_its_end_is_closed(desk: Desk, whole: dict[str, Any]) -> None:
    """Every check has a result: nothing is sent, and the run is complete."""
    desk.conformance("run", *desk.target(), "-q", "-k", SELECTION, "--report-dir", "out")
    path = desk.place / "out" / "journal.ndjson"
    kept = [line for line in path.read_bytes().splitlines(keepends=True) if b'"kind":"end"' not in line]
    path.write_bytes(b"".join(kept) + b'{"kind":"en')
    sent = len(lines_of(path, "exchange"))
    done = desk.conformance("run", "--resume", "out")
    assert done.code == 3, done.text
    assert "all checks have run" in done.out
    assert same(run_json(desk.place / "out"), whole)
    assert len(lines(desk, "exchange")) == sent


def lines_of(path: Path, kind: str) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines() if f'"kind":"{kind}"'.encode() in line]


# What one part must know of the others


@pytest.mark.slow(every=0)
def test_no_part_uses_a_value_of_a_list_that_another_had(desk: Desk) -> None:
    """Values that were handed out are gone, also where the part was killed."""
    request = urllib.request.Request(f"{desk.service.control_url}/fixtures/cart/open?count=200", method="POST")
    with urllib.request.urlopen(request, timeout=20) as answer:
        carts = json.load(answer)["items"]

    def listed(text: str) -> str:
        entries = ", ".join("{ " + ", ".join(f'{k} = "{v}"' for k, v in cart.items()) + " }" for cart in carts)
        return re.sub(r"(\[fixtures\.cart\.open\]\n)http = .*\nitems = .*\n", rf"\1values = [{entries}]\n", text)

    selection = "quotePublicCart and not Checkout and (check_bodies or check_idempotency or check_generated)"
    cut_short(desk, *inside(desk, listed), selection=selection, results=10)
    done = desk.conformance("run", "--resume", "out")
    assert done.code == 3, done.text
    handed = [(line["name"], line["place"]) for line in lines(desk, "fixture")]
    assert len(handed) == len(set(handed))
    used: dict[str, set[str]] = {"x": set(), "r": set()}
    for line in lines(desk, "exchange"):
        used[line["id"][0]] |= {cart["id"] for cart in carts if f"/{cart['id']}/" in line["url"]}
    assert used["x"] and used["r"]
    assert not used["x"] & used["r"]
    assert "inconclusive" not in results(run_json(desk.place / "out")).values()


@pytest.mark.slow(every=0)
def test_the_budget_is_the_runs_and_not_each_parts(desk: Desk) -> None:
    """`max_requests` counts what was sent in all parts."""
    limited = inside(desk, lambda text: text.replace("max_requests = 50000", "max_requests = 60"))
    cut_short(desk, *limited, results=15)
    first = len(lines(desk, "exchange"))
    desk.conformance("run", "--resume", "out")
    run = run_json(desk.place / "out")
    assert first < 60
    assert run["traffic"]["requests"] == 60
    assert run["interrupted"] == "max_requests = 60"


@pytest.mark.slow
def test_a_limit_that_a_killed_part_left_up_is_taken_down(desk: Desk, tmp_path: Path) -> None:
    """A killed burst leaves the target limiting; what comes then is judged as ever."""
    target = desk.target("reference~limits")
    desk.conformance("run", *target, "-q", "-k", LIMITS, "--report-dir", "whole")
    process = desk.started(["-m", "conformance", "run", *target, "-k", LIMITS, "--report-dir", "out"])
    path = desk.place / "out" / "journal.ndjson"
    wait_until(lambda: path.exists() and b'"purpose":"burst"' in path.read_bytes(), process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not any(line["check"].startswith("check_rate_limit") for line in lines(desk, "result"))
    done = resume(desk)
    assert done.code == 3, done.text
    assert results(run_json(desk.place / "out")) == results(run_json(desk.place / "whole"))


# Other ways to be cut short


@pytest.mark.slow(every=0)
def test_what_pytest_began_the_command_goes_on_with(desk: Desk, whole: dict[str, Any]) -> None:
    """Plain pytest says so, too."""
    command = desk.pytest_command("-k", SELECTION, "--conformance-report-dir", "out", "--conformance-concurrency", 2)
    process = desk.started(command, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    wait_until(lambda: sum(path.read_bytes().count(b'"kind":"result"') for path in journals(desk)) > 10, process)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert "resume: conformance run --resume out" in out.splitlines()
    assert resume(desk).code == 3
    assert same(run_json(desk.place / "out"), whole)


@pytest.mark.slow(every=0)
def test_a_deadline_is_each_parts_own(desk: Desk) -> None:
    """A run that was too long goes on with as much time again, or with more."""
    desk.conformance("run", *desk.target("reference~late"), "--report-dir", "out", "--deadline", 1)
    assert "deadline" in run_json(desk.place / "out")["interrupted"]
    before = len(lines(desk, "result"))
    resume(desk, "--deadline", 1)
    assert "deadline" in run_json(desk.place / "out")["interrupted"]
    assert len(lines(desk, "result")) > before
    assert resume(desk, "--deadline", 80).code == 0
    run = run_json(desk.place / "out")
    assert (run["complete"], run["parts"], run["verdict"]) == (True, 3, "conformant")
