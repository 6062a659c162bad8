"""Pools of generated values: hypothesis draws them once for a strategy, and the user's cache keeps them for later runs.

Checks of one strategy share its pool. Each takes a few values, chosen by the run's seed and its own name. To draw a
pool takes less time than to draw a few values for each of twenty operations.
"""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from conformance.checks.support import strategies
from conformance.checks.support.stored_values import SEEDS, StoredValues

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SIZE: Final = 64
"""Number of values of a pool that many checks share."""
SMALL_SIZE: Final = 20
"""Number of values of a pool that the checks of one operation share."""
Draw = Callable[[Callable[[], "SearchStrategy[Any]"], int, int], list[Any]]
"""Draws values of a strategy, for a seed: at most as many as the last argument says."""


@dataclass(frozen=True)
class Pool:
    """The values that follow from `make` and `arguments`, as a rule a strategy; `value_type` is that of each."""

    value_type: Any
    make: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    size: int = SIZE

    def __call__(self) -> SearchStrategy[Any]:
        """The strategy, to generate further values."""
        strategy: SearchStrategy[Any] = self.make(*self.arguments)
        return strategy

    @property
    def origin(self) -> dict[str, Any]:
        """The values follow from it and a seed."""
        arguments = msgspec.to_builtins(self.arguments)
        sources = _digests(self.make.__module__)
        return {"strategy": self.make.__qualname__, "arguments": arguments, "sources": sources, "size": self.size}

    def start_seed(self, seed: int) -> int:
        """The seed of hypothesis, for the seed of a run."""
        return zlib.crc32(f"{seed % SEEDS}:{self.make.__qualname__}:{self.arguments}".encode())

    def load(self, seed: int) -> tuple[Any, ...] | None:
        """The values for the seed of a run; None where they are not stored."""
        return _find_in_memory(self, seed % SEEDS) or _load(self, seed)

    def load_or_draw(self, seed: int, draw: Draw) -> tuple[Any, ...]:
        """The values for the seed of a run: stored ones, else those that `draw` returns, which are stored then."""
        stored: StoredValues[Any] = StoredValues(self.value_type, self.origin)
        values = stored.load_or_generate(seed, lambda _: draw(self, self.start_seed(seed), self.size))
        return _keep(self, seed, tuple(values))


def select(values: Sequence[Any], number: int, seed: int) -> list[Any]:
    """At most `number` of the values, chosen by a seed."""
    return random.Random(seed).sample(values, min(number, len(values)))


@lru_cache(maxsize=256)
def _memory(pool: Pool, seed: int) -> list[tuple[Any, ...]]:
    """A place for the values of a pool, as long as this process lives: many targets are judged with one seed."""
    return []


def _find_in_memory(pool: Pool, seed: int) -> tuple[Any, ...] | None:
    found = _memory(pool, seed)
    return found[0] if found else None


def _keep(pool: Pool, seed: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
    _memory(pool, seed % SEEDS)[:] = [values]
    return values


def _load(pool: Pool, seed: int) -> tuple[Any, ...] | None:
    stored: StoredValues[Any] = StoredValues(pool.value_type, pool.origin)
    values = stored.load(seed)
    return None if values is None else _keep(pool, seed, tuple(values))


@cache
def _digests(module_name: str) -> list[int]:
    """They change with the source of the strategies: values of another version are not used."""
    files = (strategies.__file__, sys.modules[module_name].__file__)
    return [zlib.crc32(Path(file).read_bytes()) for file in files if file]
