"""Facts about lifetimes: authorization codes, tokens, stored keys; those that pass within doctor's own time."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.context import Runtime
from conformance.checks.support.oauth_exchange import CODE_AGE, makes_codes_on_demand, seconds_of, takes_code_age
from conformance.checks.support.replays import are_alike, fix_proof_id
from conformance.checks.support.signals import OBSTACLES, Signal
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.profile.behavior import OAuth
from conformance.setup.doctor.facts import Fact, note, proven, unsure, wrong

_EXCHANGE: Final = "exchangeOAuthToken"
_CREATE: Final = "createInstallationWebhook"
_LONGEST_WAIT_S: Final = 4.0
_DISTANCE_S: Final = 3.0
"""From the end of a code's lifetime where its source makes it so old."""
_MARGIN_S: Final = 1.0
"""From the end of a lifetime that is waited for."""


async def lifetime_facts(runtime: Runtime, names: Collection[str]) -> list[Fact]:
    """One fact for each stated lifetime, all examined concurrently. `names`: operations with a proven control."""
    profile, trials = runtime.settings.profile, list[Coroutine[Any, Any, Fact]]()
    if profile.oauth is not None and _EXCHANGE in names:
        case = Case(runtime, runtime.settings.contract.operations[_EXCHANGE])
        if profile.oauth.code_lifetime_s:
            trials.append(_attempt("oauth.code_lifetime_s", _code_fact(case, profile.oauth.code_lifetime_s)))
        if profile.oauth.expires_in and profile.oauth.token_lifetime_s:
            trials.append(_attempt("oauth.token_lifetime_s", _token_fact(case, profile.oauth)))
    writes = [
        name for name in (_CREATE, *names) if name in names and runtime.settings.contract.operations[name].idempotent
    ]
    if profile.idempotency is not None and profile.idempotency.retention_s and writes:
        case = Case(runtime, runtime.settings.contract.operations[writes[0]])
        trials.append(_attempt("idempotency.retention_s", _retention_fact(case, profile.idempotency.retention_s)))
    return list(await asyncio.gather(*trials))


async def _attempt(key: str, trial: Coroutine[Any, Any, Fact]) -> Fact:
    try:
        return await trial
    except (Signal, *OBSTACLES) as error:
        return unsure(key, str(error))


async def _code_fact(case: Case, lifetime_s: float) -> Fact:
    """Whether a younger code is exchanged and an older one refused."""
    key, has_age = "oauth.code_lifetime_s", takes_code_age(case.profile)
    distance_s = _DISTANCE_S if has_age else _MARGIN_S
    young_s, old_s = max(lifetime_s - distance_s, lifetime_s / 2), lifetime_s + distance_s
    if not has_age and (old_s > _LONGEST_WAIT_S or not makes_codes_on_demand(case.profile)):
        reason = f"doctor waits for no more than {_LONGEST_WAIT_S:g} s"
        return note(key, f"not tried: {reason}", f"a code source that takes {{{CODE_AGE}}} makes older codes")
    young, old = await asyncio.gather(*(_exchange_of_age(case, age_s, has_age) for age_s in (young_s, old_s)))
    if not young.ok:
        return wrong(key, f"a code {young_s:g} s old is answered {young.summary}", "state a shorter lifetime")
    if old.ok:
        return wrong(key, f"a code {old_s:g} s old is answered 200", "state a longer lifetime")
    return proven(key, f"a code {young_s:g} s old is exchanged, one {old_s:g} s old is answered {old.summary}")


async def _exchange_of_age(case: Case, age_s: float, has_age: bool) -> Answer:
    """The answer to a code that is made so old, or waited for."""
    age = int(age_s) if age_s == int(age_s) else age_s
    scope = {CODE_AGE: age} if has_age else {}
    request = await case.runtime.arranger.arrange(case.operation, scope=scope)
    if not has_age:
        await asyncio.sleep(age_s)
    return await case.send(request, f"a code {age_s:g} s old")


async def _token_fact(case: Case, oauth: OAuth) -> Fact:
    """Whether the answer shows the stated lifetime of the token, or what remains of it."""
    key, stated_s = "oauth.token_lifetime_s", oauth.token_lifetime_s
    assert stated_s is not None
    answer = await case.send(await case.arrange(), "a token")
    if not pointer.has(answer.value, oauth.expires_in):
        return wrong("oauth.expires_in", f"the answer has nothing at {oauth.expires_in}", "correct the pointer")
    found = pointer.get(answer.value, oauth.expires_in)
    seconds = seconds_of(found)
    if seconds is None:
        return wrong(
            "oauth.expires_in", f"the value at {oauth.expires_in} is not a number of seconds", "correct the pointer"
        )
    if not stated_s - answer.duration_s - _MARGIN_S <= seconds <= stated_s:
        return wrong(
            key, f"the answer says {seconds:g} s, and the profile {stated_s:g}", f"token_lifetime_s = {seconds:g}"
        )
    return proven(key, f"the answer says {seconds:g} s")


async def _retention_fact(case: Case, retention_s: float) -> Fact:
    """Whether a key is still known just before the end of the stated time."""
    key, wait_s = "idempotency.retention_s", max(retention_s - _MARGIN_S, retention_s / 2)
    if wait_s > _LONGEST_WAIT_S:
        return note(key, f"not tried: doctor waits for no more than {_LONGEST_WAIT_S:g} s")
    first = await case.send(fix_proof_id(await case.arrange()), "a call")
    await asyncio.sleep(wait_s)
    repeat = await case.send(first.request, f"the same call {wait_s:g} s later")
    if not are_alike(case, first, repeat):
        message = f"{case.operation.id} is not replayed {wait_s:g} s later: {repeat.summary}"
        return wrong(key, message, "state a shorter time")
    return proven(key, f"{case.operation.id} is replayed {wait_s:g} s later")
