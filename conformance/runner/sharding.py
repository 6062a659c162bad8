"""Distributes the checks of a run over processes and shards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from conformance.checks.support.registry import Instance
from conformance.engine.session import Session
from conformance.runner.items import CheckItem


def dealt(checks: Iterable[Instance], index: int, count: int) -> tuple[list[Instance], list[Instance]]:
    """(ordinary checks of part `index` of `count`, round robin; all exclusive checks)."""
    known = list(checks)
    ordinary = [check for check in known if not check.check.exclusive]
    return ordinary[index::count], [check for check in known if check.check.exclusive]


def in_shard(items: Sequence[pytest.Item], index: int, count: int) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """(items of one shard, items of the others). The last shard has the exclusive checks; all have any other tests."""
    ordinary, alone = dealt((item.instance for item in items if isinstance(item, CheckItem)), index, count)
    ours = {instance.id for instance in (*ordinary, *(alone if index == count - 1 else ()))}
    kept = [item for item in items if not isinstance(item, CheckItem) or item.instance.id in ours]
    return kept, [item for item in items if isinstance(item, CheckItem) and item.instance.id not in ours]


def selection_of(session: Session, config: pytest.Config) -> str:
    """The selection expressions of a run, as text; empty if all checks were selected."""
    only = (f"--only {name}" for name in sorted(session.options.only))
    expressions = (("-k", config.option.keyword), ("-m", config.option.markexpr))
    return " ".join([*(f"{option} {text!r}" for option, text in expressions if text), *only])
