"""Faults of search and lists that a second code path has, or a value just at a bound: SRCH, STA-1, PUB-3."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call
from conformance.reference.policy import Handler, Policy, before_work, evolve, with_handlers, with_search
from conformance.reference.registry import fault

_SEARCH = ("searchPublicProducts",)
_LISTS = ("listPublicMerchantCategories", "listPublicMerchantProducts")
_FILTERS = frozenset({"category", "merchant"})


def _names(call: Call) -> list[str]:
    """The names of the query's parameters, with repetitions."""
    return [part.partition("=")[0] for part in call.request.query.decode("latin-1").split("&")]


def _with_search_of(policy: Policy, change: Callable[[Call], Call]) -> Policy:
    """Each search as if this call had been made."""

    return before_work(policy, lambda call, _db: change(call), *_SEARCH)


@fault(
    "F623",
    requirement="SRCH-1",
    title="q may be missing where a filter is given",
    operations=_SEARCH,
    source="browsing by category through the same handler",
)
def filter_in_place_of_q(policy: Policy) -> Policy:
    def change(call: Call) -> Call:
        names = set(_names(call))
        if "q" in names or not names & _FILTERS:
            return call
        required = tuple(name for name in policy.search.required if name != "q")
        return evolve(call, policy=with_search(call.policy, required=required, defaults={"q": ""}))

    return _with_search_of(policy, change)


@fault(
    "F624",
    requirement="SRCH-3",
    title="an infinite pageSize ends in 500",
    operations=_SEARCH,
    source="int(float(text)), which raises OverflowError where ValueError is caught",
)
def infinite_page_size(policy: Policy) -> Policy:
    def integer(name: str, text: str) -> int | None:
        try:
            int(float(text))
        except ValueError:
            return None
        return policy.search.integer(name, text)

    return with_search(policy, integer=integer)


@fault(
    "F625",
    requirement="SRCH-8",
    title="the largest pageSize is refused",
    operations=_SEARCH,
    source="a bound that is compared with < in place of <=",
)
def largest_page_refused(policy: Policy) -> Policy:
    return with_search(policy, page_size_max=policy.search.page_size_max - 1)


@fault(
    "F626",
    requirement="SRCH-8",
    title="the largest pageSize does not hold where a filter is given",
    operations=_SEARCH,
    source="a query of its own for filtered lists, without the bound",
)
def bound_without_filter_only(policy: Policy) -> Policy:
    def change(call: Call) -> Call:
        is_filtered = not _FILTERS.isdisjoint(_names(call))
        return evolve(call, policy=with_search(call.policy, page_size_max=10_000)) if is_filtered else call

    return _with_search_of(policy, change)


@fault(
    "F627",
    requirement="STA-1",
    title="a repeated query parameter ends in 500",
    operations=_SEARCH,
    source="Express, whose parser makes an array of it, where a text is expected",
)
def repeated_parameter(policy: Policy) -> Policy:
    def change(call: Call) -> Call:
        names = _names(call)
        if len(set(names)) < len(names):
            raise TypeError("q.trim is not a function")
        return call

    return _with_search_of(policy, change)


@fault(
    "F628",
    requirement="PUB-3",
    title="a slug that begins with a known one is that merchant",
    operations=_LISTS,
    source="LIKE with a wildcard behind the slug, turned round",
)
def slug_by_its_start(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def list_merchant(call: Call, db: Connection) -> Answer:
            slug = call.path["slug"]
            known = next((name for name in policy.search.stock.merchants if slug.startswith(name)), slug)
            return inner(evolve(call, path={"slug": known}), db)

        return list_merchant

    return with_handlers(policy, _LISTS, wrap)


@fault(
    "F637",
    requirement="SRCH-9",
    title="a search finds nothing",
    operations=_SEARCH,
    source="an index that is built by a job which never ran here",
)
def empty_index(policy: Policy) -> Policy:
    return with_search(policy, window=lambda _number, _size, _page: slice(0))


@fault(
    "F638",
    requirement="SRCH-5",
    title="a search with a filter finds nothing",
    operations=_SEARCH,
    source="a filter that compares an id with a slug",
)
def filter_finds_nothing(policy: Policy) -> Policy:
    def change(call: Call) -> Call:
        if _FILTERS.isdisjoint(_names(call)):
            return call
        return evolve(call, policy=with_search(call.policy, window=lambda _number, _size, _page: slice(0)))

    return _with_search_of(policy, change)


@fault(
    "F894",
    requirement="SRCH-3",
    title="a page with a line feed behind it is that page",
    operations=_SEARCH,
    source="$ of PHP, Python and Perl, which matches before a last line feed too; CWE-777",
)
def page_before_a_line_feed(policy: Policy) -> Policy:
    return with_search(policy, integer=lambda name, text: policy.search.integer(name, text.removesuffix("\n")))


@fault(
    "X200",
    requirement="SRCH-3",
    title="a pageSize with a space before it is that pageSize",
    operations=_SEARCH,
    source="int() of Python and strtol() of C, which skip white space",
)
def size_behind_a_space(policy: Policy) -> Policy:
    def integer(name: str, text: str) -> int | None:
        return policy.search.integer(name, text.lstrip() if name == "pageSize" else text)

    return with_search(policy, integer=integer)


@fault(
    "F895",
    requirement="SRCH-5",
    title='the category "0" is not a filter',
    operations=_SEARCH,
    source='empty($_GET["category"]) of PHP, by which "0" is not a value',
)
def zero_is_no_category(policy: Policy) -> Policy:
    def change(call: Call) -> Call:
        parts = [part for part in call.request.query.split(b"&") if part != b"category=0"]
        return evolve(call, request=evolve(call.request, query=b"&".join(parts)))

    return _with_search_of(policy, change)
