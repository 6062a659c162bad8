"""Values of locale and market, each of which a service may allow beside some values of the other one only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer

LISTS: Final = {"sort": "sorts", "locale": "locales", "market": "markets"}
"""A parameter of the search, and the fact that lists its values."""
_OTHERS: Final = {"locale": "market", "market": "locale"}
_MOST_PAIRS: Final = 12
_CODE: Final = re.compile("[A-Za-z]{2}(?:[-_][A-Za-z]{2})?")
_CODES: Final = (("pt", "br"), ("ja", "jp"), ("it", "it"), ("nl", "nl"), ("sv", "se"))
"""Languages with a country each."""


def unlisted_code(name: str, values: Iterable[str]) -> str:
    """A locale or market in the form of the first listed one; empty where that has another form.

    It has no part in common with any listed one: a range of languages may match a locale (RFC 4647, section 3.3).
    """
    first, *others = values
    if name not in _OTHERS or not _CODE.fullmatch(first):
        return ""
    known = {part for value in (first, *others) for part in re.split("[-_]", value.casefold())}
    parts, separator = re.split("[-_]", first), first[2:3]
    for codes in _CODES:
        if not known & set(codes):
            of_name = codes if separator else codes[:1] if name == "locale" else codes[1:]
            pairs = zip(parts, of_name, strict=True)
            return separator.join(code.upper() if part.isupper() else code for part, code in pairs)
    return ""


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
