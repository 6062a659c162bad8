"""How a target behaves where the interface leaves a choice: statuses, members, headers, latency.

Derived from the exchanges of a run, to compare two targets that both conform.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.core.model import Exchange, Run
from conformance.journal.exchange_store import exchanges_by_id

SAMPLES: Final = 25
"""Maximum number of bodies examined for one operation and status."""
_DEEPEST: Final = 12
_VARYING_HEADERS: Final = frozenset(
    {
        "date",
        "content-length",
        "connection",
        "keep-alive",
        "transfer-encoding",
        "age",
        "content-encoding",
        "retry-after",
    }
)
_NAMES: Final = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of the answers of one operation with one status."""

    count: int
    members: Mapping[str, int]
    """Number of bodies with each place; `/data/*/id`, where `*` is any element."""
    types: Mapping[str, frozenset[str]]
    """The JSON types seen at each place, `null` left out."""
    headers: Mapping[str, int]
    media: frozenset[str]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of a run's target. `statuses`: by check, operation and case, the status of each purpose sent
    once."""

    statuses: Mapping[tuple[str, str, str], Mapping[str, str]]
    shapes: Mapping[tuple[str, int], Shape]
    times: Mapping[str, tuple[float, ...]]
    """Durations in milliseconds of the 200 answers, by operation."""


def behaviour(run: Run) -> Behaviour:
    """The behaviour of a run's target; needs the exchanges of the journal."""
    exchanges_by_name = exchanges_by_id(run.exchanges)
    statuses = {
        (result.check, result.operation, result.case): _statuses(
            exchanges_by_name[name] for name in result.exchanges if name in exchanges_by_name
        )
        for result in run.results
    }
    kinds: dict[tuple[str, int], list[Exchange]] = defaultdict(list)
    times: dict[str, list[float]] = defaultdict(list)
    for exchange in run.exchanges:
        if exchange.status is None or exchange.retry_of:
            continue
        if exchange.status == 200:
            times[exchange.operation].append(exchange.duration_ms)
        if len(kinds[exchange.operation, exchange.status]) < SAMPLES and not exchange.response.truncated:
            kinds[exchange.operation, exchange.status].append(exchange)
    return Behaviour(
        statuses=statuses,
        shapes={kind: _shape(exchanges) for kind, exchanges in kinds.items()},
        times={name: tuple(values) for name, values in times.items()},
    )


def _statuses(exchanges: Iterable[Exchange]) -> dict[str, str]:
    """Only requests sent once: in a race, or for generated requests, the status is a matter of chance."""
    found: dict[str, list[str]] = defaultdict(list)
    for exchange in exchanges:
        if exchange.status not in (429, None) and not exchange.purpose.startswith("walk"):
            found[exchange.purpose].append(str(exchange.status))
    return {purpose: statuses[0] for purpose, statuses in found.items() if len(statuses) == 1}


def _shape(exchanges: Iterable[Exchange]) -> Shape:
    members: Counter[str] = Counter()
    headers: Counter[str] = Counter()
    types: dict[str, set[str]] = defaultdict(set)
    media, count = set(), 0
    for exchange in exchanges:
        count += 1
        for name, value in exchange.response.headers:
            if name.lower() == "content-type":
                media.add(value)
        headers.update({name.lower() for name, _ in exchange.response.headers} - _VARYING_HEADERS)
        places = dict(_places(_parse(exchange.response.body)))
        members.update(places.keys())
        for place, kinds in places.items():
            types[place] |= kinds
    return Shape(count, members, {place: frozenset(kinds) for place, kinds in types.items()}, headers, frozenset(media))


def _parse(body: str) -> Any:
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError):
        return None


def _places(value: Any, at: str = "", depth: int = 0) -> Iterator[tuple[str, set[str]]]:
    """Each place of a value with its types; the elements of an array share one place."""
    found: dict[str, set[str]] = defaultdict(set)
    _walk(value, at, depth, found)
    yield from found.items()


def _walk(value: Any, at: str, depth: int, found: dict[str, set[str]]) -> None:
    kind = _NAMES.get(type(value))
    found[at] |= {kind} if kind else set()
    if depth >= _DEEPEST:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            _walk(item, f"{at}/{name.replace('~', '~0').replace('/', '~1')}", depth + 1, found)
    elif isinstance(value, list):
        for item in value[:50]:
            _walk(item, f"{at}/*", depth + 1, found)
