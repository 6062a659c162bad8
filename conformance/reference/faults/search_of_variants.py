"""Faults of unusual search values on targets that state another word than the reference: SRCH-8."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.policy import Handler, Policy, evolve, with_handler, with_search
from conformance.reference.registry import fault

_OPERATION = "searchPublicProducts"
_DEEPEST = 10_000


def _off(name: str, seeded_in: str, title: str, source: str) -> Callable[[Callable[[Policy], Policy]], Any]:
    return fault(name, requirement="SRCH-8", title=title, operations=(_OPERATION,), source=source, seeded_in=seeded_in)


def _wrap(policy: Policy, search: Callable[[Call, Connection, Handler], Answer]) -> Policy:
    return with_handler(policy, _OPERATION, lambda original: lambda call, db: search(call, db, original))


def _parameter(call: Call, name: str) -> str:
    query = call.request.query.decode("latin-1")
    return parse_qs(query, keep_blank_values=True).get(name, [""])[0]


def _without_items(answer: Answer) -> Answer:
    return evolve(answer, value={**answer.value, "data": []})


# Page sizes


def _with_page_size(policy: Policy, read: Callable[[int], int]) -> Policy:
    def integer(name: str, text: str) -> int | None:
        number = policy.search.integer(name, text)
        return read(number) if number is not None and name == "pageSize" else number

    return with_search(policy, integer=integer)


@_off("F501", "V303", "above the largest pageSize the default is used", "a bad number that counts as an absent one")
def default_above(policy: Policy) -> Policy:
    largest = policy.search.page_size_max
    return _with_page_size(policy, lambda size: 5 if size > largest else size)


@_off(
    "F502",
    "V303",
    "a pageSize below the smallest refused, which is stated as clamped",
    "min() of the two bounds without max()",
)
def refused_below(policy: Policy) -> Policy:
    def read(size: int) -> int:
        if size < policy.search.page_size_min:
            raise Refusal("invalid_query", "pageSize is out of range.")
        return size

    return _with_page_size(policy, read)


# Past the end


@_off("F503", "V301", "a page after a full last one is an empty list, stated as 404", "> for >= in a paginator")
def full_last_page(policy: Policy) -> Policy:
    def search(call: Call, db: Connection, original: Handler) -> Answer:
        answer = original(call, db)
        meta = answer.value["meta"]
        if (meta["page"] - policy.search.page_base) * meta["pageSize"] > max(meta["total"], 1):
            raise Refusal("not_found", "There is no such page.")
        return answer

    return _wrap(with_search(policy, past_the_end="empty"), search)


@_off(
    "F504", "V302", "a page past 10,000 is an empty list, stated as 400", "an offset that is cut to what an index has"
)
def deep_page_empty(policy: Policy) -> Policy:
    def search(call: Call, db: Connection, original: Handler) -> Answer:
        page = _parameter(call, "page")
        if not page.isdecimal() or int(page) <= _DEEPEST:
            return original(call, db)
        return _without_items(original(_with_query(call, "page", str(policy.search.page_base)), db))

    return _wrap(policy, search)


def _with_query(call: Call, name: str, value: str) -> Call:
    """The call, with another value of a parameter."""
    query = re.sub(rf"(^|&){name}=[^&]*", rf"\g<1>{name}={value}", call.request.query.decode("latin-1"))
    return evolve(call, request=evolve(call.request, query=query.encode("latin-1")))


# Empty q


@_off("F505", "V300", "an empty q finds a selection, stated as everything", "a home page's products for no words")
def empty_q_finds_a_selection(policy: Policy) -> Policy:
    def search(call: Call, db: Connection, original: Handler) -> Answer:
        return original(call if _parameter(call, "q") else _with_query(call, "q", "classic"), db)

    return _wrap(policy, search)


@_off("F506", "V301", "an empty q finds everything, stated as nothing", "a condition left out where its text is empty")
def empty_q_finds_everything(policy: Policy) -> Policy:
    return with_search(policy, empty_q="everything")


# Unknown values


def _with_unknown(policy: Policy, **treatments: str) -> Policy:
    return with_search(policy, unknown_filter={**policy.search.unknown_filter, **treatments})


@_off("F507", "V300", "an unknown category finds nothing, stated as ignored", "an inner join with the categories")
def unknown_category_empty(policy: Policy) -> Policy:
    return _with_unknown(policy, category="empty")


@_off("F508", "V301", "an unknown category finds nothing, stated as 400", "a list of values that is checked nowhere")
def unknown_category_accepted(policy: Policy) -> Policy:
    return _with_unknown(policy, category="empty")


@_off("F509", "V470", "an unknown category is answered 400, stated as 404", "an enumeration in the framework's binding")
def unknown_category_refused(policy: Policy) -> Policy:
    return _with_unknown(policy, category="refused")


@_off(
    "F510", "V300", "an unknown merchant is answered 404, stated as ignored", "a look-up shared with the shop's pages"
)
def unknown_merchant_looked_up(policy: Policy) -> Policy:
    return _with_unknown(policy, merchant="not_found")


@_off("F511", "V301", "an unknown merchant finds nothing, stated as 404", "a filter by slug without a look-up")
def unknown_merchant_empty(policy: Policy) -> Policy:
    return _with_unknown(policy, merchant="empty")


@_off(
    "F512", "V470", "an unknown merchant is answered 404, stated as 400", "an exception of the look-up that goes on up"
)
def unknown_merchant_not_found(policy: Policy) -> Policy:
    return _with_unknown(policy, merchant="not_found")


@_off("F513", "D21", "unknown parameters ignored, stated as refused", "strict binding for bodies, none for queries")
def unknown_parameter_ignored(policy: Policy) -> Policy:
    return with_search(policy, known_only=False)


@_off("F514", "V302", "an unlisted sort refused, stated as ignored", "a sort that becomes the name of a column")
def unlisted_sort_refused(policy: Policy) -> Policy:
    def search(call: Call, db: Connection, original: Handler) -> Answer:
        if _parameter(call, "sort") not in policy.search.sorts:
            raise Refusal("invalid_query", "sort is not one of the allowed values.")
        return original(call, db)

    return _wrap(policy, search)


@_off("F515", "V302", "an unlisted market finds nothing, stated as ignored", "a filter by a market that nothing is in")
def unlisted_market_empty(policy: Policy) -> Policy:
    def search(call: Call, db: Connection, original: Handler) -> Answer:
        answer = original(call, db)
        return answer if _parameter(call, "market") in policy.search.markets else _without_items(answer)

    return _wrap(policy, search)
