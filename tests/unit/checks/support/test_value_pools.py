"""Values of a pool are drawn once, follow from a seed, and are the same whether they were stored or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.support import properties, stored_values, strategies, value_pools
from conformance.checks.support.state_walk import WalkModel, machine
from conformance.checks.support.strategies import Edit, ExtraInputs
from conformance.checks.support.value_pools import Pool, select
from conformance.core.key_change import KeyChange

POOLS = [
    Pool(ExtraInputs, strategies.extra_inputs),
    Pool(Edit, strategies.hostile_edits, (("/a", "/b/0"),)),
    Pool(KeyChange, strategies.key_changes, (32,)),
    Pool(str, strategies.unknown_ids, (13, False)),
    Pool(str, strategies.search_words),
    Pool(int, strategies.positions),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored_values, "cache_directory", lambda: tmp_path)
    value_pools._memory.cache_clear()
    return tmp_path / "generated"


def _draw(*search: Any) -> list[Any]:
    return properties._draw(*search)


@pytest.mark.parametrize("pool", POOLS, ids=lambda pool: pool.make.__name__)
def test_stored_values_are_those_that_were_drawn(pool: Pool) -> None:
    """Equal, of the same types, in the same order: a run with a cache sends what one without it sends."""
    drawn = pool.load_or_draw(1, _draw)
    value_pools._memory.cache_clear()
    stored = pool.load(1)
    assert stored == drawn
    assert stored is not None
    assert list(map(repr, stored)) == list(map(repr, drawn))
    assert len(drawn) > 20


def test_a_pool_is_drawn_once_in_a_process(folder: Path) -> None:
    """Where nothing can be stored, too; seeds that share a pool share its values."""
    folder.write_text("no folder")
    pool, calls = POOLS[0], []

    def draw(*search: Any) -> list[Any]:
        calls.append(search)
        return _draw(*search)

    first = pool.load_or_draw(1, draw)
    assert pool.load(1) == first
    assert pool.load(1 + stored_values.SEEDS) == first
    assert pool.load(2) is None
    assert len(calls) == 1


def test_a_smaller_pool_does_not_replace_a_larger_one() -> None:
    """A run with few examples must not leave fewer for those that follow it."""
    small, large = replace(POOLS[0], size=4), replace(POOLS[0], size=30)
    assert len(small.load_or_draw(1, _draw)) == 4
    assert large.load(1) is None
    assert len(large.load_or_draw(1, _draw)) == 30


def test_another_version_of_the_strategies_has_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored pool must not hide that its strategy was changed."""
    pool = POOLS[0]
    pool.load_or_draw(1, _draw)
    value_pools._memory.cache_clear()
    monkeypatch.setattr(value_pools, "_digests", lambda _: [0])
    assert pool.load(1) is None


def test_a_selection_follows_from_its_seed() -> None:
    """Checks take different values from one pool, each the same in every run with one seed."""
    values = list(range(64))
    assert select(values, 4, 1) == select(values, 4, 1)
    assert len({tuple(select(values, 4, seed)) for seed in range(50)}) > 40
    assert sorted(select(values[:3], 8, 1)) == values[:3]


def test_walks_are_stored_as_they_were_drawn() -> None:
    """Their steps are method names with arguments."""
    model = WalkModel("cart", ("open",), ("revokePublicCart",), ("quotePublicCart",))
    walks = ((("begin", ("open",)), ("replay", (2,)), ("refuse", ("revokePublicCart", "without a body"))),)
    pool = Pool(tuple[tuple[str, tuple[Any, ...]], ...], machine, (model,), 1)
    pool.load_or_draw(1, lambda *_: list(walks))
    value_pools._memory.cache_clear()
    assert pool.load(1) == walks
