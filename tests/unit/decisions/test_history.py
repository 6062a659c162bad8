"""Runs over time, and the command that runs one again."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from conformance.core.errors import UsageError
from conformance.core.model import ProfileInfo, Run, Waiver
from conformance.core.outcomes import Outcome
from conformance.decisions import history_report as trends
from conformance.decisions.history import history
from conformance.decisions.rerun import command
from conformance.reports import runjson
from tests.support.runs import OPERATIONS, exchange, result, run_of
from tests.support.values import replace

BASE = "conformance run --profile p.toml --base-url 'http://127.0.0.1:1/a b' --seed 5"


def kept(folder: Path, name: str, run: Run) -> None:
    (folder / name).mkdir()
    runjson.write_file(run, folder / name)


def test_what_a_later_run_does_not_judge_has_not_ceased_to_fail(tmp_path: Path) -> None:
    """A run of other operations says nothing of a failure, although it judges the same requirement."""
    failed = result("STA-1", "quotePublicCart", Outcome.FAILED)
    other = result("STA-1", "getApiKeyIdentity", Outcome.PASSED)
    bad = run_of([failed, other], started_at="2025-11-01T00:00:00Z")
    kept(tmp_path, "a", bad)
    kept(tmp_path, "b", replace(run_of([other]), started_at="2025-11-02T00:00:00Z", filtered=True))
    mended = run_of([replace(failed, outcome=Outcome.PASSED), other], started_at="2025-11-04T00:00:00Z")
    kept(tmp_path, "c", replace(bad, started_at="2025-11-03T00:00:00Z"))
    kept(tmp_path, "d", mended)
    (trend,), _ = history(tmp_path)
    assert [point.newly_passed for point in trend.points] == [(), (), (), ("STA-1",)]


def test_the_runs_of_a_target_are_told_in_order(tmp_path: Path) -> None:
    """The oldest first, whatever the folders are called, with what began and ceased to fail."""
    good = run_of([result("AUTH-1", "getApiKeyIdentity", Outcome.PASSED)], started_at="2025-11-02T00:00:00Z")
    bad = run_of([result("AUTH-1", "getApiKeyIdentity", Outcome.FAILED)], started_at="2025-11-01T00:00:00Z")
    later = replace(bad, started_at="2025-11-03T00:00:00Z")
    for name, run in (("a", good), ("b", bad), ("c", later)):
        kept(tmp_path, name, run)
    (trend,), unread = history(tmp_path)
    assert [point.folder for point in trend.points] == ["b", "a", "c"]
    assert [point.newly_passed for point in trend.points] == [(), ("AUTH-1",), ()]
    assert [point.newly_failed for point in trend.points] == [(), (), ("AUTH-1",)]
    assert unread == []
    assert "+AUTH-1" in "\n".join(trends.lines([trend]))
    assert "<polyline" in trends.html([trend]) or not trend.points[0].p50_ms
    assert '"AUTH-1"' in trends.as_json([trend])


def test_targets_are_kept_apart_by_name(tmp_path: Path) -> None:
    """The profile's, not the address: it may be another one for each run. The page shows all addresses."""
    kept(tmp_path, "a", run_of([], started_at="2025-11-01T00:00:00Z"))
    kept(tmp_path, "b", run_of([], target="http://other.test", started_at="2025-11-02T00:00:00Z"))
    kept(tmp_path, "c", run_of([], profile=ProfileInfo("production", "d" * 64)))
    found, _ = history(tmp_path)
    assert {trend.profile: len(trend.points) for trend in found} == {"production": 1, "staging": 2}
    (staging,) = (trend for trend in found if trend.profile == "staging")
    assert staging.target == "http://other.test"
    assert "http://other.test and 1 other address" in trends.html(found)


def test_what_regressed_comes_first(tmp_path: Path) -> None:
    """A target whose last run fails what passed before stands before others, and at the top of the page."""
    good, bad = (
        run_of(
            [result("AUTH-1", "getApiKeyIdentity", outcome)], profile=ProfileInfo("z-last", "d" * 64), started_at=day
        )
        for outcome, day in ((Outcome.PASSED, "2025-11-01T00:00:00Z"), (Outcome.FAILED, "2025-11-02T00:00:00Z"))
    )
    for name, run in (("a", run_of([])), ("b", good), ("c", bad)):
        kept(tmp_path, name, run)
    found, _ = history(tmp_path)
    assert [trend.profile for trend in found] == ["z-last", "staging"]
    assert found[0].regressions == ("AUTH-1",)
    page = trends.html(found)
    assert page.index("1 target regressed in the last run") < page.index("<main")
    assert "regressed in the last run: AUTH-1" in "\n".join(trends.lines(found))
    assert "Nothing regressed" in trends.html(found[1:])


