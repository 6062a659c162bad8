"""Searches with the stated filters, held against the whole result."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from conformance.checks.support.case import Case
from conformance.checks.support.certainty import is_certain
from conformance.checks.support.registry import cause_of
from conformance.checks.support.search_pages import (
    first_page,
    item_ids,
    items_of,
    largest_page_size,
    read_all,
    read_page,
    suits,
)
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.unknown_ids import unknown_id_like
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer

FILTERS = ("category", "merchant")


def stated_filters(case: Case, names: Sequence[str]) -> dict[str, str]:
    """The values to filter by. Unstated unless each of them and its place in an item are stated."""
    search, filters = case.profile.search, {}
    for name in names:
        filters[name], place = getattr(search, name), f"item_{name}"
        case.need(filters[name], f"search.{name}", "a value to filter by is needed")
        case.need(getattr(search, place), f"search.{place}", "the place of the value in an item is needed")
    return filters


def with_one_filter(case: Case, request: Request, *, of_merchant: bool) -> Request:
    """The search with a stated filter: the merchant's where both are stated, or that which is stated alone."""
    search = case.profile.search
    is_both = bool(search.merchant and search.category)
    case.require_case(is_both or not of_merchant, "the profile states no second value to filter by")
    name = "merchant" if of_merchant or (search.merchant and not search.category) else "category"
    case.need(getattr(search, name), f"search.{name}", "a value to filter by is needed")
    return request.with_query(**{name: getattr(search, name)})


def text_of(filters: Mapping[str, str]) -> str:
    """For a message."""
    return " and ".join(f"{name}={value}" for name, value in filters.items())


class _Whole:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.pages: list[Answer] = []


async def read_shared_whole(case: Case, request: Request) -> list[Answer]:
    """All pages of the whole result in the largest size, which the cases of a check read once."""
    known = case.runtime.memory.setdefault("the whole result of the search", _Whole())
    assert isinstance(known, _Whole)
    async with known.lock:
        if known.pages:
            case.answers += [page.ref for page in known.pages]
            return known.pages
        pages = await read_all(case, request, largest_page_size(case.profile))
        if is_certain(case):
            known.pages = pages
        return pages


def ids_of_values(case: Case, whole: Sequence[Answer], filters: Mapping[str, str]) -> set[str]:
    """The ids of the items that have exactly all these values; one that is a number is a text in a query."""
    places = {getattr(case.profile.search, f"item_{name}"): value for name, value in filters.items()}
    return {
        item_id
        for page in whole
        for item, item_id in zip(items_of(page), item_ids(case, page), strict=True)
        if all(pointer.has(item, place) and _query_text(item, place) == value for place, value in places.items())
    }


def _query_text(item: Any, place: str) -> Any:
    value = pointer.get(item, place)
    return str(value) if type(value) is int else value


async def expect_values_on_every_page(case: Case, pages: Sequence[Answer], filters: Mapping[str, str]) -> None:
    """Violated by an item of another value on a later page; of the first two pages SRCH-5 asks it.

    Of two filters together SRCH-5 asks it of the first page alone.
    """
    search = case.profile.search
    for number, page in enumerate(pages):
        for name, value in filters.items():
            place = getattr(search, f"item_{name}")
            if all(suits(item, place, value) for item in items_of(page)):
                continue
            message = f"a search with {text_of(filters)} lists an item of another {name}"
            message = f"{message} on page {number + 1} of its pages"
            if number < (2 if len(filters) == 1 else 1):
                raise Inconclusive(message, page, cause="SRCH-5")
            if len(filters) > 1:
                await _expect_value_alone(case, page.request, name, value)
            raise case.violation(message, pages[0], page, expected=f"items of the {name} {value}")


async def _expect_value_alone(case: Case, request: Request, name: str, value: str) -> None:
    """Inconclusive where the same page with this filter alone has an item of another value too."""
    others = [other for other in FILTERS if other != name]
    narrow, place = request.without_query(*others), getattr(case.profile.search, f"item_{name}")
    answer = await case.send(narrow, f"the same page with {name} alone")
    if answer.ok and not all(suits(item, place, value) for item in items_of(answer)):
        raise Inconclusive(f"a search with {name} alone lists an item of another {name}", answer, cause="SRCH-5")


async def expect_not_everything_lost(
    case: Case, request: Request, whole: Sequence[Answer], filters: Mapping[str, str]
) -> None:
    """Inconclusive where one of the filters alone finds nothing, which SRCH-5 asks."""
    first, size = first_page(case.profile), largest_page_size(case.profile)
    for name, value in filters.items():
        large = await read_page(case, request.with_query(**{name: value}), first, size)
        if large.ok and not items_of(large):
            message = f"a search with {name}={value} finds nothing"
            raise Inconclusive(message, whole[0], large, cause=cause_of("SRCH-5"))


def unknown_value(stated: str) -> str:
    """A value that nothing has, in the form of the stated one: where values are ids, any other text is malformed."""
    return unknown_id_like(stated) if re.search("[0-9]", stated) else f"no-such-{uuid4().hex[:12]}"


def has_form_of(value: str, stated: str) -> bool:
    """Whether a text may be a value of a filter: where the stated one is an id, a text of another form is none."""
    if not re.search("[0-9]", stated) or (value.isdecimal() and stated.isdecimal()):
        return True
    forms = [re.sub(r"[^\W_]", "x", text) for text in (value, stated)]
    return forms[0] == forms[1] and value.isdecimal() == stated.isdecimal()


def resembling_values(value: str) -> list[str]:
    """What a prefix query or LIKE takes for a value: its beginning, and patterns that match it.

    The beginning is cut within a word in lower case, since the beginning of a code may name a group of codes. One of
    four letters is a word for certain after another one.
    """
    if not re.search("[a-z]{5}$| [a-z]{4}$", value):
        return []
    return [value[:-2], f"{value[:-2]}%", f"_{value[1:]}"]


async def expect_refused_otherwise(
    case: Case, request: Request, refused: Answer, known: Mapping[str, str], unknown: Mapping[str, str]
) -> None:
    """Violated where a known value is accepted in its place, and the unknown one is accepted alone."""
    controls = [{**dict(refused.request.query), **known}, {**dict(request.query), **unknown}]
    answers = [await case.send_with_retry(request.with_query(**query), "control", request) for query in controls]
    if all(answer.ok for answer in answers):
        message = "an unknown value was refused beside another filter, and finds nothing, as stated"
        raise case.violation(message, *answers, refused, expected="200")
