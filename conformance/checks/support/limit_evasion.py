"""Requests of a limited caller in another form: the limit counts them too, where it counts by key (RATE-6)."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.authorization_forms import other_cases, with_form
from conformance.checks.support.bursts import LIMITED_STATUSES
from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.response import Answer

_BY_CALLER: Final = ("key", "installation")
_ADDRESSES: Final = {
    "X-Forwarded-For": "198.51.100.7",
    "X-Real-IP": "198.51.100.7",
    "Forwarded": "for=198.51.100.7",
    "CF-Connecting-IP": "198.51.100.7",
}


def forms_of(case: Case, request: Request) -> dict[str, Request]:
    """The request as from another address, and with another spelling of the scheme where that is accepted, as stated.

    Empty where the limit does not count by caller.
    """
    if case.profile.rate_limit.per not in _BY_CALLER or not request.credential:
        return {}
    forwarded = request
    for name, value in _ADDRESSES.items():
        forwarded = forwarded.with_header(name, value)
    found = {"as if from another address": forwarded}
    stated = case.profile.authorization
    if stated.scheme_case == "any":
        found |= {f"with {name}": with_form(case, request, form) for name, form in other_cases(stated).items()}
    return found


async def observe_evasion(case: Case, request: Request, forms: dict[str, Request]) -> dict[str, tuple[Answer, Answer]]:
    """By form, its answer and the 429 to the plain request after it: those that were answered while that is limited."""
    found = {}
    for name, form in forms.items():
        answer = await case.send(form, f"limited, {name}", accept_statuses=LIMITED_STATUSES)
        if answer.status == 429:
            continue
        limited_again = await case.send(request, "still limited", accept_statuses=LIMITED_STATUSES)
        if answer.ok and limited_again.status == 429:
            found[name] = answer, limited_again
    return found
