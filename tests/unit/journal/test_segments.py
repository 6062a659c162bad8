"""What is left of a run that was cut short, from the lines of its journal alone."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.errors import JournalError
from conformance.journal.segments import Ends, head_and_earlier

NAMES = ("a", "b", "c")
Line = dict[str, Any]


def head() -> Line:
    planned = [{"check": f"check_x::{name}", "operation": "getApiKeyIdentity", "case": ""} for name in NAMES]
    return {"kind": "run", "run": "c1", "started_at": "2026-01-02T03:04:05Z", "planned": planned}


def result(name: str, **rest: str) -> Line:
    told = {"check": f"check_x::{name}", "operation": "getApiKeyIdentity", "case": "", "outcome": "passed"}
    return {"kind": "result", **told, **rest}


def exchange(name: str, check: str = "check_x::a[getApiKeyIdentity]") -> Line:
    return {"kind": "exchange", "id": name, "check": check}


def end(interrupted: str = "", **rest: object) -> Line:
    return {"kind": "end", "finished_at": "2026-01-02T03:05:00Z", "interrupted": interrupted, **rest}


RESUMED = {"kind": "resumed", "part": 2, "run": "c2", "started_at": "2026-01-02T04:00:00Z"}


def left(*lines: Line) -> list[str]:
    return [check[-1] for check, _, _ in head_and_earlier([head(), *lines])[1].left]


def test_what_has_no_result_is_left() -> None:
    """In the order planned, whatever the order of the results; and over all parts."""
    assert left() == ["a", "b", "c"]
    assert left(result("b")) == ["a", "c"]
    assert left(result("b"), end("SIGINT"), RESUMED, result("a")) == ["c"]
    assert left(result("c"), result("b"), result("a")) == []


@pytest.mark.parametrize("outcome", ["failed", "warned", "inconclusive", "inapplicable", "untested", "broken"])
def test_a_result_is_final_whatever_it_says(outcome: str) -> None:
    """A resumed run is no second chance."""
    assert left(result("a", outcome=outcome)) == ["b", "c"]


def test_what_came_too_late_to_be_sent_is_left() -> None:
    """A check that was not finished because the target had stopped answering has said nothing of it."""
    late = result("a", outcome="inconclusive", cause="budget:the target stopped answering")
    assert left(late, result("b")) == ["a", "c"]
    assert left(late, end("the target stopped answering"), RESUMED, result("a")) == ["b", "c"]


def test_what_counts_on_is_told() -> None:
    """Requests once each, values of lists that were handed out, the names of the parts."""
    lines = [exchange("x1"), exchange("x2"), exchange("x2"), {"kind": "fixture", "name": "cart.open", "place": 4}]
    earlier = head_and_earlier([head(), *lines, end("SIGTERM"), RESUMED, exchange("r1x1")])[1]
    assert (earlier.part, earlier.requests, earlier.names) == (3, 3, ("c1", "c2"))
    assert earlier.spent == {"cart.open": (4,)}
    assert earlier.began_at == "2026-01-02T03:04:05Z"
    assert not earlier.limited
    assert head_and_earlier([head(), exchange("x1", "check_rate_limit[quotePublicCart]")])[1].limited


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
def test_how_the_last_part_ended(lines: list[Line], ended: str) -> None:
    """Only its own end lines tell; where the controller wrote none, it was killed, whatever its workers wrote."""
    assert head_and_earlier([head(), *lines])[1].ended == ended


def test_waiting_is_summed_over_parts_and_processes_each_once() -> None:
    """A worker's end that stands twice, since a joining was cut short, counts once."""
    ends = Ends()
    for line in (end(worker="gw0", waited_s=1.0), end(worker="gw0", waited_s=1.0), end("SIGINT", waited_s=2.0)):
        ends.add(line)
    ends.resumed()
    ends.add(end(worker="gw0", waited_s=4.0))
    assert ends.borne["waited_s"] == 7.0
    assert ends.parts == 2


@pytest.mark.parametrize("lines", [[], [exchange("x1")]])
def test_without_a_first_line_there_is_no_run(lines: list[Line]) -> None:
    with pytest.raises(JournalError, match=r"journal: the run was ended before it had begun"):
        head_and_earlier(lines)


def test_a_line_of_another_shape_is_said() -> None:
    with pytest.raises(JournalError, match="a line of another shape"):
        head_and_earlier([head(), {"kind": "result"}])
