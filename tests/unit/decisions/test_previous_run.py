"""The previous run of a target is found in the reports folder, whatever else lies there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.core.model import ProfileInfo, Run
from conformance.core.outcomes import Outcome
from conformance.decisions.previous_run import MAX_RUNS, with_previous_run
from conformance.decisions.run_folders import is_same_target
from conformance.reports import html, runjson
from tests.support.runs import PAYLOADS, result, run_of
from tests.support.values import replace

GOOD = run_of([result("AUTH-1", "getApiKeyIdentity", Outcome.PASSED)], started_at="2025-11-01T00:00:00Z")
BAD = run_of([result("AUTH-1", "getApiKeyIdentity", Outcome.FAILED)], started_at="2025-11-05T00:00:00Z")


def kept(folder: Path, run: Run) -> Path:
    folder.mkdir(parents=True)
    runjson.write_file(run, folder)
    return folder


def previous(run: Run, folder: Path) -> tuple[str, tuple[str, ...]]:
    """The folder of the run that it was compared with, and what could not be read."""
    found = with_previous_run(run, folder).previous
    assert found is not None
    return found.changes.folder if found.changes else "", found.unread


def test_the_last_run_before_it_is_taken(tmp_path: Path) -> None:
    """Not an older one, not a later one, not itself, whatever order they were written in."""
    now = kept(tmp_path / "now", BAD)
    for name, day in (("late", 9), ("old", 2), ("last", 4)):
        kept(tmp_path / name, replace(GOOD, started_at=f"2025-11-0{day}T00:00:00Z"))
    assert previous(BAD, now) == ("last", ())


def test_another_target_or_profile_is_not_compared(tmp_path: Path) -> None:
    """Nor named: it is not a run of this target."""
    now = kept(tmp_path / "now", BAD)
    kept(tmp_path / "elsewhere", replace(GOOD, target="http://other.test"))
    kept(tmp_path / "other", replace(GOOD, profile=ProfileInfo("other", "c" * 64)))
    assert previous(BAD, now) == ("", ())


def test_a_damaged_neighbour_is_named_and_hides_nothing(tmp_path: Path) -> None:
    """No JSON, another format, a version of another suite, a folder or a pipe in place of the file."""
    now = kept(tmp_path / "now", BAD)
    kept(tmp_path / "good", GOOD)
    texts = {"torn": "{", "foreign": '{"tests": []}', "shape": '{"schema_version": 2, "target": 1}'}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / runjson.FILE).write_text(text)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / runjson.FILE)
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / runjson.FILE).symlink_to(tmp_path / "nothing")
    name, unread = previous(BAD, now)
    assert name == "good"
    assert {problem.partition(":")[0] for problem in unread} == {*texts, "pipe"}


def test_a_run_that_breaks_behind_its_head_gives_way_to_the_one_before(tmp_path: Path) -> None:
    """The head of a run can be read, and the rest not; the page is written all the same."""
    now = kept(tmp_path / "now", BAD)
    kept(tmp_path / "good", GOOD)
    broken = kept(tmp_path / "broken", replace(GOOD, started_at="2025-11-04T00:00:00Z"))
    text = (broken / runjson.FILE).read_text()
    (broken / runjson.FILE).write_text(text.replace('"verdict": "conformant"', '"verdict": "fine"'))
    name, unread = previous(BAD, now)
    assert name == "good"
    assert len(unread) == 1 and unread[0].startswith("broken: not the shape of a run")


def test_runs_of_several_targets_are_found(tmp_path: Path) -> None:
    """Each lies in a folder of its own below the folder of all of them."""
    now = kept(tmp_path / "targets-2" / "staging" / "report", BAD)
    kept(tmp_path / "targets-1" / "staging" / "report", GOOD)
    assert previous(BAD, now)[0] == "report"


def test_only_the_last_written_runs_are_looked_at(tmp_path: Path) -> None:
    """A folder of thousands of runs does not hold up a report."""
    now = kept(tmp_path / "now", BAD)
    old = kept(tmp_path / "old", GOOD)
    os.utime(old / runjson.FILE, (1, 1))
    other = runjson.render(replace(GOOD, target="http://other.test"))
    for number in range(MAX_RUNS):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / runjson.FILE).write_text(other)
    assert previous(BAD, now) == ("", ())


def test_the_comparison_stands_on_the_page_and_in_no_other_file(tmp_path: Path) -> None:
    """run.json stays a function of the journal: a certificate of it holds wherever the folder lies."""
    now = kept(tmp_path / "now", BAD)
    good = kept(tmp_path / "a good run", GOOD)
    html.write_file(GOOD, good)
    run = with_previous_run(BAD, now)
    page = html.render(run)
    assert "1 new cause" in page
    assert 'href="../a%20good%20run/report.html"' in page
    assert runjson.render(run) == runjson.render(BAD)
    assert "Since the previous run" not in html.render(BAD)


def test_no_text_of_another_run_acts(tmp_path: Path) -> None:
    """Titles, folders and problems of other runs are as hostile as a target's."""
    text = " ".join(PAYLOADS)
    failure = result("AUTH-1", "getApiKeyIdentity", Outcome.FAILED, message=text)
    bad = run_of([failure], started_at="2025-11-01T00:00:00Z")
    now = kept(tmp_path / "now", replace(GOOD, started_at="2025-11-05T00:00:00Z"))
    kept(tmp_path / "<img src=x onerror=alert(1)>", bad)
    (tmp_path / "<script>").mkdir()
    (tmp_path / "<script>" / runjson.FILE).write_text("{")
    page = html.render(with_previous_run(replace(GOOD, started_at="2025-11-05T00:00:00Z"), now))
    assert "1 cause gone" in page
    assert "<img" not in page
    assert page.count("<script>") == html.render(GOOD).count("<script>")


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("https://a.test", "https://a.test", True),
        ("https://a.test", "https://b.test", False),
        ("http://127.0.0.1:8001", "http://127.0.0.1:9002", True),
        ("http://localhost:8001", "http://[::1]:9002", True),
        ("http://127.0.0.1:8001", "https://a.test", False),
        ("http://127.0.0.1:8001/a", "http://127.0.0.1:8001/b", False),
        ("http://[", "http://a.test", False),
    ],
)
def test_a_target_is_its_address(first: str, second: str, same: bool) -> None:
    """But on the loopback interface, where a free port is another one in each run."""
    assert is_same_target(first, second) is same