def test_each_run_links_to_its_page(tmp_path: Path) -> None:
    """From wherever the history is written; a run without a page has no link."""
    kept(tmp_path, "a run", run_of([]))
    kept(tmp_path, "b", run_of([]))
    (tmp_path / "a run" / "report.html").write_text("")
    (tmp_path / "pages").mkdir()
    page = trends.html(*history(tmp_path), tmp_path, tmp_path / "pages" / "history.html")
    assert re.findall('href="([^"]+html)"', page) == ["../a%20run/report.html"]


def test_what_cannot_be_read_is_said_and_hides_nothing(tmp_path: Path) -> None:
    """A broken file among good ones; a folder without any run is an error."""
    kept(tmp_path, "a", run_of([]))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "run.json").write_text("{")
    found, unread = history(tmp_path)
    assert (len(found), len(unread)) == (1, 1)
    with pytest.raises(UsageError, match="holds no run"):
        history(tmp_path / "b" / "nowhere")


def _run() -> Run:
    again = [
        result("AUTH-1", "a", outcome, case=str(outcome), reproduce=f"{BASE} --only 'x[a-{outcome}]'")
        for outcome in Outcome
    ]
    return run_of(again)


def test_a_whole_run_is_run_again_as_it_was() -> None:
    """Profile, target and seed; every check."""
    assert command(_run(), failed=False) == [
        "conformance", "run", "--profile", "p.toml", "--base-url", "http://127.0.0.1:1/a b", "--seed", "5",
    ]  # fmt: skip


def test_what_failed_is_run_again_by_name() -> None:
    """And what was not judged; nothing that passed, warned or does not apply."""
    words = command(_run(), failed=True)
    names = [word for before, word in pairwise(words) if before == "--only"]
    assert names == ["x[a-failed]", "x[a-inconclusive]", "x[a-untested]", "x[a-broken]"]


def test_an_invariant_is_seen_again_by_the_checks_that_saw_it() -> None:
    """It has no item of its own: the checks whose exchanges it cites are run."""
    sent = exchange("x1", OPERATIONS[0], 500, check="check_b::y[b]")
    seen = result("ENV-1", "b", Outcome.FAILED, check="invariant::ENV-1", exchanges=("x1",), reproduce="")
    passed = result("AUTH-1", "a", Outcome.PASSED, reproduce=f"{BASE} --only 'x[a]'")
    assert command(run_of([passed, seen], [sent]), failed=True)[-2:] == ["--only", "y[b]"]


@pytest.mark.parametrize(("run", "failed"), [(run_of([]), False), (run_of([result("A-1", "a", Outcome.PASSED)]), True)])
def test_where_there_is_nothing_to_run_it_is_said(run: Run, failed: bool) -> None:
    """An empty selection is never a success."""
    with pytest.raises(UsageError):
        command(run, failed=failed)


@pytest.mark.parametrize("words", ["conformance probe --force", "sh -c", "python -m conformance run", ""])
def test_a_command_that_judges_no_target_is_not_run(words: str) -> None:
    """A journal that was changed may name any."""
    changed = result("AUTH-1", "a", Outcome.FAILED, reproduce=f"{words} --only 'x[a]'")
    with pytest.raises(UsageError, match="another command"):
        command(run_of([changed]), failed=False)


def test_history_names_the_runs_that_it_could_not_read(tmp_path: Path) -> None:
    """In the terminal, as JSON and on the page: a broken file, and a run that was killed before its reports."""
    kept(tmp_path, "a", run_of([]))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "run.json").write_text("{")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "journal.ndjson").write_text("")
    found, unread = history(tmp_path)
    for told in ("\n".join(trends.lines(found, unread)), trends.as_json(found, unread), trends.html(found, unread)):
        for name in ("b", "c"):
            assert str(tmp_path / name) in told
    assert len(unread) == 2
    assert "conformance report" in unread[1]


def test_where_no_run_can_be_read_the_first_is_named(tmp_path: Path) -> None:
    """That it holds no run says nothing about a folder that holds broken ones."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "run.json").write_text("{")
    with pytest.raises(UsageError, match=r"b/run\.json: not a JSON document"):
        history(tmp_path)


def test_what_is_waived_or_not_judged_neither_failed_nor_passed(tmp_path: Path) -> None:
    """A waived failure counts apart; a failure that a later run did not judge did not go away."""
    waiver = Waiver("AUTH-1", "known", "team", "ISSUE-1", "2099-01-01", state="active")
    failed, untested = (result("AUTH-1", "getApiKeyIdentity", o) for o in (Outcome.FAILED, Outcome.UNTESTED))
    kept(tmp_path, "a", run_of([failed], started_at="2025-11-01T00:00:00Z"))
    kept(tmp_path, "b", run_of([untested], started_at="2025-11-02T00:00:00Z"))
    kept(tmp_path, "c", run_of([failed], (), (waiver,), started_at="2025-11-03T00:00:00Z"))
    ((trend,), _) = history(tmp_path)
    assert [(p.failed, p.open, p.waived) for p in trend.points] == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    assert [(p.newly_failed, p.newly_passed) for p in trend.points] == [((), ())] * 3
