"""One search at a time: parameters, page sizes, and what the profile states of values (Search parameters)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

from conformance.core import json_pointer as pointer
from conformance.core.law_facts import SearchRule
from conformance.judge.laws import comparison
from conformance.judge.laws.judgement import Judgements, confirmation, violation
from conformance.judge.laws.search_evidence import PLAIN_INTEGER, Evidence, evidence_of, is_own_query
from conformance.judge.laws.traffic import Call, Traffic

SEARCH: Final = "searchPublicProducts"
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}(\.0*)?")
_PLAIN_QUERY: Final = re.compile(r"[\w.,:&=+-]*", re.ASCII)
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})")
_SOON_S: Final = 5.0
"""In this time a catalogue is taken not to change by a page."""
_NO_INTEGER: Final = re.compile(
    r"[a-zA-Z]+|[+-]?[0-9]+\.[0-9]*[1-9][0-9]*|(?!0[xX])[0-9]+(?![dflnuDFLNU]+$)[a-df-zA-DF-Z][a-zA-Z]*"
)
"""What no reading takes for an integer: words, fractions, digits with letters behind them."""


class Search(NamedTuple):
    """A search whose every parameter is there once, and plainly written."""

    call: Call
    values: dict[str, str]


def searches(traffic: Traffic) -> Iterator[Search]:
    """The searches that can be judged alone: without secrets, broken escapes, repeated parameters and cursors."""
    cursor = traffic.facts.search.cursor_parameter
    for call in traffic.of(SEARCH):
        pairs = call.parameters
        values = dict(pairs)
        is_plain = len(pairs) == len(values) and not call.shows_secret and not _BROKEN_ESCAPE.search(call.query)
        if is_plain and not (cursor and cursor in values) and not any("\ufffd" in value for value in values.values()):
            yield Search(call, values)


def items_of(traffic: Traffic, call: Call) -> list[Any] | None:
    """The items of an answered search; None where they are not known."""
    value = traffic.answer_value(call) if call.ok else comparison.NO_VALUE
    data = value.get("data") if isinstance(value, dict) else None
    return data if isinstance(data, list) else None


def a_required_parameter_is_not_left_out(traffic: Traffic) -> Judgements:
    """SRCH-1. A search without a required parameter is not answered 200."""
    for search in searches(traffic):
        missing = [name for name in traffic.facts.search.required if name not in search.values]
        if missing and search.call.ok:
            yield violation(f"a search without {missing[0]} was answered 200", search.call, expected="400")
        elif missing and search.call.status == 400:
            yield confirmation(search.call)


def a_page_is_an_integer(traffic: Traffic) -> Judgements:
    """SRCH-3. A page or pageSize that no reading takes for an integer is not answered 200."""
    for search in searches(traffic):
        for name in ("page", "pageSize"):
            value = search.values.get(name, "")
            if not _NO_INTEGER.fullmatch(value):
                continue
            if search.call.ok:
                yield violation(f"a search with {name}={value[:40]} was answered 200", search.call, expected="400")
            elif search.call.status == 400:
                yield confirmation(search.call)


def a_page_is_no_longer_than_asked(traffic: Traffic) -> Judgements:
    """SRCH-4. A page holds no more than pageSize items. Sizes below the smallest one are left out: they may be raised.

    Where no smallest size is stated, those below that of the profile's own query are left out.
    """
    rule = traffic.facts.search
    stated = rule.query.get("pageSize", "")
    smallest = rule.page_size_min or (int(stated) if PLAIN_INTEGER.fullmatch(stated) else None)
    for search in searches(traffic) if smallest is not None else ():
        size = search.values.get("pageSize", "")
        if not PLAIN_INTEGER.fullmatch(size) or int(size) < max(1, smallest or 0):
            continue
        if (items := items_of(traffic, search.call)) is None:
            continue
        if len(items) > int(size):
            message = f"a page of pageSize {size} has more items"
            yield violation(message, search.call, expected=f"at most {size}", observed=f"{len(items)} items")
        else:
            yield confirmation(search.call)


def a_filter_holds(traffic: Traffic) -> Judgements:
    """SRCH-5. Every item of a filtered search has the value. Values that may be ignored when unknown are left out.

    So is each category but the stated one: it may hold others, and list their items.
    """
    rule = traffic.facts.search
    for name, place, unknown in (
        ("category", rule.item_category, rule.unknown_category),
        ("merchant", rule.item_merchant, rule.unknown_merchant),
    ):
        if not place or unknown in ("", "ignored"):
            continue
        for search in searches(traffic):
            value = search.values.get(name)
            if name == "category" and _fold(value or "") != _fold(rule.category):
                continue
            for item in (items_of(traffic, search.call) or ()) if value else ():
                found = pointer.get(item, place) if pointer.has(item, place) else None
                if isinstance(found, str) and _fold(found) != _fold(value or ""):
                    message = f"a search with {name}={value} has an item of another {name}"
                    yield violation(message, search.call, expected=f"{value} at {place}", observed=found[:100])
                    break
            else:
                if value and search.call.ok:
                    yield confirmation(search.call)


def _fold(value: str) -> str:
    """A target may compare values without regard to case and outer spaces."""
    return value.strip().casefold()


def pages_are_in_order(traffic: Traffic) -> Judgements:
    """SRCH-9. The items of a page are in the order of its sort, and each is there once."""
    yield from an_order_holds(traffic)
    yield from an_item_comes_once(traffic)


def an_order_holds(traffic: Traffic) -> Judgements:
    """SRCH-9. The items of a page are in the order that the profile states of its sort; numbers only."""
    sorts = traffic.facts.search.sorts
    for search in searches(traffic):
        place, direction = sorts.get(search.values.get("sort", ""), ("", ""))
        items = items_of(traffic, search.call) if place else None
        if not items:
            continue
        values: list[Any] = [pointer.get(item, place) if pointer.has(item, place) else None for item in items]
        if len(values) < 2 or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            continue
        pairs = list(pairwise(values if direction == "ascending" else reversed(values)))
        if any(first > second for first, second in pairs):
            message = f"the items of sort={search.values['sort']} are not {direction} by {place}"
            yield violation(message, search.call, expected=direction, observed=str(values[:8])[:200])
        else:
            yield confirmation(search.call)


def an_item_comes_once(traffic: Traffic) -> Judgements:
    """SRCH-9. No item comes twice on one page."""
    place = traffic.facts.search.item_id
    for search in searches(traffic) if place is not None else ():
        items = items_of(traffic, search.call) or []
        ids = [str(pointer.get(item, place or "")) for item in items if pointer.has(item, place or "")]
        if len(ids) > len(set(ids)):
            repeated_ids = sorted({name for name in ids if ids.count(name) > 1})[:5]
            yield violation(
                "an item comes twice on one page", search.call, expected="each item once", observed=str(repeated_ids)
            )
        elif len(ids) > 1:
            yield confirmation(search.call)


def pages_differ(traffic: Traffic) -> Judgements:
    """SRCH-6. Two pages of one search in a stable order do not hold the same items; only if read soon after another.

    Where the profile does not state what follows the last page, that may be the last one again.
    """
    rule, place = traffic.facts.search, traffic.facts.search.item_id
    is_stated = rule.stable_sort and place is not None and rule.page_base is not None
    pages: dict[tuple[tuple[str, str], ...], list[tuple[Search, list[str]]]] = {}
    for search in searches(traffic) if is_stated else ():
        page, items = search.values.get("page", ""), items_of(traffic, search.call)
        if not items or not PLAIN_INTEGER.fullmatch(page) or int(page) < (rule.page_base or 0):
            continue
        ids = [str(pointer.get(item, place or "")) for item in items if pointer.has(item, place or "")]
        others = tuple(sorted((name, value) for name, value in search.values.items() if name != "page"))
        for first, first_ids in pages.get(others, ()):
            is_soon = search.call.at - first.call.end < _SOON_S and first.values["page"] != page
            if is_soon and ids == first_ids and not rule.past_the_end:
                continue
            if is_soon and ids == first_ids:
                message = f"the pages {first.values['page']} and {page} of one search hold the same items"
                yield violation(message, first.call, search.call, expected="other items", observed=str(ids[:5])[:200])
            elif is_soon:
                yield confirmation(first.call, search.call)
        pages.setdefault(others, []).append((search, ids))
        del pages[others][:-5]


def stated_values_are_treated_as_stated(traffic: Traffic) -> Judgements:
    """SRCH-8. What the profile states as refused is not answered 200, and what it states as accepted is not refused.

    A refusal is a violation only of a search that differs from the profile's own query in one parameter at most, and
    whose text, page, locale and market were accepted in another search.
    """
    rule = traffic.facts.search
    evidence = evidence_of(_accepted_searches(traffic), rule)
    for search in searches(traffic):
        call, values = search.call, search.values
        if any(name not in values for name in rule.required) or any(
            not _INTEGER.fullmatch(values[name]) for name in ("page", "pageSize") if name in values
        ):
            continue
        refusals, is_plain = list(_refusals(rule, values)), bool(_PLAIN_QUERY.fullmatch(call.query))
        if call.ok and refusals:
            text, status = refusals[0]
            yield violation(
                f"a search with {text} was answered 200, and is stated as refused", call, expected=str(status)
            )
        elif call.ok:
            yield from _judge_items(traffic, search)
        elif not refusals and is_plain and call.status in (400, 404, 409) and _is_accepted(rule, values, evidence):
            yield violation("a search was refused that the profile's facts allow", call, expected="200")
        elif len(refusals) == 1 and is_plain and call.status in (400, 404) and _is_near(rule, values):
            text, status = refusals[0]
            if call.status == status:
                yield confirmation(call)
            else:
                yield violation(f"a search with {text} was answered {call.status}", call, expected=str(status))


def _accepted_searches(traffic: Traffic) -> Iterator[tuple[dict[str, str], int | None]]:
    """The parameters of each search answered 200; the number of items of those of the profile's own query."""
    for search in searches(traffic):
        if search.call.ok:
            items = items_of(traffic, search.call) if is_own_query(search.values, traffic.facts.search) else None
            yield search.values, None if items is None else len(items)


