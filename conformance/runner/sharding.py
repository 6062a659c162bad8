"""How the checks of a run are dealt out: to the processes of one machine, and to shards on several."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import pytest

from conformance.checks.support.registry import Instance
from conformance.core.errors import UsageError
from conformance.runner.items import CheckItem

_MOST_SHARDS: Final = 64


def dealt(checks: Iterable[Instance], index: int, count: int) -> tuple[list[Instance], list[Instance]]:
    """The ordinary checks that fall to one of several, in turn; and all those that must run alone."""
    known = list(checks)
    ordinary = [check for check in known if not check.check.exclusive]
    return ordinary[index::count], [check for check in known if check.check.exclusive]


def parsed_shard(text: str, where: str = "--shard") -> tuple[int, int]:
    """`2/4` as (1, 4). Raises UsageError on what is no part of a whole."""
    match = re.fullmatch(r"(\d{1,3})/(\d{1,3})", text, re.ASCII)
    number, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= count <= _MOST_SHARDS:
        raise UsageError(f"{text!r} is no part of a whole", where=where, hint="the second of four is 2/4")
    return number - 1, count


def in_shard(items: Sequence[pytest.Item], index: int, count: int) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The items of one shard, and the rest. What must run alone falls to the last one; no other test is dealt out."""
    ordinary, alone = dealt((item.instance for item in items if isinstance(item, CheckItem)), index, count)
    ours = {instance.id for instance in (*ordinary, *(alone if index == count - 1 else ()))}
    kept = [item for item in items if not isinstance(item, CheckItem) or item.instance.id in ours]
    return kept, [item for item in items if isinstance(item, CheckItem) and item.instance.id not in ours]


def asked_of(config: pytest.Config) -> str:
    """By what the checks of a run were selected, as text; empty where all were."""
    only = (f"--only {name}" for name in sorted(config.getoption("--conformance-only")))
    expressions = (("-k", config.option.keyword), ("-m", config.option.markexpr))
    return " ".join([*(f"{option} {text!r}" for option, text in expressions if text), *only])
