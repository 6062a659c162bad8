"""What a recording shows of the searches that a target accepts: a refusal is judged by what was answered 200."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from conformance.core.law_facts import SearchRule

PLAIN_INTEGER: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_NEAR_PAGES: Final = 20
"""The checks ask as many one after the other: a page farther away may be past the window of an index."""


class Evidence(NamedTuple):
    """What was answered 200, and what the profile's own query has."""

    texts: frozenset[str]
    pairs: frozenset[tuple[str | None, str | None]]
    """Of locale and market."""
    last_page: int
    """The largest page of the profile's own query."""
    end: int | None
    """Its first page with fewer items than were asked for; None where none was seen."""

    def accepts_text(self, values: Mapping[str, str]) -> bool:
        """Whether the text was accepted: a target may want a number of letters, or refuse some of them."""
        return values["q"] in self.texts

    def accepts_pair(self, values: Mapping[str, str]) -> bool:
        """Whether the locale was accepted in the market: a target may allow some pairs only."""
        return (values["locale"], values["market"]) in self.pairs

    def accepts_page(self, values: Mapping[str, str], rule: SearchRule) -> bool:
        """Whether the page is the first, up to the stated largest one, or no farther than the one that ends the result.

        A page that was accepted may be past the end by now.
        """
        page, first = int(values["page"]), rule.page_base or 0
        if page == first or rule.past_the_end != "empty":
            return page == first
        is_next = self.end is not None and page == self.end + 1 <= first + _NEAR_PAGES
        is_known = is_own_query(values, rule) and (is_next or page <= self.last_page)
        return is_known or page <= (rule.page_max or first)


def is_own_query(values: Mapping[str, str], rule: SearchRule) -> bool:
    """Whether a search is a page of the profile's own query."""
    return bool(rule.query) and {**values, "page": ""} == {**rule.query, "page": ""}


def evidence_of(accepted: Iterable[tuple[Mapping[str, str], int | None]], rule: SearchRule) -> Evidence:
    """From the searches that were answered 200: their parameters, and the number of their items where it is known."""
    texts, pairs, last_page, end = set[str](), set[tuple[str | None, str | None]](), 0, None
    for values, items in [*accepted, *([(rule.query, None)] if rule.query else [])]:
        texts.add(values.get("q", ""))
        pairs.add((values.get("locale"), values.get("market")))
        page, size = values.get("page", ""), values.get("pageSize", "")
        if not (is_own_query(values, rule) and PLAIN_INTEGER.fullmatch(page) and PLAIN_INTEGER.fullmatch(size)):
            continue
        last_page = max(last_page, int(page))
        if items is not None and items < min(int(size), rule.page_size_max or int(size)):
            end = int(page) if end is None else min(end, int(page))
    return Evidence(frozenset(texts), frozenset(pairs), last_page, end)
