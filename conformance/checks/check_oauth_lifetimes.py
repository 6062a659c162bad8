"""Lifetimes of codes and tokens as the profile states them, and an expired code (OA-13, OA-14, OA-17)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.lifetimes import DISTANCE_S, LONGEST_WAIT_S, ROUNDING_S, age_at_end, need_time
from conformance.checks.support.oauth_exchange import (
    CODE_AGE,
    access_token,
    arrange_for_other_client,
    claims_of,
    makes_codes_on_demand,
    oauth_of,
    seconds_of,
    takes_code_age,
)
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Level

_LEEWAY_S: Final = 60.0
"""Few minutes at most, for clocks that differ (RFC 7519 section 4.1.4)."""


@check("OA-14", cases={"just-before-its-end": False, "just-after-its-end": True}, chain=True)
async def a_code_ends_when_stated(case: Case, is_old: bool) -> None:
    """A code just younger than its stated lifetime is exchanged, one just older is refused."""
    lifetime_s = _lifetime_of_codes(case)
    age_s = age_at_end(lifetime_s, is_old=is_old)
    await case.runtime.controls.prove(case.operation)
    began = time.monotonic()
    request = await _with_a_code_of_age(case, age_s, lifetime_s)
    made_s = age_s if takes_code_age(case.profile) else 0.0
    answer = await case.send(request, f"a code {age_s:g} s old")
    if is_old and answer.is_refused:  # a refused attempt does not renew the code
        answer = await case.send(request.with_fresh_key(), f"a code {age_s:g} s old, once more")
    oldest_s = made_s + time.monotonic() - began
    if answer.ok != is_old:
        return
    await case.control(await case.arrange())
    if not is_old and oldest_s > lifetime_s - ROUNDING_S:
        raise Inconclusive(f"the code may have been {oldest_s:.1f} s old", answer, cause="oauth.code_lifetime_s")
    state = "younger" if answer.is_refused else "older"
    message = f"a code {state} than oauth.code_lifetime_s = {lifetime_s:g} was answered {answer.summary}"
    raise case.violation(message, answer, expected="400 or 401" if is_old else "200")


@check("OA-14")
async def a_code_of_the_other_client_ends_when_stated(case: Case) -> None:
    """A code of the other client that is just older than the stated lifetime is refused, too."""
    lifetime_s = _lifetime_of_codes(case)
    request = await arrange_for_other_client(case, _old_code(case, lifetime_s + DISTANCE_S))
    answer = await case.send(request, "an expired code of the other client")
    if not answer.is_refused:
        await case.control(await arrange_for_other_client(case))
        message = f"a code older than oauth.code_lifetime_s = {lifetime_s:g} was answered {answer.summary}"
        raise case.violation(message, answer, expected="400 or 401")


@check("OA-13")
async def an_expired_code_has_the_stated_status(case: Case) -> None:
    """An expired code is answered with the status of a wrong one (RFC 6749 section 5.2, `invalid_grant`)."""
    status = oauth_of(case).status.bad_grant
    case.need(status is not None, "oauth.status.bad_grant", "the status of the failure is needed")
    scope = _old_code(case, _lifetime_of_codes(case) + DISTANCE_S)
    await case.runtime.controls.prove(case.operation)
    request = await case.runtime.arranger.arrange(case.operation, scope=scope)
    answer = await case.send_with_retry(request, "an expired code")
    if answer.ok:
        raise Inconclusive("an expired code was answered 200", answer, cause="OA-14")
    if answer.status != status:
        await case.control(await case.arrange())
        message = "an expired code was not answered as oauth.status.bad_grant states"
        raise case.violation(message, answer, expected=str(status))


def _lifetime_of_codes(case: Case) -> float:
    lifetime_s = oauth_of(case).code_lifetime_s
    case.need(lifetime_s, "oauth.code_lifetime_s", "how long a code is good for is needed")
    assert lifetime_s is not None
    return lifetime_s


def _old_code(case: Case, age_s: float) -> Mapping[str, float]:
    """The scope of a request whose code is so old. Inapplicable where none can be made older than it is."""
    case.require_case(takes_code_age(case.profile), f"no code source takes {{{CODE_AGE}}}")
    return {CODE_AGE: int(age_s) if age_s == int(age_s) else age_s}


async def _with_a_code_of_age(case: Case, age_s: float, lifetime_s: float) -> Request:
    """A request with a code that is made so old, or waited for."""
    if takes_code_age(case.profile):
        return await case.runtime.arranger.arrange(case.operation, scope=_old_code(case, age_s))
    reason = f"codes live longer than {LONGEST_WAIT_S:g} s, and no code source takes {{{CODE_AGE}}}"
    case.require_applicable(lifetime_s <= LONGEST_WAIT_S, reason)
    is_on_demand = makes_codes_on_demand(case.profile)
    case.require_applicable(is_on_demand, "codes are not made when they are needed, so that their age is not known")
    need_time(case, age_s, "code")
    request = await case.arrange()
    await asyncio.sleep(age_s)
    return request


@check("OA-17")
async def the_answer_states_the_lifetime_of_the_token(case: Case) -> None:
    """The answer to an exchange says the lifetime that the profile states; another one in a JWT is a warning.

    A service may take a token for valid somewhat longer than it says (RFC 7519 section 4.1.4).
    """
    _need_lifetime_of_tokens(case)
    answer = await case.good_answer()
    _expect_stated_lifetime(case, answer)
    claims, lifetime_s = claims_of(access_token(case, answer)) or {}, oauth_of(case).token_lifetime_s or 0.0
    expires_at, issued_at = (seconds_of(claims.get(name)) for name in ("exp", "iat"))
    if expires_at is None or issued_at is None:
        return
    if abs(expires_at - issued_at - lifetime_s) > _LEEWAY_S:
        observed = f"{expires_at - issued_at:g} s"
        message = "the token ends at another time than oauth.token_lifetime_s says, by its iat and exp"
        raise case.violation(message, answer, expected=f"{lifetime_s:g} s", observed=observed, level=Level.RECOMMENDED)


@check("OA-17")
async def the_lifetime_of_a_token_begins_with_it(case: Case) -> None:
    """The answer to an exchange says the same lifetime where the code is not new."""
    _need_lifetime_of_tokens(case)
    scope = _old_code(case, int(_lifetime_of_codes(case) / 2))
    await case.runtime.controls.prove(case.operation)
    answer = await case.send(await case.runtime.arranger.arrange(case.operation, scope=scope), "a code that is not new")
    if not answer.ok:
        raise Inconclusive(f"a code of half its lifetime was answered {answer.summary}", answer, cause="OA-14")
    _expect_stated_lifetime(case, answer)


def _need_lifetime_of_tokens(case: Case) -> None:
    oauth = oauth_of(case)
    case.need(oauth.token_lifetime_s, "oauth.token_lifetime_s", "how long a token is good for is needed")
    case.need(oauth.expires_in, "oauth.expires_in", "the place of the lifetime in the answer is needed")


def _expect_stated_lifetime(case: Case, answer: Answer) -> None:
    oauth = oauth_of(case)
    assert oauth.token_lifetime_s is not None
    found = _member(answer, oauth.expires_in)
    seconds = seconds_of(found)
    earliest_s = oauth.token_lifetime_s - answer.duration_s - ROUNDING_S
    if seconds is None or not earliest_s <= seconds <= oauth.token_lifetime_s:
        message = f"the answer has another lifetime at {oauth.expires_in} than oauth.token_lifetime_s"
        raise case.violation(
            message, answer, expected=f"{oauth.token_lifetime_s:g} s", observed=f"{str(found)[:100]} s"
        )


@check("OA-17")
async def the_answer_spells_the_token_type_as_stated(case: Case) -> None:
    """The answer to an exchange has the token type in the spelling that the profile states."""
    oauth = oauth_of(case)
    case.need(oauth.token_type_value, "oauth.token_type_value", "the spelling of the type is needed")
    case.need(oauth.token_type, "oauth.token_type", "the place of the type in the answer is needed")
    answer = await case.good_answer()
    found = str(_member(answer, oauth.token_type))
    if found.lower() != oauth.token_type_value.lower():
        raise Inconclusive("the token is of another type", answer, cause="OA-9")
    if found != oauth.token_type_value:
        message = "the answer spells the token type otherwise than oauth.token_type_value"
        raise case.violation(message, answer, expected=oauth.token_type_value, observed=found)


def _member(answer: Answer, where: str) -> Any:
    """Inconclusive where there is no data at all."""
    if not isinstance(answer.data, dict):
        raise Inconclusive("the token is not in { data: object }", answer, cause="OA-1")
    return pointer.get(answer.value, where) if pointer.has(answer.value, where) else None
