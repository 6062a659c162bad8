"""What a rate limit counts separately: while one is limited, another one is answered (RATE-6)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from conformance.checks.support.bursts import TAKEN, send_burst
from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.response import Answer

_ROUNDS = 3
_DEFAULT_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True)
class Separation:
    """What became of the other request while the first one was limited.

    `refused` holds the last 429 to it and the 429s around that, if it was refused in every round.
    """

    answered: bool = False
    refused: tuple[Answer, ...] = ()


async def other_request(case: Case, request: Request) -> Request:
    """A request that the profile says is counted separately.

    Inapplicable where there cannot be one, unstated where the profile names no such credential.
    """
    per = case.profile.rate_limit.per
    case.exists(per != "address", "all requests of a run come from one address")
    if per == "operation":
        names = {"api_key": ("getApiKeyIdentity", "getInstallationCredentialReadiness")}
        pair = names.get(case.operation.auth, ("getPublicRuntimeConfig", "searchPublicProducts"))
        other = case.contract.operations[pair[1] if case.operation.id == pair[0] else pair[0]]
        arranged = await case.arrange(other)
        return case.as_credential(arranged, request.credential) if request.credential else arranged
    case.exists(request.credential, "the operation takes no key")
    own, scope = case.profile.credentials[request.credential], case.operation.scope
    for credential in case.profile.credentials.values():
        able = credential.active and credential.name != own.name and (not scope or scope in credential.scopes)
        if able and (per == "key" or credential.installation != own.installation):
            return case.as_credential(request, credential.name)
    where = "a second key" if per == "key" else "a key of a second installation"
    case.need_credential(
        False,
        f"{where} with the scope of the operation is needed",
        lambda one: one.active and (per == "key" or one.installation != own.installation),
    )
    raise AssertionError


async def observe(case: Case, request: Request, other: Request) -> Separation:
    """Limits a request, and looks at the other one between two 429s to the first, in a few rounds.

    The other one was answered just before each burst, so that it is not limited by what it was sent itself.
    """
    refused: tuple[Answer, ...] = ()
    rounds = 0
    pause_s = min(case.profile.rate_limit.window_s or _DEFAULT_PAUSE_S, _LONGEST_PAUSE_S)
    for _ in range(2 * _ROUNDS):
        before = await case.send(other.with_fresh_key(), "counted separately, before", take=TAKEN)
        limited = (await send_burst(case, request)).limited if before.status != 429 else None
        if limited is not None:
            answer = await case.send(other.with_fresh_key(), "counted separately", take=TAKEN)
            still = await case.send(request, "still limited", take=TAKEN)
            if answer.status != 429 and still.status == 429:
                return Separation(answered=True)
            if answer.status == 429 == still.status:
                refused, rounds = (before, limited, still, answer), rounds + 1
        if rounds == _ROUNDS:
            return Separation(refused=refused)
        await asyncio.sleep(pause_s)
    return Separation()
