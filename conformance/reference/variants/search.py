"""Legitimate readings of unusual search values, each stated in the profile."""

from __future__ import annotations

from typing import Any, Final

from conformance.reference.cursors import (
    Cursors,
    read_bound,
    read_number,
    read_text,
    write_bound,
    write_number,
    write_text,
)
from conformance.reference.policy import Policy, with_search
from conformance.reference.registry import variant


@variant(
    "V300",
    requirement="SRCH-8",
    title="empty q finds everything; unknown filters ignored; no bound for q",
    profile={
        "search": {
            "empty_q": "everything",
            "unknown_category": "ignored",
            "unknown_merchant": "ignored",
            "q_max": {"none": "any length"},
        }
    },
)
def generous_search(policy: Policy) -> Policy:
    unknown = {"category": "ignored", "merchant": "ignored"}
    return with_search(policy, empty_q="everything", unknown_filter=unknown, q_max=None)


@variant(
    "V301",
    requirement="SRCH-8",
    title="empty q finds nothing; unknown category 400, unknown merchant 404; pages past the end 404",
    profile={
        "search": {
            "empty_q": "nothing",
            "unknown_category": "refused",
            "unknown_merchant": "not_found",
            "past_the_end": "not_found",
        }
    },
)
def strict_filters(policy: Policy) -> Policy:
    unknown = {"category": "refused", "merchant": "not_found"}
    return with_search(policy, empty_q="nothing", unknown_filter=unknown, past_the_end="not_found")


@variant(
    "V302",
    requirement="SRCH-8",
    title="unlisted sort, locale or market ignored; pages past the end 400",
    profile={"search": {"unlisted": "ignored", "past_the_end": "refused"}},
)
def unlisted_values_ignored(policy: Policy) -> Policy:
    return with_search(policy, unlisted="ignored", past_the_end="refused")


@variant(
    "V303",
    requirement="SRCH-8",
    title="pageSize clamped at both bounds; pages of 3 to 12",
    profile={
        "search": {
            "page_size_above": "clamped",
            "page_size_below": "clamped",
            "page_size_min": 3,
            "page_size_max": 12,
            "query": {"pageSize": 3},
        }
    },
)
def clamped_sizes(policy: Policy) -> Policy:
    return with_search(policy, clamp=True, page_size_min=3, page_size_max=12)


@variant(
    "V470",
    requirement="SRCH-8",
    title="an unknown category 404, an unknown merchant 400",
    profile={"search": {"unknown_category": "not_found", "unknown_merchant": "refused"}},
)
def category_looked_up(policy: Policy) -> Policy:
    return with_search(policy, unknown_filter={"category": "not_found", "merchant": "refused"})


CURSORS: Final[dict[str, Cursors]] = {
    "meta": Cursors("/meta/next", "cursor", write_text, read_text),
    "beside": Cursors("/paging/after", "after", write_text, read_text, at_end="", is_absent_at_end=False),
    "number": Cursors("/meta/next", "from", write_number, read_number, is_absent_at_end=False, looks_ahead=False),
    "bound": Cursors("/paging/after", "page[after]", write_bound, read_bound, is_absent_at_end=False),
}
"""Legitimate cursors by name."""


def _profile_with(name: str) -> dict[str, Any]:
    """The profile of a target with cursors."""
    facts = {"cursor": CURSORS[name].place, "cursor_parameter": CURSORS[name].parameter}
    return {"search": facts, "schemas": {"names": {"PublicProductSearchResponse": "CursorProductSearchResponse"}}}


@variant("V366", requirement="SRCH-9", title="a cursor in meta; none on the last page", profile=_profile_with("meta"))
def cursor_in_meta(policy: Policy) -> Policy:
    return with_search(policy, cursors=CURSORS["meta"])


@variant(
    "V367",
    requirement="SRCH-9",
    title="a cursor beside data; an empty one on the last page",
    profile=_profile_with("beside"),
)
def cursor_beside_data(policy: Policy) -> Policy:
    return with_search(policy, cursors=CURSORS["beside"])


@variant(
    "V368",
    requirement="SRCH-9",
    title="a cursor that is a number; that of a full last page leads to an empty one",
    profile=_profile_with("number"),
)
def cursor_without_look_ahead(policy: Policy) -> Policy:
    return with_search(policy, cursors=CURSORS["number"])


@variant(
    "V369",
    requirement="SRCH-9",
    title="a cursor that is new in each answer and good for its own query alone",
    profile=_profile_with("bound"),
)
def cursor_bound_to_its_query(policy: Policy) -> Policy:
    return with_search(policy, cursors=CURSORS["bound"])


@variant("V540", requirement="SRCH-3", title="white space around page and pageSize is trimmed")
def trimmed_numbers(policy: Policy) -> Policy:
    return with_search(policy, integer=lambda name, text: policy.search.integer(name, text.strip()))


_SERVED_SIZES: Final = (2, 10, 25)


@variant(
    "V543",
    requirement="SRCH-8",
    title="pageSize is one of three numbers",
    profile={"search": {"page_size_min": 2, "page_size_max": 25, "query": {"pageSize": 10}}},
)
def listed_page_sizes(policy: Policy) -> Policy:
    """The bounds are stated; that every number between them is a page size is not."""

    def integer(name: str, text: str) -> int | None:
        number = policy.search.integer(name, text)
        return None if name == "pageSize" and number not in _SERVED_SIZES else number

    return with_search(policy, integer=integer)
