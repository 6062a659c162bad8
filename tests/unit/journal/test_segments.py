"""What is left of a run that was cut short, from the lines of its journal alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from conformance.core.errors import JournalError
from conformance.core.outcomes import Outcome
from conformance.journal.fold import JournalFold
from conformance.journal.lines import (
    CheckConcluded,
    ExchangeRecorded,
    FixtureSpent,
    Line,
    RunStarted,
    SegmentEnded,
    SegmentResumed,
    TrafficStats,
)
from conformance.journal.segments import PreviousSegments, SegmentEnds
from tests.support import journals as made

HEAD: Line = made.journal(left=[made.result(name) for name in "abc"], started_at="2026-01-02T03:04:05Z")[0]
RESUMED = SegmentResumed(2, "SIGINT", 1, "c2", "2026-01-02T04:00:00Z")


def result(name: str, outcome: Outcome = Outcome.PASSED, **rest: str) -> Line:
    return CheckConcluded(made.result(name, outcome, **rest))


def exchange(number: int, check: str = "check_a::a[getApiKeyIdentity]") -> Line:
    return ExchangeRecorded(made.exchange(number, check=check))


def end(interrupted: str = "", worker: str = "", **traffic: Any) -> SegmentEnded:
    return SegmentEnded("2026-01-02T03:05:00Z", interrupted, worker, TrafficStats(**traffic))


def previous(*lines: Line) -> PreviousSegments:
    fold = JournalFold()
    fold.add_all((line, None) for line in (HEAD, *lines))
    return fold.previous_segments()


def left(*lines: Line) -> list[str]:
    return [check[-1] for check, _, _ in previous(*lines).remaining]


def test_what_has_no_result_is_left() -> None:
    """In the order planned, whatever the order of the results; and over all segments."""
    assert left() == ["a", "b", "c"]
    assert left(result("b")) == ["a", "c"]
    assert left(result("b"), end("SIGINT"), RESUMED, result("a")) == ["c"]
    assert left(result("c"), result("b"), result("a")) == []


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.PASSED])
def test_a_result_is_final_whatever_it_says(outcome: Outcome) -> None:
    """A resumed run is not a second chance."""
    assert left(result("a", outcome)) == ["b", "c"]


def test_what_came_too_late_to_be_sent_is_left() -> None:
    """A check that was not finished because the target had stopped answering has said nothing of it."""
    late = result("a", Outcome.INCONCLUSIVE, cause="budget:the target stopped answering")
    assert left(late, result("b")) == ["a", "c"]
    assert left(late, end("the target stopped answering"), RESUMED, result("a")) == ["b", "c"]


def test_what_the_next_segment_must_know() -> None:
    """Requests once each, values of lists that were used, the names of the segments."""
    lines = [exchange(1), exchange(2), exchange(2), FixtureSpent("cart.open", 4)]
    found = previous(*lines, end("SIGTERM"), RESUMED, exchange(3))
    assert (found.part, found.requests, found.names) == (3, 3, ("c1", "c2"))
    assert found.used_places == {"cart.open": (4,)}
    assert found.began_at == "2026-01-02T03:04:05Z"
    assert not found.limits_provoked
    assert previous(exchange(1, "check_rate_limit[quotePublicCart]")).limits_provoked


@pytest.mark.parametrize(
    ("lines", "ended"),
    [
        ([], "killed"),
        ([end()], ""),
        ([end("SIGINT")], "SIGINT"),
        ([end("SIGINT"), RESUMED], "killed"),
        ([end("SIGINT"), RESUMED, end()], ""),
        ([RESUMED, end("the deadline of 2 s")], "the deadline of 2 s"),
        ([end(worker="gw0"), end(worker="gw1")], "killed"),
        ([end(worker="gw0"), end("the deadline of 2 s", worker="gw1"), end()], "the deadline of 2 s"),
        ([end(worker="gw0"), end()], ""),
    ],
)
def test_how_the_last_segment_ended(lines: list[Line], ended: str) -> None:
    """Only its own end lines tell; where the controller wrote none, it was killed, whatever its workers wrote."""
    assert previous(*lines).interruption == ended


def test_waiting_is_summed_over_segments_and_processes_each_once() -> None:
    """A worker's end that stands twice, since a joining was cut short, counts once; the clock's is the longest's."""
    ends = SegmentEnds()
    for line in (
        end(worker="gw0", waited_s=1.0, waited_clock_s=0.5, most_in_flight=3, slowest_rate=7.0),
        end(worker="gw0", waited_s=1.0, waited_clock_s=0.5, most_in_flight=3, slowest_rate=7.0),
        end("SIGINT", waited_s=2.0, waited_clock_s=0.75, most_in_flight=1),
    ):
        ends.add(line)
    ends.begin_segment()
    ends.add(end(worker="gw0", waited_s=4.0, waited_clock_s=1.0, most_in_flight=2, slowest_rate=9.0, limited=1, lost=2))
    assert ends.traffic_stats == TrafficStats(7.0, 1.75, 1, 2, 4, 7.0)
    assert ends.count == 2


@pytest.mark.parametrize("lines", [[], [exchange(1)], [end(), HEAD]])
def test_without_a_first_line_there_is_no_run(lines: list[Line]) -> None:
    """Nobody knows which run such lines are of."""
    fold = JournalFold("there")
    with pytest.raises(JournalError, match="there: has no first line"):
        fold.add_all((line, None) for line in lines)
        fold.previous_segments()


def test_the_first_head_counts() -> None:
    """A second one says nothing."""
    assert isinstance(HEAD, RunStarted)
    other = msgspec.structs.replace(HEAD, run="c9", planned=())
    assert previous(other).names == ("c1",)
