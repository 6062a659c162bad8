"""Values of locale and market, each of which a service may allow beside some values of the other one only."""

from __future__ import annotations

import re
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer

LISTS: Final = {"sort": "sorts", "locale": "locales", "market": "markets"}
"""A parameter of the search, and the fact that lists its values."""
_OTHERS: Final = {"locale": "market", "market": "locale"}
_MOST_PAIRS: Final = 12


async def is_accepted_in_a_pair(case: Case, request: Request, name: str, refused: Answer) -> bool:
    """Whether a locale or market that was refused in `request` is accepted beside another listed market or locale.

    Inconclusive where no pair was accepted and not every one was tried.
    """
    if not refused.is_refused or name not in _OTHERS:
        return False
    query, other = dict(request.query), _OTHERS[name]
    values = [value for value in _values_of(case, other) if value != query.get(other)]
    values.sort(key=lambda value: not _is_alike(value, query[name]))
    for value in values[:_MOST_PAIRS]:
        answer = await case.send_with_retry(request.with_query(**{other: value}), f"{name} beside {other}={value}")
        if answer.ok:
            return True
    text = f"{name}={query[name]} was refused beside {other}={query.get(other)}"
    if not _values_of(case, other):
        raise Inconclusive(f"{text}: state search.{LISTS[other]}, so that another {other} can be tried", refused)
    if len(values) > _MOST_PAIRS:
        raise Inconclusive(f"{text} and {_MOST_PAIRS} others, of {len(values)} that are listed", refused)
    return False


def _values_of(case: Case, name: str) -> tuple[str, ...]:
    return tuple(getattr(case.profile.search, LISTS[name]))


def _is_alike(first: str, second: str) -> bool:
    """Whether a locale and a market have a part in common, as a language's own country."""
    parts = [frozenset(re.split("[-_]", value.casefold())) for value in (first, second)]
    return bool(parts[0] & parts[1])
