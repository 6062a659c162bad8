"""Search: a query that is answered 200, the number of the first page, page size limits, and filters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.setup.probe.context import Probe
from conformance.setup.probe.query_values import COMMON_WORDS, Values, candidate_queries, merge, values_in

RUNTIME_CONFIG: Final = "getPublicRuntimeConfig"
SEARCH: Final = "searchPublicProducts"
_MAX_QUERIES: Final = 80
_PAGE_SIZE: Final = 2
_PAGE_SIZES: Final = (10, 20, 50, 100, 200, 500, 1000, 5000)
_FILTER_PAGE_SIZE: Final = 50
_MAX_POINTERS: Final = 8
_ANY_NAME: Final = re.compile("")
_ID_NAMES: Final = re.compile(r"^(id|sku|ref)$|(_|-|\.)(id|ref)$|I[dD]$", re.MULTILINE)
_FILTERS: Final = (
    ("category", re.compile("categor|department", re.IGNORECASE)),
    ("merchant", re.compile("merchant|store|shop|seller|vendor", re.IGNORECASE)),
)
"""Query parameter -> pattern for the name of the member that it compares."""


@dataclass(frozen=True)
class Bound:
    """The largest accepted and the smallest refused number; `refused` is None if none was refused."""

    accepted: int
    refused: int | None


async def find_bound(accepts: Callable[[int], Awaitable[bool]], steps: tuple[int, ...], start: int) -> Bound:
    """Finds the largest number that `accepts` allows: takes the steps above `start`, then bisects."""
    low, high = start, None
    for step in (step for step in steps if step > start):
        if not await accepts(step):
            high = step
            break
        low = step
    while high is not None and high - low > 1:
        middle = (low + high) // 2
        if await accepts(middle):
            low = middle
        else:
            high = middle
    return Bound(low, high)


async def probe_query(probe: Probe) -> None:
    """Tries queries with known and common values until one gets 200, then looks for a word with several pages."""
    if probe.draft.is_excluded("search", "query"):
        return
    known = {name: str(value) for name, value in (probe.draft.get("search", "query") or {}).items()}
    runtime, documented = await _runtime_values(probe), probe.openapi.query_values
    hints = merge(runtime, documented)
    best: tuple[int, dict[str, str]] | None = None
    for values in islice(candidate_queries(known, hints), _MAX_QUERIES):
        answer = await send_query(probe, values)
        if answer.ok and isinstance(answer.data, list):
            best = (len(answer.data), values)
            break
        if answer.status == 401:
            break
    if best is None:
        _add_unproven_query(probe, known)
        return
    values = await _choose_word(probe, best[1], known, hints)
    stated = {name: _parse_number(value) if name in ("page", "pageSize") else value for name, value in values.items()}
    for name, value in stated.items():
        probe.draft.state(("search", "query", name), value, "part of a query that is answered 200")
    sources = _describe_sources(values, known, {"the runtime configuration": runtime, "the document": documented})
    evidence = f"answered 200, {'with items' if best[0] else 'no items'}{sources}"
    probe.draft.evidence[("search", "query")] = evidence
    probe.echo(f"  search: {' '.join(f'{name}={value}' for name, value in values.items())}")
    await _probe_first_page(probe, values)


async def _runtime_values(probe: Probe) -> Values:
    """The values that the runtime configuration shows; none if the query is complete, or if it is not answered."""
    if probe.draft.is_stated("search", "query", "market") and probe.draft.is_stated("search", "query", "sort"):
        return {}
    answer = await probe.send(Request(probe.operation(RUNTIME_CONFIG)), "search")
    return values_in(answer.value) if answer.ok else {}


def _describe_sources(values: Mapping[str, str], known: Mapping[str, str], sources: Mapping[str, Values]) -> str:
    """`; locale and market shown by the runtime configuration`, for values that are not stated."""
    names: dict[str, list[str]] = {}
    for name, value in values.items():
        source = next((source for source, hints in sources.items() if value in hints.get(name, ())), "")
        if source and name not in known:
            names.setdefault(source, []).append(name)
    return "".join(f"; {' and '.join(found)} shown by {source}" for source, found in names.items())


def _add_unproven_query(probe: Probe, known: Mapping[str, str]) -> None:
    """A TODO; a query of which the user stated a part is completed, since a profile has all or nothing of it."""
    completed = next(candidate_queries(known, {})) if known else {}
    for name, value in completed.items():
        probe.draft.state(("search", "query", name), _parse_number(value), "TODO assumed: no query was answered 200")
    line = 'query = { q = "...", locale = "...", market = "...", sort = "...", page = 1, pageSize = 2 }'
    probe.draft.todo(
        "search", line, "a query that is answered 200; the probe found none. Without it, search has no control"
    )
    probe.echo("  search: no query got 200")


async def _choose_word(probe: Probe, values: dict[str, str], known: Mapping[str, str], hints: Values) -> dict[str, str]:
    """The query with the first search word that finds several pages, or with the one that finds most."""
    words = [values["q"]] if "q" in known else [values["q"], *COMMON_WORDS, *hints.get("q", ())]
    best, best_count = values, -1
    for word in dict.fromkeys(words):
        found = len(await _search_items(probe, {**values, "q": word, "pageSize": "10"}))
        if found > best_count:
            best, best_count = {**values, "q": word}, found
        if best_count >= 3 * _PAGE_SIZE:
            break
    return best


async def _probe_first_page(probe: Probe, values: Mapping[str, str]) -> None:
    """States the number of the first page: 1 if page 0 is refused, 0 if page 0 differs from page 1."""
    page_zero, page_one = [await send_query(probe, {**values, "page": page}) for page in ("0", "1")]
    zero_items, one_items = page_zero.data if page_zero.ok else None, page_one.data if page_one.ok else None
    if page_zero.is_refused and page_one.ok:
        page_base, evidence = 1, f"page 0 gets {page_zero.summary}, page 1 200"
    elif page_zero.ok and isinstance(zero_items, list) and zero_items and zero_items != one_items:
        page_minus_one = await send_query(probe, {**values, "page": "-1"})
        page_base, evidence = 0, f"page 0 and page 1 have different items; page -1 gets {page_minus_one.summary}"
    else:
        probe.draft.todo(
            "search", "page_base = 1", f"page 0: {page_zero.summary}, page 1: {page_one.summary}; not conclusive"
        )
        return
    probe.draft.state(("search", "page_base"), page_base, evidence)
    if not probe.draft.is_stated("search", "query", "page"):
        probe.draft.facts["search"]["query"]["page"] = page_base
    probe.echo(f"  search: first page is {page_base}")


async def probe_page_sizes(probe: Probe) -> None:
    """States the limits of pageSize if sizes beyond them are refused."""
    values = known_query(probe)
    if values is None:
        return
    upper = await find_bound(lambda size: _accepts(probe, values, size), _PAGE_SIZES, int(values["pageSize"]))
    if upper.refused is not None:
        evidence = f"pageSize {upper.accepted} gets 200, {upper.refused} is refused"
        probe.draft.state(("search", "page_size_max"), upper.accepted, evidence)
        probe.echo(f"  search: pageSize at most {upper.accepted}")
    else:
        items = await _search_items(probe, {**values, "pageSize": str(upper.accepted)})
        observation = f"pageSize {upper.accepted} gets 200 with {len(items)} items: clamped or unlimited"
        probe.draft.todo("search", "page_size_max = 100", f"only if larger sizes are refused; {observation}")
    await _probe_smallest(probe, values)


async def _probe_smallest(probe: Probe, values: Mapping[str, str]) -> None:
    """The smallest size above 0 that is accepted, where all below it are refused."""
    if await _accepts(probe, values, 0):
        probe.draft.todo("search", "page_size_min = 1", "only if smaller sizes are refused; pageSize 0 gets 200")
        return
    low, high = 0, int(values["pageSize"])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if await _accepts(probe, values, middle) else (middle, high)
    probe.draft.state(("search", "page_size_min"), high, f"pageSize {high} gets 200, {low} is refused")


async def probe_filters(probe: Probe) -> None:
    """States the pointers to the id, category and merchant of an item."""
    values = known_query(probe)
    if values is None:
        return
    largest = int(probe.draft.get("search", "page_size_max") or _FILTER_PAGE_SIZE)
    wide_query = {**values, "pageSize": str(min(largest, _FILTER_PAGE_SIZE))}
    items = [item for item in await _search_items(probe, wide_query) if isinstance(item, dict)]
    if ids := _unique_pointers(items):
        evidence = f"unique in {len(items)} items"
        probe.draft.state(("search", "item_id"), ids[0], evidence)
    for name, pattern in _FILTERS:
        await _probe_filter(probe, wide_query, items, name, pattern)


def _unique_pointers(items: list[Any]) -> list[str]:
    """Pointers with a unique value in each item: names of ids first, then values that look like an id."""
    id_named = sorted(_shared_pointers(items, _ID_NAMES), key=len)
    candidates = dict.fromkeys([*id_named, *_shared_pointers(items, _ANY_NAME)])
    unique = [at for at in candidates if len({str(pointer.get(item, at)) for item in items}) == len(items) > 1]
    return [at for at in unique if at in id_named or all(_looks_like_id(pointer.get(item, at)) for item in items)]


def _looks_like_id(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"(?=.*\d)[^\s]{1,80}", value) is not None


async def _probe_filter(
    probe: Probe, values: Mapping[str, str], items: list[Any], name: str, pattern: re.Pattern[str]
) -> None:
    """States the pointer that a filter compares: all filtered items have its value, and not all items do."""
    for at in list(dict.fromkeys([*_shared_pointers(items, pattern), *_shared_pointers(items, _ANY_NAME)]))[
        :_MAX_POINTERS
    ]:
        counts = Counter(_as_text(pointer.get(item, at)) for item in items)
        value, count = counts.most_common(1)[0]
        if not value or not 1 < count < len(items) or len(value) > 100 or "{" in value or "}" in value:
            continue
        filtered = await _search_items(probe, {**values, name: value})
        if filtered and all(pointer.has(item, at) and pointer.get(item, at) == value for item in filtered):
            evidence = f"{len(filtered)} items with {name}={probe.clean(value)}, each with this value"
            probe.draft.state(("search", f"item_{name}"), at, evidence)
            probe.draft.state(("search", name), value, f"{count} of {len(items)} items have it")
            return
    probe.draft.todo("search", f'item_{name} = "/{name}"', f"pointer to the member of an item that {name} compares")
    probe.draft.todo("search", f'{name} = "..."', "a value of some products, but not of all")


def _shared_pointers(items: list[Any], pattern: re.Pattern[str]) -> list[str]:
    """The pointers that all items share and whose last member matches the pattern, in document order."""
    if not items:
        return []
    shared = set.intersection(*({at for at, leaf in pointer.leaves(item) if leaf is not None} for item in items))
    first_pointers = [at for at, _ in pointer.leaves(items[0])]
    return [at for at in first_pointers if at in shared and pattern.search(pointer.tokens(at)[-1])]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def known_query(probe: Probe) -> dict[str, str] | None:
    if SEARCH not in probe.controls or not probe.draft.get("search", "query"):
        return None
    return {name: str(value) for name, value in probe.draft.get("search", "query").items()}


async def _accepts(probe: Probe, values: Mapping[str, str], size: int) -> bool:
    return (await send_query(probe, {**values, "pageSize": str(size)})).ok


async def _search_items(probe: Probe, values: Mapping[str, str]) -> list[Any]:
    return items_of(await send_query(probe, values))


def items_of(answer: Answer) -> list[Any]:
    """The items of a search; none if it was refused."""
    return answer.data if answer.ok and isinstance(answer.data, list) else []


async def send_query(probe: Probe, values: Mapping[str, str]) -> Answer:
    return await probe.send(Request(probe.operation(SEARCH), query=tuple(values.items())), "search")


def _parse_number(value: str) -> int | str:
    return int(value) if re.fullmatch(r"-?\d{1,9}", value) else value
