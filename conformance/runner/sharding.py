"""Distributes the checks of a run over processes and shards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from conformance.checks.support.registry import Instance
from conformance.engine.session import Session
from conformance.runner.items import CheckItem


def split_checks(checks: Iterable[Instance], index: int, count: int) -> tuple[list[Instance], list[Instance]]:
    """(ordinary checks of part `index` of `count`, round robin; all exclusive checks)."""
    all_checks = list(checks)
    ordinary = [check for check in all_checks if not check.check.exclusive]
    return ordinary[index::count], [check for check in all_checks if check.check.exclusive]


def split_items(items: Sequence[pytest.Item], index: int, count: int) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """(items of one shard, items of the others). The last shard has the exclusive checks; all have any other tests."""
    ordinary, exclusive = split_checks((item.instance for item in items if isinstance(item, CheckItem)), index, count)
    shard_ids = {instance.id for instance in (*ordinary, *(exclusive if index == count - 1 else ()))}
    shard_items = [item for item in items if not isinstance(item, CheckItem) or item.instance.id in shard_ids]
    return shard_items, [item for item in items if isinstance(item, CheckItem) and item.instance.id not in shard_ids]


def describe_selection(session: Session, config: pytest.Config) -> str:
    """The selection expressions of a run, as text; empty if all checks were selected."""
    names = (f"--only {name}" for name in sorted(session.options.only))
    expressions = (("-k", config.option.keyword), ("-m", config.option.markexpr))
    return " ".join([*(f"{option} {text!r}" for option, text in expressions if text), *names])
