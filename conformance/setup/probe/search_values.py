"""Unusual values of search parameters: empty, unknown, too long, past the end, outside of bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.checks.support.search_filters import unknown_value
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.setup.probe.context import Probe
from conformance.setup.probe.search import find_bound, items_of, known_query, send_query

_CONFIG: Final = "getPublicRuntimeConfig"
_REFUSALS: Final = {400: "refused", 404: "not_found"}
_FAR: Final = (1_000, 1_000_000)
_MOST_PAGES: Final = 12
_LENGTHS: Final = (16, 32, 64, 128, 256, 512, 1024)
_WORDS: Final = ("gift", "e", "a", "s", "the", "o")
_LARGE: Final = 1_000
_LEAST_ITEMS: Final = 6
"""Fewer items may be in the same order by chance."""
_LISTED: Final = {"locale": "locales", "market": "markets"}


async def probe_unusual_values(probe: Probe) -> None:
    """States how a search treats unusual values, where every one that was tried is treated the same."""
    query = known_query(probe)
    if query is None:
        return
    usual = await send_query(probe, query)
    items = items_of(usual)
    if not usual.ok or not items:
        return
    await _probe_unknown(probe, query, items)
    await _probe_empty_text(probe, query)
    await _probe_longest_text(probe, query)
    await _probe_end(probe, query)
    await _probe_lists(probe, query)


async def _send(probe: Probe, query: Mapping[str, str], **values: object) -> Answer:
    return await send_query(probe, {**query, **{name: str(value) for name, value in values.items()}})


async def _probe_unknown(probe: Probe, query: Mapping[str, str], usual: list[Any]) -> None:
    for fact, name in (
        ("unknown_category", "category"),
        ("unknown_merchant", "merchant"),
        ("unknown_parameter", unknown_value("")),
    ):
        if name in query:
            continue
        unknown = unknown_value(probe.draft.get("search", name) or "")
        answer = await _send(probe, query, **{name: unknown})
        items = items_of(answer)
        treatment = _REFUSALS.get(answer.status or 0, "")
        if answer.ok:
            treatment = "ignored" if items == usual else "" if items else "empty"
        allowed = (
            ("refused", "ignored") if fact == "unknown_parameter" else ("refused", "not_found", "empty", "ignored")
        )
        if treatment in allowed:
            observed = "the usual items" if treatment == "ignored" else f"{len(items)} items" if answer.ok else ""
            probe.draft.state(("search", fact), treatment, f"{name}={unknown}: {answer.summary} {observed}".rstrip())


async def _probe_empty_text(probe: Probe, query: Mapping[str, str]) -> None:
    answer = await _send(probe, query, q="")
    if answer.status == 400:
        probe.draft.state(("search", "empty_q"), "refused", "an empty q gets 400")
    elif answer.ok and isinstance(answer.data, list):
        items = items_of(answer)
        evidence = f"an empty q gets 200 with {len(items)} items"
        probe.draft.state(("search", "empty_q"), "everything" if items else "nothing", evidence)


async def _probe_longest_text(probe: Probe, query: Mapping[str, str]) -> None:
    async def accepts(length: int) -> bool:
        return (await _send(probe, query, q="a" * length)).ok

    bound = await find_bound(accepts, _LENGTHS, 1)
    if bound.refused is None:
        return
    longest = bound.accepted
    statuses = [(await _send(probe, query, q=c * n)).status for c in "aé" for n in (longest, longest + 1)]
    if statuses == [200, 400, 200, 400]:
        evidence = f"q of {longest} characters gets 200, of one more 400, with letters of one byte and of two"
        probe.draft.state(("search", "q_max"), longest, evidence)


async def _probe_end(probe: Probe, query: Mapping[str, str]) -> None:
    """States what pages past the end are: the first one without items, and some far away."""
    first = int(query["page"])
    if probe.draft.get("search", "page_base") not in (None, first):
        return
    far = [await _send(probe, query, page=first + distance) for distance in _FAR]
    largest = max(int(query["pageSize"]), min(int(probe.draft.get("search", "page_size_max") or 50), 50))
    pages: list[Answer] = []
    while len(pages) < _MOST_PAGES and (not pages or items_of(pages[-1])):
        pages.append(await _send(probe, query, page=first + len(pages), pageSize=largest))
    if len(pages) < 2 or items_of(pages[-1]):
        return
    treatments = {_treatment_of_end(answer) for answer in (*far, pages[-1])}
    if len(treatments) == 1 and (treatment := treatments.pop()):
        numbers = ", ".join(str(number) for number in (first + len(pages) - 1, *(first + n for n in _FAR)))
        listing = f"{pages[-1].summary} for the pages {numbers}"
        probe.draft.state(("search", "past_the_end"), treatment, f"{listing}; the last one with items is before them")


def _treatment_of_end(answer: Answer) -> str:
    if answer.ok:
        return "" if items_of(answer) or not isinstance(answer.data, list) else "empty"
    return _REFUSALS.get(answer.status or 0, "")


async def _probe_lists(probe: Probe, query: Mapping[str, str]) -> None:
    """States the locales and markets that the runtime configuration lists, and what another value is."""
    statuses: set[int | None] = set()
    for name, fact in _LISTED.items():
        found = listed_values(probe, name, query[name])
        if found is None:
            continue
        source, values = found
        if all([(await _send(probe, query, **{name: value})).ok for value in values]):
            probe.draft.state(("search", fact), values, f"{source}; each gets 200")
    for name in ("sort", "locale", "market"):
        for value in (f"{query[name]}x", query[name][:-1], "no-such-value"):
            statuses.add((await _send(probe, query, **{name: value})).status)
    if statuses in ({200}, {400}):
        treatment = "ignored" if statuses == {200} else "refused"
        evidence = f"{statuses.pop()} with three other values of sort, locale and market each"
        probe.draft.state(("search", "unlisted"), treatment, evidence)


def listed_values(probe: Probe, name: str, member: str) -> tuple[str, list[str]] | None:
    """Where all values of a parameter are listed, and these; None without a list, or with two different ones."""
    config, documented = probe.controls.get(_CONFIG), list(probe.openapi.query_lists.get(name, ()))
    found = find_list(config.value if config else None, member)
    if member not in documented:
        return (f"{_CONFIG} lists them at {found[0]}", found[1]) if found else None
    if found and sorted(found[1]) != sorted(documented):
        return None
    return f"the document lists the values of {name}", documented


def find_list(value: Any, member: str) -> tuple[str, list[str]] | None:
    """The only array of texts that holds a text, with its pointer; None if there is none or several."""
    found = [
        (at, items)
        for at, items in _arrays(value, "")
        if member in items and all(isinstance(item, str) and item for item in items) and len(set(items)) == len(items)
    ]
    return found[0] if len(found) == 1 else None


def _arrays(value: Any, at: str) -> list[tuple[str, list[Any]]]:
    if isinstance(value, list):
        return [(at, value)]
    if not isinstance(value, dict):
        return []
    return [found for name, item in value.items() for found in _arrays(item, at + pointer.join(name))]


async def probe_size_treatments(probe: Probe) -> None:
    """States what a pageSize above the largest and below the smallest does: 400, or the bound is used."""
    query = known_query(probe)
    if query is None:
        return
    largest, smallest = (probe.draft.get("search", name) for name in ("page_size_max", "page_size_min"))
    if largest is not None and not probe.draft.is_stated("search", "page_size_max"):
        await _state_refusal(probe, query, "page_size_above", (largest + 1, largest + 100))
    elif largest is None:
        await _probe_upper_clamp(probe, query)
    if smallest is not None and not probe.draft.is_stated("search", "page_size_min"):
        await _state_refusal(probe, query, "page_size_below", (smallest - 1, -1))
    elif smallest is None:
        await _probe_lower_clamp(probe, query)


async def _state_refusal(probe: Probe, query: Mapping[str, str], fact: str, sizes: tuple[int, ...]) -> None:
    if all([(await _send(probe, query, pageSize=size)).status == 400 for size in sizes]):
        probe.draft.state(("search", fact), "refused", f"pageSize {' and '.join(map(str, sizes))} get 400")


async def _count(probe: Probe, query: Mapping[str, str], size: int) -> int:
    answer = await _send(probe, query, pageSize=size)
    return len(items_of(answer)) if answer.ok else -1


async def _probe_upper_clamp(probe: Probe, query: Mapping[str, str]) -> None:
    """A page of a thousand that is not full, although another one follows it, was clamped."""
    for word in dict.fromkeys((query["q"], *_WORDS)):
        wide = {**query, "q": word, "pageSize": str(_LARGE)}
        first = items_of(await _send(probe, wide))
        if not 0 < len(first) < _LARGE:
            continue
        following = items_of(await _send(probe, wide, page=int(query["page"]) + 1))
        if not following or any(item in first for item in following):
            continue
        largest = len(first)
        counts = [await _count(probe, wide, size) for size in (largest - 1, largest, largest + 1, largest + 100)]
        if counts == [largest - 1, largest, largest, largest]:
            evidence = f"q={word}: pageSize {_LARGE} and {largest + 1} get {largest} items, and another page follows"
            _state_clamp(probe, "page_size_max", "page_size_above", largest, evidence)
        return


def _state_clamp(probe: Probe, bound_fact: str, fact: str, bound: int, evidence: str) -> None:
    probe.draft.state(("search", bound_fact), bound, evidence)
    probe.draft.state(("search", fact), "clamped", evidence)
    for todo in list(probe.draft.todos.get("search", ())):
        if todo.line.startswith(bound_fact):
            probe.draft.drop_todo("search", todo.line)


async def _probe_lower_clamp(probe: Probe, query: Mapping[str, str]) -> None:
    """As many items for 0 and for a negative number as for the smallest size."""
    smallest = await _count(probe, query, 0)
    if smallest < 1 or await _count(probe, query, -1) != smallest:
        return
    counts = [await _count(probe, query, size) for size in (smallest, smallest + 1, 1)]
    if counts == [smallest, smallest + 1, smallest]:
        evidence = f"pageSize 0, -1 and 1 get {smallest} items, {smallest + 1} gets {smallest + 1}"
        _state_clamp(probe, "page_size_min", "page_size_below", smallest, evidence)
        if not probe.draft.is_stated("search", "query", "pageSize"):
            probe.draft.facts["search"]["query"]["pageSize"] = max(smallest, int(query["pageSize"]))


async def probe_order(probe: Probe) -> None:
    """States a stable order if three readings, one of them in small pages, list the same items in the same order."""
    query = known_query(probe)
    if query is None:
        return
    size = min(int(probe.draft.get("search", "page_size_max") or 20), 20)
    wide = {**query, "pageSize": str(size)}
    whole = items_of(await send_query(probe, wide))
    if len(whole) < _LEAST_ITEMS:
        return
    small = max(int(probe.draft.get("search", "page_size_min") or 1), -(-len(whole) // 4))
    paged: list[Any] = []
    for page in range(len(whole) // small):
        paged += items_of(await _send(probe, query, page=int(query["page"]) + page, pageSize=small))
    repeat = items_of(await send_query(probe, wide))
    if repeat == whole and paged == whole[: len(paged)] and len(paged) >= _LEAST_ITEMS:
        evidence = f"{len(whole)} items in the same order in two readings, and on pages of {small}"
        probe.draft.state(("search", "stable_sort"), True, evidence)
    else:
        note = f"{len(whole)} items did not come in the same order in two readings and on pages of {small}"
        probe.draft.todo("search", "stable_sort = true", f"only if stable; {note}")
