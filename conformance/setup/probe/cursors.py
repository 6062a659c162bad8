"""Cursors of a search: where an answer has one, and which parameter takes it; or that no answer has one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.setup.probe.context import Probe
from conformance.setup.probe.search import SEARCH, items_of, known_query, send_query

_MOST_PAGES: Final = 6
_PARTS: Final = 3
"""The number of pages that a short result is read in, so that cursors lead over more than one boundary."""
_LARGEST: Final = 50
_MOST_PLACES: Final = 3
_PARAMETERS: Final = (
    "cursor",
    "after",
    "page[after]",
    "page[cursor]",
    "pageToken",
    "page_token",
    "nextToken",
    "next_token",
    "next",
    "from",
    "offset",
    "start",
    "startingAfter",
    "starting_after",
    "continuation",
    "continuationToken",
    "token",
    "marker",
    "search_after",
)
_OF_THE_INTERFACE: Final = ("q", "locale", "market", "category", "merchant", "sort", "page", "pageSize")
_NONE: Final = "answers have nothing beside data that leads to the next page"


@dataclass(frozen=True)
class _Reading:
    """A search on numbered pages, and its pages that have items."""

    query: Mapping[str, str]
    pages: list[Answer]
    is_whole: bool
    """Whether the page after the last one was seen to be empty."""

    @property
    def items(self) -> list[Any]:
        return [item for page in self.pages for item in items_of(page)]


async def probe_cursors(probe: Probe) -> None:
    """States the place and the parameter of cursors where they lead through the numbered pages, to their end."""
    query = known_query(probe)
    if query is None or probe.draft.is_stated("search", "cursor"):
        return
    reading = await _read_numbers(probe, query)
    if len(reading.pages) < 2:
        return
    places = cursor_places([page.value for page in reading.pages], int(query["page"]))
    if not places:
        _state_absence(probe, reading)
    for place in places[:_MOST_PLACES]:
        if parameter := await _find_parameter(probe, reading, place):
            await _state_if_true(probe, reading, place, parameter)
            return
    if places:
        _add_todo(probe, places[0], "cursor", "it differs from page to page; no common parameter takes it")


def _state_absence(probe: Probe, reading: _Reading) -> None:
    evidence = f"on {len(reading.pages)} pages only the number of the page differs outside data"
    for fact in ("cursor", "cursor_parameter"):
        probe.draft.state(("search", fact), {"none": _NONE}, evidence)


def _add_todo(probe: Probe, place: str, parameter: str, reason: str) -> None:
    line = f'cursor = "{probe.clean(place)}"'
    probe.draft.todo("search", line, f"with cursor_parameter = {parameter!r}, if it is a cursor: {reason}")


async def _read_numbers(probe: Probe, query: Mapping[str, str]) -> _Reading:
    """A search on large pages; one that fits on a page or two is read on smaller ones."""
    largest = min(int(probe.draft.get("search", "page_size_max") or _LARGEST), _LARGEST)
    reading = await _read_pages(probe, {**query, "pageSize": str(max(largest, int(query["pageSize"])))})
    if not reading.is_whole or len(reading.pages) >= _PARTS:
        return reading
    smallest = int(probe.draft.get("search", "page_size_min") or 1)
    size = max(smallest, -(-len(reading.items) // _PARTS))
    return await _read_pages(probe, {**query, "pageSize": str(size)})


async def _read_pages(probe: Probe, query: Mapping[str, str]) -> _Reading:
    pages: list[Answer] = []
    for number in range(_MOST_PAGES):
        answer = await send_query(probe, {**query, "page": str(int(query["page"]) + number)})
        if not items_of(answer):
            return _Reading(query, pages, is_whole=True)
        pages.append(answer)
    return _Reading(query, pages, is_whole=False)


def cursor_places(values: list[Any], first: int) -> list[str]:
    """Where the first page has a text or a number beside `data` that the pages after it do not repeat.

    `first` is the number of the first page: a member that counts the pages is not a cursor.
    """
    found = []
    for at, leaf in pointer.leaves(values[0]):
        others = [pointer.get(value, at) if pointer.has(value, at) else None for value in values]
        is_number_of_page = others == list(range(first, first + len(values)))
        if _is_cursor(leaf) and not re.match("/data(/|$)", at) and others.count(leaf) == 1 and not is_number_of_page:
            found.append(at)
    return found


def _is_cursor(leaf: Any) -> bool:
    return isinstance(leaf, str | int) and not isinstance(leaf, bool) and leaf != ""


def _cursor_at(answer: Answer, place: str) -> str:
    """The cursor of the next page; empty where there is none."""
    leaf = pointer.get(answer.value, place) if pointer.has(answer.value, place) else None
    return str(leaf) if _is_cursor(leaf) else ""


def _parameters(probe: Probe, place: str) -> Iterator[str]:
    """Parameters that may take a cursor: those of the document, those that the member's name suggests, common ones."""
    member = pointer.tokens(place)[-1]
    stem = re.sub("^next[-_]?(?=.)", "", member, flags=re.IGNORECASE)
    own_names = [name for name in probe.openapi.query_parameters if name not in _OF_THE_INTERFACE]
    names = [*own_names, member, stem, stem[:1].lower() + stem[1:], *_PARAMETERS]
    yield from dict.fromkeys(name for name in names if name and name not in _OF_THE_INTERFACE)


