"""The facts about the search of a random target, and the schema of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.reference.random_targets.boundary import translate_pointer
from conformance.reference.random_targets.choices import RandomTarget
from conformance.reference.variants.search import CURSORS

Table = Mapping[str, Any]


def search_facts(target: RandomTarget, names: Table, search: Table) -> dict[str, Any]:
    """The patch for the table `search` of the reference's profile."""
    stated = ("past_the_end", "empty_q", "q_max", "unknown_category", "unknown_merchant", "unlisted")
    return {
        **{name: getattr(target, name) for name in stated},
        "page_size_above": target.page_size_out,
        "page_size_below": target.page_size_out,
        "unknown_parameter": "refused" if target.unknown_members == "refused" else "ignored",
        "sorts": {
            name: {"by": translate_pointer(names, order["by"])}
            for name, order in search["sorts"].items()
            if "by" in order
        },
        "query": {"page": target.page_base, "pageSize": max(target.page_size_min, search["query"]["pageSize"])},
        "page_base": target.page_base,
        "page_size_min": target.page_size_min,
        "page_size_max": target.page_size_max,
        **{name: translate_pointer(names, search[name]) for name in ("item_id", "item_category", "item_merchant")},
        **_cursor(target, names),
    }


def _cursor(target: RandomTarget, names: Table) -> dict[str, Any]:
    """Nothing for a target without cursors: the reference's profile excludes them."""
    if target.cursor == "none":
        return {}
    cursors = CURSORS[target.cursor]
    return {"cursor": translate_pointer(names, cursors.place), "cursor_parameter": cursors.parameter}


def omitted_with(fact: str) -> tuple[str, ...]:
    """Further keys of the same table that are omitted with a fact."""
    return ("cursor_parameter",) if fact == "search.cursor" else ()


def search_schema(target: RandomTarget, schemas: Table) -> dict[str, Any]:
    """By name: the schema of answers with cursors, for a target that has them."""
    return {} if target.cursor == "none" else {"PublicProductSearchResponse": schemas["CursorProductSearchResponse"]}
