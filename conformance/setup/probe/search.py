"""Search: a query that is answered 200, the number of the first page, page size limits, and filters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.setup.probe.context import Bench

SEARCH: Final = "searchPublicProducts"
_WORDS: Final = ("a", "e", "shirt", "shoe", "gift", "test", "o", "s", "the")
_PLACES: Final = (
    ("en-US", "US"),
    ("en", "US"),
    ("en-GB", "GB"),
    ("de-DE", "DE"),
    ("en_US", "US"),
    ("en", "us"),
    ("en-us", "us"),
    ("fr-FR", "FR"),
)
"""Common pairs of locale and market."""
_SORTS: Final = (
    "relevance",
    "name",
    "price",
    "newest",
    "price_asc",
    "default",
    "title",
    "popularity",
    "createdAt",
    "best",
)
_MOST_TRIED: Final = 60
_SIZE: Final = 2
_DOUBLINGS: Final = (10, 20, 50, 100, 200, 500, 1000, 5000)
_WIDE: Final = 50
_MOST_PLACES: Final = 8
_ANY: Final = re.compile("")
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


async def bound(answers: Callable[[int], Awaitable[bool]], steps: tuple[int, ...], start: int) -> Bound:
    """Finds the largest number that `answers` accepts: takes the steps above `start`, then bisects."""
    low, high = start, None
    for step in (step for step in steps if step > start):
        if not await answers(step):
            high = step
            break
        low = step
    while high is not None and high - low > 1:
        middle = (low + high) // 2
        if await answers(middle):
            low = middle
        else:
            high = middle
    return Bound(low, high)


async def query(bench: Bench) -> None:
    """Tries queries with known and common values until one gets 200, then looks for a word with several pages."""
    known = {name: str(value) for name, value in (bench.draft.get("search", "query") or {}).items()}
    best: tuple[int, dict[str, str]] | None = None
    for tried, values in enumerate(_guesses(bench, known), 1):
        answer = await _ask(bench, values)
        if answer.ok and isinstance(answer.data, list):
            best = (len(answer.data), values)
            break
        if tried >= _MOST_TRIED or answer.status == 401:
            break
    if best is None:
        line = 'query = { q = "...", locale = "...", market = "...", sort = "...", page = 1, pageSize = 2 }'
        bench.draft.todo(
            "search", line, "a query that is answered 200; the probe found none. Without it, search has no control"
        )
        bench.tell("  search: no query got 200")
        return
    values = await _with_several_pages(bench, best[1], known)
    stated = {name: _number(value) if name in ("page", "pageSize") else value for name, value in values.items()}
    for name, value in stated.items():
        bench.draft.state(("search", "query", name), value, "part of a query that is answered 200")
    bench.draft.evidence[("search", "query")] = "answered 200, with items" if best[0] else "answered 200, no items"
    bench.tell(f"  search: {' '.join(f'{name}={value}' for name, value in values.items())}")
    await _first_page(bench, values)


def _guesses(bench: Bench, known: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yields queries: values of the user, then of the OpenAPI document, then common values."""
    told = bench.described.query
    words = [known["q"]] if "q" in known else [*told.get("q", ()), _WORDS[0]]
    sorts = [known["sort"]] if "sort" in known else [*told.get("sort", ()), *_SORTS]
    locales, markets = told.get("locale", ()), told.get("market", ())
    places = [(locale, market) for locale in locales for market in markets][:20]
    places += [(locale, market) for locale in locales for _, market in _PLACES] if not markets else []
    places += [(locale, market) for locale, _ in _PLACES for market in markets] if not locales else []
    given = [(known.get("locale", locale), known.get("market", market)) for locale, market in [*places, *_PLACES]]
    rest = {name: value for name, value in known.items() if name not in ("q", "locale", "market", "sort")}
    for locale, market in dict.fromkeys(given):
        for sort in dict.fromkeys(sorts):
            values = {
                "q": words[0],
                "locale": locale,
                "market": market,
                "sort": sort,
                "page": "1",
                "pageSize": str(_SIZE),
            }
            yield {**values, **rest}