async def _find_parameter(probe: Probe, reading: _Reading, place: str) -> str:
    """The first parameter with which the cursor of the first page gets the second one; empty if none does."""
    cursor = _cursor_at(reading.pages[0], place)
    for name in _parameters(probe, place):
        if items_of(await _send_cursor(probe, reading.query, name, cursor)) == items_of(reading.pages[1]):
            return name
    return ""


async def _send_cursor(probe: Probe, query: Mapping[str, str], parameter: str, cursor: str) -> Answer:
    """In place of page, or beside the first one where it is refused so: the interface requires page."""
    beside_page = Request(probe.operation(SEARCH), query=tuple({**query, parameter: cursor}.items()))
    answer = await probe.send(beside_page.without_query("page"), "a cursor")
    return await probe.send(beside_page, "a cursor with a page") if answer.status == 400 else answer


async def _state_if_true(probe: Probe, reading: _Reading, place: str, parameter: str) -> None:
    """States a cursor that leads through all pages of the search, and of a search with a filter."""
    readings = [reading]
    value = probe.draft.get("search", "category")
    if isinstance(value, str):
        query = known_query(probe) or {}
        readings.append(await _read_numbers(probe, {**query, "category": value}))
    trouble = [text for part in readings if (text := await _trouble(probe, part, place, parameter))]
    if trouble:
        _add_todo(probe, place, parameter, trouble[0])
        return
    evidence = f"{parameter}= leads to the {len(reading.items)} items of {len(reading.pages)} numbered pages, then ends"
    probe.draft.state(("search", "cursor"), place, evidence)
    probe.draft.state(("search", "cursor_parameter"), parameter, "with the cursor of a page it gets the next one")


async def _trouble(probe: Probe, reading: _Reading, place: str, parameter: str) -> str:
    """In what the pages by cursor differ from the numbered ones; empty if they are the same."""
    if not reading.is_whole:
        return f"its end was not seen, there are more than {_MOST_PAGES} pages"
    pages = reading.pages[:1]
    while pages and (cursor := _cursor_at(pages[-1], place)):
        if len(pages) > len(reading.pages) + 1:
            return "it does not end with the last page"
        answer = await _send_cursor(probe, reading.query, parameter, cursor)
        if not answer.ok:
            return f"a page by its cursor got {answer.summary}"
        pages.append(answer)
    if [item for page in pages for item in items_of(page)] != reading.items:
        return "the pages by cursor have other items than the numbered ones"
    if len(pages) > 1:
        repeat = await _send_cursor(probe, reading.query, parameter, _cursor_at(pages[0], place))
        if items_of(repeat) != items_of(pages[1]):
            return "a cursor that is used again leads to another page"
    return ""
