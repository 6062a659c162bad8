"""An unusual pageSize beside other parameters of a search (SRCH-8)."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.checks.support.case import Case
from conformance.checks.support.search_pages import items_of
from conformance.client.request import Request
from conformance.profile.behavior import Search


def parameters_beside_a_size(search: Search) -> list[dict[str, str]]:
    """A filter, and each sort: every one of them may have a code path of its own."""
    return [*([{"category": search.category}] if search.category else ()), *({"sort": name} for name in search.sorts)]


async def expect_size_kept(
    case: Case, request: Request, query: Mapping[str, str], status: int | None, fact: str
) -> None:
    """Beside another parameter, too, an unusual pageSize is refused with this status, or lists no more than the largest
    one does. `fact`: what the profile states of it, for the message."""
    text = " and ".join(f"{name}={value}" for name, value in query.items())
    message = f"{text} was not treated as {fact} states"
    if status:
        await case.shared_negative(
            lambda good: good.with_query(**query), {status}, text, message=message, any_refusal=True
        )
    elif largest := case.profile.search.page_size_max:
        answer = await case.send_with_retry(request.with_query(**query), text, request)
        if answer.ok and (count := len(items_of(answer))) > largest:
            raise case.violation(message, answer, expected=f"at most {largest} items", observed=f"{count} items")