async def _with_several_pages(bench: Bench, values: dict[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The query with the first search word that finds several pages, or with the one that finds most."""
    words = [values["q"]] if "q" in known else [values["q"], *_WORDS[1:], *bench.described.query.get("q", ())]
    best, most = values, -1
    for word in dict.fromkeys(words):
        found = len(await _items(bench, {**values, "q": word, "pageSize": "10"}))
        if found > most:
            best, most = {**values, "q": word}, found
        if most >= 3 * _SIZE:
            break
    return best


async def _first_page(bench: Bench, values: Mapping[str, str]) -> None:
    """States the number of the first page: 1 if page 0 is refused, 0 if page 0 differs from page 1."""
    nil, one = [await _ask(bench, {**values, "page": page}) for page in ("0", "1")]
    first, second = nil.data if nil.ok else None, one.data if one.ok else None
    if nil.is_refused and one.ok:
        base, why = 1, f"page 0 gets {nil.summary}, page 1 200"
    elif nil.ok and isinstance(first, list) and first and first != second:
        minus = await _ask(bench, {**values, "page": "-1"})
        base, why = 0, f"page 0 and page 1 have different items; page -1 gets {minus.summary}"
    else:
        bench.draft.todo("search", "page_base = 1", f"page 0: {nil.summary}, page 1: {one.summary}; not conclusive")
        return
    bench.draft.state(("search", "page_base"), base, why)
    if not bench.draft.stated("search", "query", "page"):
        bench.draft.facts["search"]["query"]["page"] = base
    bench.tell(f"  search: first page is {base}")


async def sizes(bench: Bench) -> None:
    """States the limits of pageSize if sizes beyond them are refused."""
    values = _found(bench)
    if values is None:
        return
    most = await bound(lambda size: _accepts(bench, values, size), _DOUBLINGS, int(values["pageSize"]))
    if most.refused is not None:
        why = f"pageSize {most.accepted} gets 200, {most.refused} is refused"
        bench.draft.state(("search", "page_size_max"), most.accepted, why)
        bench.tell(f"  search: pageSize at most {most.accepted}")
    else:
        longest = await _items(bench, {**values, "pageSize": str(most.accepted)})
        seen = f"pageSize {most.accepted} gets 200 with {len(longest)} items: clamped or unlimited"
        bench.draft.todo("search", "page_size_max = 100", f"only if larger sizes are refused; {seen}")
    accepts_one, accepts_nil = await _accepts(bench, values, 1), await _accepts(bench, values, 0)
    if accepts_one and not accepts_nil:
        bench.draft.state(("search", "page_size_min"), 1, "pageSize 1 gets 200, 0 is refused")
    else:
        seen = f"pageSize 1 is {'accepted' if accepts_one else 'refused'}, 0 {'accepted' if accepts_nil else 'refused'}"
        bench.draft.todo("search", "page_size_min = 1", f"only if smaller sizes are refused; {seen}")


async def filters(bench: Bench) -> None:
    """States the pointers to the id, category and merchant of an item."""
    values = _found(bench)
    if values is None:
        return
    most = bench.draft.get("search", "page_size_max")
    wide = {**values, "pageSize": str(min(int(most or _WIDE), _WIDE))}
    items = [item for item in await _items(bench, wide) if isinstance(item, dict)]
    if ids := _identifying(items):
        seen = f"unique in {len(items)} items"
        bench.draft.state(("search", "item_id"), ids[0], seen)
    for name, look in _FILTERS:
        await _filter(bench, wide, items, name, look)
    again = await _items(bench, wide)
    same = "did not change" if again == items else "changed"
    bench.draft.todo(
        "search", "stable_sort = true", f"only if stable; the order of {len(items)} items {same} between two requests"
    )


def _identifying(items: list[Any]) -> list[str]:
    """Pointers with a unique value in each item: names of ids first, then values that look like an id."""
    named = sorted(_places(items, _ID_NAMES), key=len)
    found = dict.fromkeys([*named, *_places(items, _ANY)])
    unlike = [at for at in found if len({str(pointer.get(item, at)) for item in items}) == len(items) > 1]
    return [at for at in unlike if at in named or all(_looks_like_id(pointer.get(item, at)) for item in items)]


def _looks_like_id(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"(?=.*\d)[^\s]{1,80}", value) is not None


async def _filter(bench: Bench, values: Mapping[str, str], items: list[Any], name: str, look: re.Pattern[str]) -> None:
    """States the pointer that a filter compares: all filtered items have its value, and not all items do."""
    for at in list(dict.fromkeys([*_places(items, look), *_places(items, _ANY)]))[:_MOST_PLACES]:
        seen = Counter(_text(pointer.get(item, at)) for item in items)
        value, count = seen.most_common(1)[0]
        if not value or not 1 < count < len(items) or len(value) > 100 or "{" in value or "}" in value:
            continue
        only = await _items(bench, {**values, name: value})
        if only and all(pointer.has(item, at) and pointer.get(item, at) == value for item in only):
            why = f"{len(only)} items with {name}={bench.clean(value)}, each with this value"
            bench.draft.state(("search", f"item_{name}"), at, why)
            bench.draft.state(("search", name), value, f"{count} of {len(items)} items have it")
            return
    bench.draft.todo("search", f'item_{name} = "/{name}"', f"pointer to the member of an item that {name} compares")
    bench.draft.todo("search", f'{name} = "..."', "a value of some products, but not of all")


def _places(items: list[Any], look: re.Pattern[str]) -> list[str]:
    """The pointers that all items share and whose last member matches the pattern, in document order."""
    if not items:
        return []
    shared = set.intersection(*({at for at, leaf in pointer.leaves(item) if leaf is not None} for item in items))
    first = [at for at, _ in pointer.leaves(items[0])]
    return [at for at in first if at in shared and look.search(pointer.tokens(at)[-1])]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _found(bench: Bench) -> dict[str, str] | None:
    if SEARCH not in bench.controls or not bench.draft.knows("search", "query"):
        return None
    return {name: str(value) for name, value in bench.draft.get("search", "query").items()}


async def _accepts(bench: Bench, values: Mapping[str, str], size: int) -> bool:
    return (await _ask(bench, {**values, "pageSize": str(size)})).ok


async def _items(bench: Bench, values: Mapping[str, str]) -> list[Any]:
    answer = await _ask(bench, values)
    return answer.data if answer.ok and isinstance(answer.data, list) else []


async def _ask(bench: Bench, values: Mapping[str, str]) -> Answer:
    return await bench.send(Request(bench.operation(SEARCH), query=tuple(values.items())), "search")


def _number(value: str) -> int | str:
    return int(value) if re.fullmatch(r"-?\d{1,9}", value) else value
