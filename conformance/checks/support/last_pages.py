"""The pages behind the last one of a search, as the profile states them (SRCH-8)."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.search_pages import first_page, item_keys, items_of
from conformance.client.request import Request

REFUSALS: Final = {"refused": 400, "not_found": 404}
"""By the word of the profile. Anything else is answered 200."""


def _may_be_too_far(case: Case, page: int) -> bool:
    """Whether a page may be refused for its distance (search.page_max), whether it has items or not."""
    farthest = case.profile.search.page_max
    return farthest is not None and page > farthest


async def expect_no_last_page_again(case: Case, request: Request, page: int) -> None:
    """Violated where the page after a full last one shows the items of that one again.

    Nothing is known where pages of that size are not served: the bounds do not say that every size between them is.
    """
    last = await case.send_with_retry(request.with_query(page=str(page - 1)), "the last full page", request)
    if not (last.ok and items_of(last)):
        return
    if not await items_or_past_the_end(case, request, page):
        return
    requests = [request.with_query(page=str(number)) for number in (page - 1, page)]
    last, following = [await case.send_with_retry(page_request, "both pages", request) for page_request in requests]
    if last.ok and following.ok and items_of(following) and item_keys(case, following) == item_keys(case, last):
        raise case.violation(f"page {page} has the items of the page before", last, following, expected="no items")


async def _has_items_behind(case: Case, request: Request, page: int) -> bool:
    """Whether one of the next pages has items: a target that hides items after it cut the pages has empty ones."""
    for number in (page + 1, page + 2):
        answer = await case.send_with_retry(request.with_query(page=str(number)), f"page {number}", request)
        if answer.ok and items_of(answer):
            return True
    return False


async def items_or_past_the_end(case: Case, request: Request, page: int) -> int:
    """The number of items of a page. Violated where it has none and is not answered as pages past the end are."""
    answer = await case.send_with_retry(request.with_query(page=str(page)), f"page {page}", request)
    expected = REFUSALS.get(case.profile.search.past_the_end, 200)
    found = len(items_of(answer)) if answer.ok else 0
    if not found and answer.status == 400 and _may_be_too_far(case, page):
        case.note(f"page {page} is refused, and may be too far")
    elif not found and answer.ok and expected != 200 and await _has_items_behind(case, request, page):
        case.note(f"page {page} has no item, and is not the last")
    elif not found and answer.status != expected and page > first_page(case.profile):
        message = f"page {page} has no item, and was not answered {expected}"
        raise case.violation(message, answer, expected=str(expected))
    return found
