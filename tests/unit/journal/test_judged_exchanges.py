"""The exchanges as the judge needs them, and their ids (conformance/journal/judged_exchanges.py)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core.model import Exchange, Finding, Message
from conformance.core.outcomes import Level
from conformance.journal.judged_exchanges import Ids, JudgedExchanges

NAMES = st.one_of(
    st.integers(0, 30).map(lambda n: f"x{n}"),
    st.integers(0, 30).map(lambda n: f"gw1-x{n}"),
    st.text(st.characters(codec="utf-8"), max_size=5),
    st.sampled_from(["", "7", "x07", "x1000000000000000000000", "x-1", "٣"]),
)


@given(st.lists(NAMES, max_size=60))
def test_ids_are_numbered_in_the_order_of_their_first_line(names: list[str]) -> None:
    """Whatever the ids look like, and however often each comes: index and id lead to each other."""
    ids = Ids()
    distinct = list(dict.fromkeys(names))
    assert [ids.add(name) for name in names] == [distinct.index(name) for name in names]
    assert list(ids) == distinct
    assert len(ids) == len(distinct)
    assert [ids.find(name) for name in distinct] == list(range(len(distinct)))
    assert ids.find("never added") is None


def test_ids_that_are_numbered_on_take_no_memory_each() -> None:
    """The ids of an observed run: none of a hundred thousand is held."""
    ids = Ids()
    for number in range(1, 100_001):
        ids.add(f"o{number}")
    held = [value for value in vars(ids).values() if hasattr(value, "__len__")]
    assert sum(map(len, held)) == 2
    assert (ids.name(99_999), ids.find("o1"), ids.find("o100001")) == ("o100000", 0, None)


def exchanges(count: int, **changes: object) -> Iterable[Exchange]:
    for number in range(count):
        values = {"status": 200, "judged": ("STA-1",), **changes}
        yield Exchange(
            f"o{number}", "op", "GET", "", Message(), response=Message(), at=0.0, duration_ms=number, **values
        )  # type: ignore[arg-type]


@pytest.mark.parametrize("in_memory", [True, False])
def test_every_exchange_is_as_it_was_added(in_memory: bool) -> None:
    """Whether or not it is held by itself, with its id, its duration and its findings."""
    ids = Ids()
    judged = JudgedExchanges(ids)
    finding = Finding("STA-1", "status:418", "418 is not declared", Level.REQUIRED)
    added = [*exchanges(20), *exchanges(3, status=418, findings=(finding,))]
    added = [Exchange(**{**_members(item), "id": f"o{number}"}) for number, item in enumerate(added)]
    for exchange in added:
        judged.set(ids.add(exchange.id), exchange, in_memory=in_memory)
    assert list(judged) == added
    assert judged[-1] == added[-1]
    assert judged[3:5] == added[3:5]
    kinds = {id(item) for item in judged._items}
    assert len(kinds) == (23 if in_memory else 2)


def _members(exchange: Exchange) -> dict[str, object]:
    return {name: getattr(exchange, name) for name in exchange.__struct_fields__}


def test_a_repeated_exchange_replaces_the_first() -> None:
    """A join of journals that was interrupted leaves some lines twice: the last one counts."""
    ids = Ids()
    judged = JudgedExchanges(ids)
    first, second = next(iter(exchanges(1))), next(iter(exchanges(1, status=404)))
    for exchange in (first, second):
        judged.set(ids.add(exchange.id), exchange, in_memory=False)
    assert list(judged) == [second]
