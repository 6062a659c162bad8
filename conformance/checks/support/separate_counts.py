"""Separately counted requests: while one is limited, another one is answered (RATE-6)."""

from __future__ import annotations

import asyncio

import msgspec

from conformance.checks.support.bursts import LIMITED_STATUSES, send_burst
from conformance.checks.support.case import Case
from conformance.checks.support.signals import Signal
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.profile.behavior import RateLimit
from conformance.profile.installations import are_of_two_installations
from conformance.profile.model import Credential

_ROUNDS = 3
ATTEMPTS = 2 * _ROUNDS
_DEFAULT_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 5.0
_SPACING = 1.25
"""Of the time from one request to the next where a limit allows no bursts: clocks and the way may differ."""
BY_CALLER = ("key", "installation")


class Separation(msgspec.Struct, frozen=True):
    """The answers to the other request while the first one was limited.

    `limited_answers` holds the last 429 to it and the 429s around that, if it was limited in every round.
    """

    was_answered: bool = False
    limited_answers: tuple[Answer, ...] = ()


async def other_credential_request(case: Case, request: Request) -> Request | None:
    """A request that is counted separately because of its credential alone; None where there is none."""
    if case.profile.rate_limit.per not in BY_CALLER:
        return None
    try:
        return await other_request(case, request)
    except (Signal, MissingFact):  # reported when it is asked for alone
        return None


async def other_request(case: Case, request: Request) -> Request:
    """A request that is counted separately by the profile.

    Inapplicable where none is possible, unstated where the profile names no such credential.
    """
    per = case.profile.rate_limit.per
    case.require_applicable(per != "address", "all requests of a run come from one address")
    if per == "operation":
        names = {"api_key": ("getApiKeyIdentity", "getInstallationCredentialReadiness")}
        pair = names.get(case.operation.auth, ("getPublicRuntimeConfig", "searchPublicProducts"))
        other = case.contract.operations[pair[1] if case.operation.id == pair[0] else pair[0]]
        other_call = await case.arrange(other)
        return case.as_credential(other_call, request.credential) if request.credential else other_call
    case.require_applicable(request.credential, "the operation takes no key")
    current, scope = case.profile.credentials[request.credential], case.operation.scope

    def is_counted_separately(candidate: Credential) -> bool:
        is_of_another = per == "key" or are_of_two_installations(case.profile, candidate, current)
        return candidate.active and candidate.name != current.name and is_of_another

    for credential in case.profile.credentials.values():
        if is_counted_separately(credential) and (not scope or scope in credential.scopes):
            return case.as_credential(request, credential.name)
    credential_kind = "a second key" if per == "key" else "a key of a second installation"
    reason = f"{credential_kind} with the scope of the operation is needed"
    case.need_credential(False, reason, is_counted_separately)
    raise AssertionError


async def send_between(case: Case, request: Request, other: Request) -> tuple[Answer, Answer]:
    """The answers to the other request, and to the one that has just been limited, sent just before and after it.

    Of the two the first 429 is returned: what a bucket is refilled with meanwhile is for one request only.
    """
    requests = (request, other.with_fresh_key(), request)
    purposes = ("still limited", "counted separately", "still limited")
    before, answer, after = await asyncio.gather(
        *(
            case.send(item, purpose, accept_statuses=LIMITED_STATUSES)
            for item, purpose in zip(requests, purposes, strict=True)
        )
    )
    return answer, next((item for item in (before, after) if item.status == 429), after)


async def observe(case: Case, request: Request, other: Request, *, attempts: int = ATTEMPTS) -> Separation:
    """Limits a request, and sends the other one between two 429s to the first, in a few rounds.

    The other one is answered just before each burst, so that its own requests do not limit it. From the second attempt
    on there is time between the two: a limit without bursts, as nginx has by default, lets requests through evenly.
    Fewer attempts than `_ROUNDS` show only that it was answered.
    """
    limited_answers: tuple[Answer, ...] = ()
    rounds = 0
    pause_s = min(case.profile.rate_limit.window_s or _DEFAULT_PAUSE_S, _LONGEST_PAUSE_S)
    for number in range(attempts):
        before = await case.send(
            other.with_fresh_key(), "counted separately, before the burst", accept_statuses=LIMITED_STATUSES
        )
        if number and before.status != 429:
            await asyncio.sleep(_spacing_s(case.profile.rate_limit, pause_s))
        limited = (await send_burst(case, request)).limited_answer if before.status != 429 else None
        if limited is not None:
            answer, limited_again = await send_between(case, request, other)
            if answer.status != 429 and limited_again.status == 429:
                return Separation(was_answered=True)
            if number and answer.status == 429 == limited_again.status:
                limited_answers, rounds = (before, limited, limited_again, answer), rounds + 1
        if rounds == _ROUNDS:
            was_answered = await _is_answered_after_few(case, request, other, pause_s)
            return Separation(was_answered, () if was_answered else limited_answers)
        if number < attempts - 1:
            await asyncio.sleep(pause_s)
    return Separation()


async def _is_answered_after_few(case: Case, request: Request, other: Request, pause_s: float) -> bool:
    """Whether the other one is answered after the fewest requests that limit the first: a greater limit may count all.

    As one in front of the target does that counts addresses.
    """
    facts = case.profile.rate_limit
    if not facts.limit or facts.limit >= facts.max_requests:
        return False
    await asyncio.sleep(_SPACING * pause_s)
    answers = await asyncio.gather(
        *(case.send(request, "the fewest", accept_statuses=LIMITED_STATUSES) for _ in range(facts.limit + 1))
    )
    if not any(answer.status == 429 for answer in answers):
        return False
    answer = await case.send(other.with_fresh_key(), "counted separately", accept_statuses=LIMITED_STATUSES)
    limited_again = await case.send(request, "still limited", accept_statuses=LIMITED_STATUSES)
    return answer.status != 429 and limited_again.status == 429


def _spacing_s(facts: RateLimit, pause_s: float) -> float:
    """How long a limit without bursts refuses the second of two requests, and somewhat more."""
    if not facts.limit or facts.window_s is None:
        return pause_s
    return min(_SPACING * facts.window_s / facts.limit, _LONGEST_PAUSE_S)
