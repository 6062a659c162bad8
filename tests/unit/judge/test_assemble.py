"""Journal -> Run: pure, whole or as far as it went; every planned check and every empty cell is accounted for."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import msgspec
import pytest

from conformance.core.errors import JournalError
from conformance.core.model import Finding, Waiver
from conformance.core.outcomes import Outcome, Verdict
from conformance.journal.lines import SegmentEnded, decode, encode
from conformance.judge.assemble import assemble, load
from tests.support.journals import END, IDENTITY, by_check, exchange, journal, result


def test_the_same_lines_give_the_same_run() -> None:
    """Twice, and after a journey through a file's text; the lines are not changed."""
    lines = journal([exchange(1), exchange(2, 401)], [result("a")], end=END)
    before = copy.deepcopy(lines)
    first = assemble(lines)
    assert assemble(decode(encode(line)) for line in lines) == first
    assert lines == before


def test_a_whole_run() -> None:
    """Complete, with its times, traffic, latency and waiting."""
    run = assemble(journal([exchange(1), exchange(2, 401), exchange(3, None, retry_of="x2")], [result("a")], end=END))
    assert (run.complete, run.interrupted, run.finished_at) == (True, "", END.finished_at)
    assert (run.traffic.requests, run.traffic.retries, run.traffic.waited_s) == (3, 1, 1.5)
    assert run.traffic.latency[""].count == run.traffic.latency[IDENTITY].count == 2
    assert run.coverage[IDENTITY] == {"200": 1, "401": 1, "none": 1}


def test_a_killed_run_is_incomplete_and_forgets_nothing() -> None:
    """No last line: what was planned and has no result is untested, and says why."""
    run = assemble(journal([exchange(1)], [result("a")], left=[result("b", reproduce="run b")]))
    assert (run.complete, run.interrupted, run.finished_at) == (False, "killed", "")
    assert run.verdict is Verdict.INCOMPLETE
    lost = by_check(run, "check_a::b")
    assert (lost.outcome, lost.message, lost.reproduce) == (Outcome.UNTESTED, "not run: killed", "run b")


@pytest.mark.parametrize("length", range(4))
def test_a_run_cut_anywhere_is_as_complete_as_it_went(length: int) -> None:
    """Whatever number of lines were written, all planned checks have a result, and it is incomplete."""
    planned = [result(name) for name in "abc"]
    lines = journal([exchange(1)], planned, end=END)
    run = assemble(lines[: 2 + length])
    assert {one.check for one in run.results if "check_a" in one.check} == {"check_a::a", "check_a::b", "check_a::c"}
    assert sum(one.outcome is Outcome.UNTESTED for one in run.results if "check_a" in one.check) == 3 - length
    assert run.verdict is Verdict.INCOMPLETE


def test_a_killed_run_that_saw_a_failure_is_nonconformant() -> None:
    """What was proven stays proven."""
    assert assemble(journal([exchange(1)], [result("a", Outcome.FAILED)])).verdict is Verdict.NONCONFORMANT


CUT = msgspec.structs.replace(END, interrupted="SIGINT")


@pytest.mark.parametrize("ends", [[END, CUT], [CUT, END]])
def test_one_interrupted_shard_interrupts_the_run(ends: list[SegmentEnded]) -> None:
    """Joined journals have several last lines: any interruption counts, waiting is summed up."""
    run = assemble([*journal([exchange(1)], [result("a")]), *ends])
    assert (run.complete, run.interrupted, run.traffic.waited_s) == (False, "SIGINT", 3.0)
    assert run.verdict is not Verdict.CONFORMANT


def test_the_later_result_of_a_check_counts() -> None:
    """A check that was run again has its last result."""
    run = assemble(journal([exchange(1)], [result("a", Outcome.FAILED), result("a")], end=END))
    assert by_check(run, "check_a::a").outcome is Outcome.PASSED


def test_the_order_of_exchanges_and_results_mixed() -> None:
    """Lines of several workers come in any order: every verdict, count and cell is the same."""
    defects = (Finding("STA-1", "status:422", "m"),)
    lines = journal(
        [exchange(n, 422 if n == 3 else 200, *(defects if n == 3 else ())) for n in range(6)],
        [result(name) for name in "abc"],
        end=END,
    )
    first = assemble(lines)
    for seed in range(5):
        body = lines[1:-1]
        random.Random(seed).shuffle(body)
        other = assemble([lines[0], *body, lines[-1]])
        assert (other.verdict, other.counts, other.coverage, other.requirements) == (
            first.verdict,
            first.counts,
            first.coverage,
            first.requirements,
        )


def test_filtered_runs_and_waivers() -> None:
    """A filtered run is never conformant; waivers are told their state on the day of the run."""
    failed = result("a", Outcome.FAILED, signature="s")
    waivers = tuple(Waiver("AUTH-1", "r", "o", "i", until) for until in ("2030-01-15", "2030-01-14"))
    run = assemble(journal([exchange(1)], [failed], end=END, waivers=waivers))
    assert [waiver.state for waiver in run.waivers] == ["active", "expired"]
    assert run.verdict is Verdict.INCOMPLETE
    assert assemble(journal([exchange(1)], [result("a")], end=END, filtered=True)).filtered


def test_a_journal_without_its_first_line(tmp_path: Path) -> None:
    """Nobody knows which run it is: JournalError, from a file as well."""
    with pytest.raises(JournalError, match="no first line"):
        assemble([END])
    (tmp_path / "journal.ndjson").write_text("")
    with pytest.raises(JournalError, match=r"journal\.ndjson"):
        load(tmp_path)
