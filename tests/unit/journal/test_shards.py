"""The journals of a run's shards become the journal that the run would have had in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core.errors import JournalError, UsageError
from conformance.core.model import ProfileInfo, Suite
from conformance.journal.lines import (
    ExchangeRecorded,
    Line,
    RunStarted,
    SegmentEnded,
    SegmentResumed,
    Shard,
    TrafficStats,
)
from conformance.journal.shards import join_shards
from tests.support import journals as made

RESUMED = SegmentResumed(2, "SIGINT", 1, "c9", "2026-01-02T04:00:00Z")


def head(number: int, names: Sequence[str], of: int = 2, shard: dict[str, Any] | None = None, **rest: Any) -> Line:
    first = made.journal(left=[made.result(name) for name in names])[0]
    assert isinstance(first, RunStarted)
    own = Shard(**{"number": number, "of": of, "all": 5, **(shard or {})})
    told = {"run": f"c{number}", "filtered": True, "started_at": f"2026-01-02T03:04:0{number}Z", "shard": own}
    return msgspec.structs.replace(first, **{**told, **rest})


def end(interrupted: str = "", **traffic: Any) -> Line:
    return SegmentEnded("2026-01-02T03:05:00Z", interrupted, traffic=TrafficStats(**traffic))


def journal(number: int, names: str, *lines: Line, **rest: Any) -> tuple[str, list[Line]]:
    return f"shard{number}", [head(number, names, **rest), *lines, end()]


def joined(*journals: tuple[str, list[Line]]) -> list[Line]:
    return list(join_shards((where, lines.copy) for where, lines in journals))


def whole_head(*journals: tuple[str, list[Line]]) -> RunStarted:
    first = joined(*journals)[0]
    assert isinstance(first, RunStarted)
    return first


def ends(*journals: tuple[str, list[Line]]) -> list[SegmentEnded]:
    return [line for line in joined(*journals) if isinstance(line, SegmentEnded)]


def test_what_was_dealt_out_is_in_its_old_order_again() -> None:
    """Whatever the order in which the folders are named; what must run alone was the last shard's, and is last."""
    whole = whole_head(journal(2, "bdE"), journal(1, "ac"))
    assert [check.check[-1] for check in whole.planned] == ["a", "b", "c", "d", "E"]
    assert (whole.shard, whole.shards, whole.filtered) == (None, 2, False)
    assert whole.started_at == "2026-01-02T03:04:01Z"


@given(st.integers(1, 9), st.integers(0, 60), st.integers(0, 5))
def test_any_number_of_shards_gives_the_order_of_one(count: int, ordinary: int, alone: int) -> None:
    names = [f"o{number}" for number in range(ordinary)]
    last = [f"e{number}" for number in range(alone)]
    parts = [
        (
            f"shard{number}",
            [
                head(
                    number + 1,
                    [*names[number::count], *(last if number == count - 1 else [])],
                    of=count,
                    started_at="2026-01-02T03:04:05Z",
                ),
                end(),
            ],
        )
        for number in range(count)
    ]
    whole = whole_head(*reversed(parts))
    assert [check.check for check in whole.planned] == [f"check_a::{name}" for name in [*names, *last]]


def test_less_than_all_checks_stays_a_selection() -> None:
    assert whole_head(journal(1, "a"), journal(2, "b")).filtered is True


def test_exchanges_are_put_at_their_time_of_the_whole() -> None:
    """The second shard began a second later."""
    lines = joined(
        journal(1, "ac", ExchangeRecorded(made.exchange(1, at=0.5))),
        journal(2, "bdE", ExchangeRecorded(made.exchange(2, at=0.25))),
    )
    at = {line.exchange.id: line.exchange.at for line in lines if isinstance(line, ExchangeRecorded)}
    assert at == {"x1": 0.5, "x2": 1.25}


def test_one_shard_that_was_cut_short_cuts_the_whole_short() -> None:
    """It is said which; a part that was cut short and resumed to its end cuts nothing short."""
    cut = ("two", [head(2, "bdE"), end("SIGINT", waited_s=1.0)])
    assert [line.interrupted for line in ends(journal(1, "ac"), cut)] == ["", "shard 2: SIGINT", ""]
    cut[1].extend([RESUMED, end(waited_s=2.0)])
    found = ends(journal(1, "ac"), cut)
    assert [line.interrupted for line in found] == ["", "", ""]
    assert found[1].traffic.waited_s == 3.0


def test_a_killed_shard_is_not_taken_for_whole() -> None:
    found = ends(journal(1, "ac"), ("two", [head(2, "bdE")]))
    assert [line.interrupted for line in found] == ["", "shard 2: killed", ""]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"seed": 8}, "the seed differs: 7 in shard1, 8 in shard2"),
        ({"target": "http://127.0.0.1:8"}, "the target differs"),
        ({"profile": ProfileInfo("p", "d2", "mine.toml")}, "the profile differs: p d in shard1, p d2 in shard2"),
        ({"suite": Suite("1", "c", "s2")}, "the set of checks differs: d in shard1, s2"),
        ({"suite": Suite("1", "k2", "d")}, "the contract differs"),
        ({"examples": 80}, "the number of examples differs: 8 in shard1, 80 in shard2"),
        ({"shard": {"asked": "-k AUTH"}}, "the selection differs"),
        ({"shard": {"of": 3}}, "the number of shards differs"),
        ({"shard": {"number": 1}}, "two journals are shard 1 of 2: shard1 and shard2"),
        ({"planned": (made.planned(made.result("a")),)}, "two shards contain the same check"),
        ({"options": {"limits": {"rate": "5"}}}, None),
    ],
)
def test_parts_of_different_runs_are_no_run(other: dict[str, Any], what: str | None) -> None:
    """The first difference is named, with both values."""
    shards = [journal(1, "ac"), journal(2, "bdE", **other)]
    if what is None:
        assert joined(*shards)
        return
    with pytest.raises(UsageError) as refused:
        joined(*shards)
    assert what in str(refused.value)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(UsageError, match="shard 2 of 2 is missing"):
        joined(journal(1, "ac"))
    with pytest.raises(UsageError, match="shards 1, 3 of 4 are missing"):
        joined(journal(2, "b", of=4), journal(4, "d", of=4))


def test_a_whole_run_is_no_shard() -> None:
    with pytest.raises(UsageError, match="shard2: is not a shard, but a whole run"):
        joined(journal(1, "ac"), ("shard2", made.journal(end=made.END)))


@pytest.mark.parametrize("lines", [[], [end()], [ExchangeRecorded(made.exchange(1)), end()]])
def test_without_a_first_line_there_is_no_shard(lines: list[Line]) -> None:
    with pytest.raises(JournalError, match="shard1: has no first line"):
        joined(("shard1", lines), journal(2, "bdE"))


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-01-02T03:04:05"])
def test_a_time_that_cannot_be_compared_is_said(moment: str) -> None:
    with pytest.raises(JournalError, match="a line that does not fit the schema"):
        joined(journal(1, "ac", started_at=moment), journal(2, "bdE"))
