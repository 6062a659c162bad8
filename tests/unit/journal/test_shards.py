"""The journals of a run's shards become the journal that the run would have had in one piece."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core.errors import JournalError, UsageError
from conformance.journal.shards import joined

Line = dict[str, Any]


def planned(name: str) -> Line:
    return {"check": f"check_x::{name}", "operation": "getApiKeyIdentity", "case": ""}


def head(number: int, names: str, of: int = 2, **rest: Any) -> Line:
    asked = {"number": number, "of": of, "all": 5, "asked": "", **rest.pop("shard", {})}
    return {
        "kind": "run",
        "schema_version": 1,
        "run": f"c{number}",
        "target": "http://127.0.0.1:9",
        "profile": {"name": "mine", "digest": "d1", "path": "mine.toml"},
        "suite": {"version": "1", "contract": "k1", "checks": "s1"},
        "seed": 7,
        "examples": 8,
        "limits": {},
        "filtered": True,
        "started_at": f"2026-01-02T03:04:0{number}Z",
        "planned": [planned(name) for name in names],
        "shard": asked,
        **rest,
    }


def end(**rest: Any) -> Line:
    return {"kind": "end", "finished_at": "2026-01-02T03:05:00Z", "interrupted": "", **rest}


def journal(number: int, names: str, *lines: Line, **rest: Any) -> tuple[str, list[Line]]:
    return f"shard{number}", [head(number, names, **rest), *lines, end()]


def told(*journals: tuple[str, list[Line]]) -> list[tuple[str, Line]]:
    return list(joined(journals))


def test_what_was_dealt_out_is_in_its_old_order_again() -> None:
    """Whatever the order in which the folders are named; what must run alone was the last shard's, and is last."""
    ((_, whole), *_) = told(journal(2, "bdE"), journal(1, "ac"))
    assert [item["check"][-1] for item in whole["planned"]] == ["a", "b", "c", "d", "E"]
    assert "shard" not in whole
    assert whole["filtered"] is False
    assert whole["started_at"] == "2026-01-02T03:04:01Z"


@given(st.integers(1, 9), st.integers(0, 60), st.integers(0, 5))
def test_any_number_of_shards_gives_the_order_of_one(count: int, ordinary: int, alone: int) -> None:
    names = [f"o{number}" for number in range(ordinary)]
    last = [f"e{number}" for number in range(alone)]
    parts = [
        (
            f"shard{number}",
            [
                {
                    **head(number + 1, "", of=count),
                    "started_at": "2026-01-02T03:04:05Z",
                    "planned": [planned(n) for n in [*names[number::count], *(last if number == count - 1 else [])]],
                },
                end(),
            ],
        )
        for number in range(count)
    ]
    ((_, whole), *_) = told(*reversed(parts))
    assert [item["check"] for item in whole["planned"]] == [f"check_x::{name}" for name in [*names, *last]]


def test_less_than_all_checks_stays_a_selection() -> None:
    ((_, whole), *_) = told(journal(1, "a"), journal(2, "b"))
    assert whole["filtered"] is True


def test_exchanges_are_put_at_their_time_of_the_whole() -> None:
    """The second shard began a second later."""
    lines = told(
        journal(1, "ac", {"kind": "exchange", "id": "s1x1", "at": 0.5}),
        journal(2, "bdE", {"kind": "exchange", "id": "s2x1", "at": 0.25}),
    )
    assert {line["id"]: line["at"] for kind, line in lines if kind == "exchange"} == {"s1x1": 0.5, "s2x1": 1.25}


def test_one_shard_that_was_cut_short_cuts_the_whole_short() -> None:
    """It is said which; a part that was cut short and resumed to its end cuts nothing short."""
    cut = ("two", [head(2, "bdE"), end(interrupted="SIGINT", waited_s=1.0)])
    ends = [line for kind, line in told(journal(1, "ac"), cut) if kind == "end"]
    assert [line["interrupted"] for line in ends] == ["", "shard 2: SIGINT", ""]
    cut[1].extend([{"kind": "resumed", "part": 2}, end(waited_s=2.0)])
    ends = [line for kind, line in told(journal(1, "ac"), cut) if kind == "end"]
    assert [line["interrupted"] for line in ends] == ["", "", ""]
    assert ends[1]["waited_s"] == 3.0


def test_a_killed_shard_is_not_taken_for_whole() -> None:
    lines = told(journal(1, "ac"), ("two", [head(2, "bdE")]))
    assert [line["interrupted"] for kind, line in lines if kind == "end"] == ["", "shard 2: killed", ""]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"seed": 8}, "the seed differs: 7 in shard1, 8 in shard2"),
        ({"target": "http://127.0.0.1:8"}, "the target differs"),
        ({"profile": {"name": "mine", "digest": "d2", "path": "mine.toml"}}, "the profile differs: mine d1 in shard1"),
        ({"suite": {"version": "1", "contract": "k1", "checks": "s2"}}, "the set of checks differs: s1 in shard1, s2"),
        ({"suite": {"version": "1", "contract": "k2", "checks": "s1"}}, "the contract differs"),
        ({"schema_version": 2}, "the version of the journal differs"),
        ({"examples": 80}, "the number of examples differs: 8 in shard1, 80 in shard2"),
        ({"shard": {"asked": "-k AUTH"}}, "the selection differs"),
        ({"shard": {"of": 3}}, "the number of shards differs"),
        ({"shard": {"number": 1}}, "both are shard 1 of 2: shard1 and shard2"),
        ({"shard": {"of": 2, "number": 2}, "planned": [planned("a")]}, "two shards were to run the same check"),
        ({"limits": {"rate": "5"}}, None),
    ],
)
def test_parts_of_different_runs_are_no_run(other: Line, what: str | None) -> None:
    """The first difference is named, with both values."""
    shards = [journal(1, "ac"), journal(2, "bdE", **other)]
    if what is None:
        assert told(*shards)
        return
    with pytest.raises(UsageError) as refused:
        told(*shards)
    assert what in str(refused.value)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(UsageError, match="shard 2 of 2 is missing"):
        told(journal(1, "ac"))
    with pytest.raises(UsageError, match="shards 1, 3 of 4 are missing"):
        told(journal(2, "b", of=4), journal(4, "d", of=4))


def test_a_whole_run_is_no_shard() -> None:
    with pytest.raises(UsageError, match="shard2: is no shard, but a run by itself"):
        told(journal(1, "ac"), ("shard2", [{**head(2, "bd"), "shard": None}, end()]))


@pytest.mark.parametrize("lines", [[], [{"kind": "end"}], [{**head(1, "a"), "planned": [{}]}], [{"kind": "run"}]])
def test_no_journal_is_no_traceback(lines: list[Line]) -> None:
    with pytest.raises((JournalError, UsageError)):
        told(("shard1", lines), journal(2, "bdE"))