def _refusals(rule: SearchRule, values: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The parameters that the profile states as refused, with their status."""
    size = int(values["pageSize"]) if PLAIN_INTEGER.fullmatch(values["pageSize"]) else None
    if size is not None and (
        (rule.page_size_above == "refused" and size > (rule.page_size_max or size))
        or (rule.page_size_below == "refused" and size < (rule.page_size_min or size))
    ):
        yield f"pageSize={size}", 400
    if not values["q"] and rule.empty_q == "refused":
        yield "an empty q", 400
    if rule.q_max is not None and len(values["q"]) > rule.q_max:
        yield f"a q of {len(values['q'])} characters", 400
    for name, listed in (("sort", rule.sorts), ("locale", rule.locales), ("market", rule.markets)):
        is_listed = values[name].casefold() in {value.casefold() for value in listed}
        is_listed |= name == "locale" and any(_is_kin(values[name], value) for value in listed)
        if listed and rule.unlisted == "refused" and not is_listed:
            yield f"{name}={values[name][:40]}", 400
    if rule.unknown_parameter == "refused" and (unknown := [name for name in values if name not in rule.known]):
        yield f"the unknown parameter {unknown[0][:40]}", 400


def _is_kin(locale: str, listed: str) -> bool:
    """Whether it is a listed locale with underscores, or its language: a service may take them for it."""
    return locale.replace("_", "-").casefold() in (listed.casefold(), re.split("[-_]", listed)[0].casefold())


def _is_near(rule: SearchRule, values: dict[str, str]) -> bool:
    """Whether a query differs from the profile's own in one parameter at most."""
    names = rule.query.keys() | values.keys()
    return bool(rule.query) and sum(rule.query.get(name) != values.get(name) for name in names) <= 1


def _is_accepted(rule: SearchRule, values: dict[str, str], evidence: Evidence) -> bool:
    """Whether every parameter of a query is known to be accepted. An empty one may count as one that is left out."""
    if not all(value for name, value in values.items() if name != "q"):
        return False
    page, size, first = values["page"], values["pageSize"], rule.page_base
    if not _is_near(rule, values) or first is None or None in (rule.page_size_min, rule.page_size_max):
        return False
    if not (PLAIN_INTEGER.fullmatch(page) and PLAIN_INTEGER.fullmatch(size) and int(page) >= first):
        return False
    assert rule.page_size_min is not None
    assert rule.page_size_max is not None
    bounds = (int(size) >= rule.page_size_min or rule.page_size_below == "clamped") and (
        int(size) <= rule.page_size_max or rule.page_size_above == "clamped"
    )
    lists = {"sort": rule.sorts, "locale": rule.locales, "market": rule.markets}
    listed = all(values[name] in known or (known and rule.unlisted == "ignored") for name, known in lists.items())
    text = evidence.accepts_text(values) if values["q"] else rule.empty_q in ("everything", "nothing")
    filters = all(
        not values.get(name) or values[name] == rule.query.get(name) or treatment in ("empty", "ignored")
        for name, treatment in (("category", rule.unknown_category), ("merchant", rule.unknown_merchant))
    )
    is_shown = evidence.accepts_page(values, rule) and evidence.accepts_pair(values)
    known = all(name in rule.known for name in values) or rule.unknown_parameter == "ignored"
    return bool(bounds and listed and text and filters and is_shown and known)


def _judge_items(traffic: Traffic, search: Search) -> Judgements:
    """A 200: as many items as the profile's facts allow."""
    rule, call, values = traffic.facts.search, search.call, search.values
    items = items_of(traffic, call)
    if items is None:
        return
    if rule.empty_q == "nothing" and not values["q"] and items:
        message = "a search with an empty q found items, and is stated to find nothing"
        yield violation(message, call, expected="no items", observed=f"{len(items)} items")
    elif rule.empty_q == "everything" and not values["q"] and not items and _is_near(rule, values) and rule.item_id:
        message = "a search with an empty q found nothing, and is stated to find everything"
        yield violation(message, call, expected="items", observed="no items")
    elif rule.page_size_above == "clamped" and len(items) > (rule.page_size_max or len(items)):
        message = "a page is longer than the largest one"
        yield violation(message, call, expected=f"at most {rule.page_size_max}", observed=f"{len(items)} items")
    elif not items and values["page"] == str(rule.page_base) and values == dict(rule.query) and rule.item_id:
        yield violation("the profile's own query found nothing", call, expected="items", observed="no items")
    elif not items and rule.past_the_end in ("refused", "not_found") and _is_past_the_end(rule, values):
        status = 400 if rule.past_the_end == "refused" else 404
        yield violation("a page past the end was answered 200", call, expected=str(status), observed="200, no items")
    else:
        yield confirmation(call)


def _is_past_the_end(rule: SearchRule, values: dict[str, str]) -> bool:
    """Whether only page and pageSize differ from the profile's own query, and it is not the first page."""
    page = values["page"]
    others = {name: value for name, value in values.items() if name not in ("page", "pageSize")}
    stated_query = {name: value for name, value in rule.query.items() if name not in ("page", "pageSize")}
    is_later = bool(PLAIN_INTEGER.fullmatch(page)) and rule.page_base is not None and int(page) > rule.page_base
    return is_later and others == stated_query
