"""Proofs that were used or are old, and nonces (OA-12, OA-16, OA-18)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.oauth_exchange import (
    access_token,
    arrange_for_other_client,
    new_key,
    oauth_of,
    proof_of,
    with_used_proof,
)
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY
from conformance.checks.support.signals import Inconclusive
from conformance.client.dpop import Proof
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core.outcomes import Level

_FRESH_S: Final = 10.0
"""A used proof that is younger is not too old, where no bound is stated."""
_ROUNDING_S: Final = 2.0
_ATTEMPTS: Final = 3
_USED_FOR_S: Final = 3.0
"""Seconds after which a used proof must still be known as used."""


@check("OA-16", cases={"retry": True, "another-exchange": False}, rests_on=PLAIN_REPLAY)
async def a_used_proof_is_treated_as_stated(case: Case, is_retry: bool) -> None:
    """The very same request, or an exchange of another code with a used proof, is accepted or refused as stated."""
    reuse = oauth_of(case).proof_reuse
    case.need(reuse, "oauth.proof_reuse", "what a used proof is good for is needed")
    first = await _first_exchange(case)
    request = first.request
    if not is_retry:
        await case.control(await case.arrange(), "an exchange in between")
        request = await case.arrange()
    purpose = "the very same request" if is_retry else "a used proof, fresh code"
    answer = await case.send(with_used_proof(request, first), purpose)
    is_accepted = reuse == "accepted" or (reuse == "retry" and is_retry)
    if is_accepted and not answer.ok:
        await _expect_usable(case, first, answer)
        raise case.violation(f"a used proof was refused, and reuse is {reuse!r}", first, answer, expected="200")
    is_quick = case.profile.limits.depth == "quick"
    if answer.is_refused and not (is_accepted or is_retry or case.finite_fixtures or is_quick):
        # it may be known as used for a moment only
        await asyncio.sleep(max(0.0, first.at + _USED_FOR_S - case.runtime.sender.elapsed_s))
        answer = await case.send(with_used_proof(await case.arrange(), first), f"{purpose}, some seconds later")
    if not is_accepted and not answer.is_refused:
        message = f"a used proof was accepted, and oauth.proof_reuse is {reuse!r}"
        raise case.violation(message, first, answer, expected="400 or 401")


@check("OA-16")
async def a_used_proof_is_of_no_use_to_another_client(case: Case) -> None:
    """A used proof is refused with a code of the other client, too, unless used proofs are accepted as stated."""
    reuse = oauth_of(case).proof_reuse
    case.need(reuse, "oauth.proof_reuse", "what a used proof is good for is needed")
    case.require_case(reuse != "accepted", "the profile says that used proofs are accepted")
    request = await arrange_for_other_client(case)
    first = await _first_exchange(case)
    answer = await case.send(with_used_proof(request, first), "a used proof, the other client")
    if not answer.is_refused:
        message = f"a used proof was accepted from another client, and oauth.proof_reuse is {reuse!r}"
        raise case.violation(message, first, answer, expected="400 or 401")


async def _first_exchange(case: Case) -> Answer:
    """A good exchange whose proof is known to be used. Inconclusive where answers were lost."""
    for _ in range(_ATTEMPTS):
        first = await case.first_call()
        if not first.follows_loss:
            return first
    raise Inconclusive("answers were lost: which proof was used is not known", first, cause="no answer")


async def _expect_usable(case: Case, first: Answer, answer: Answer) -> None:
    """Inconclusive where the used proof may be refused for its age or its nonce."""
    if answer.fresh_nonce not in ("", first.nonce):
        raise Inconclusive("the target demands another nonce", answer)
    behind_s = oauth_of(case).behind_s
    usable_s = _FRESH_S if behind_s is None else behind_s - _ROUNDING_S
    if answer.at + answer.duration_s - first.at > usable_s:
        raise Inconclusive("the used proof may be too old", answer, cause="oauth.clock_behind_s")
    await case.control(await case.arrange())


@check("OA-18")
async def a_nonce_is_demanded_as_stated(case: Case) -> None:
    """A proof of a new key without a nonce is refused with a DPoP-Nonce header, or accepted, as stated."""
    oauth = oauth_of(case)
    case.need(oauth.nonce, "oauth.nonce", "whether nonces are demanded is needed")
    await case.runtime.controls.prove(case.operation)
    key = await new_key(case, oauth.algorithms[0])
    request = await case.runtime.arranger.arrange(case.operation, scope={"dpop.jkt": key.thumbprint})
    answer = await case.send(request.with_proof(Proof(key, claims={"nonce": None})), "a proof without a nonce")
    challenge = answer.fresh_nonce
    if answer.ok:
        if oauth.nonce == "required":
            raise case.violation("a proof without a nonce was accepted", answer, expected="400 or 401")
        return
    await case.control(await case.arrange())
    if oauth.nonce == "never" and challenge:
        raise case.violation("a nonce was demanded", answer, expected="200")
    if oauth.nonce == "never":
        raise Inconclusive(f"a proof of a new key was answered {answer.summary}", answer, cause="OA-1")
    if not challenge:
        message = "a proof without a nonce was refused, and no nonce was given"
        raise case.violation(message, answer, expected="a DPoP-Nonce header")


_OLD_S = 7_200.0
"""The age of a proof that no allowance for clocks makes a present one."""


@check("OA-12")
async def nobody_gets_a_token_again_with_an_old_proof(case: Case) -> None:
    """The same call with a proof of hours ago, which may have been recorded, does not return the token: else a warning.

    RFC 9449 sections 4.3 and 11.1.
    """
    oauth = oauth_of(case)
    case.need(oauth.access_token, "oauth.access_token", "the place of the token is needed")
    await case.runtime.controls.prove(case.operation)  # which gets the first nonce
    case.require_applicable(not case.runtime.sender.nonce, "the target judges age by nonces")
    case.require_applicable(oauth.behind_s is None or oauth.behind_s < _OLD_S / 2, "clocks may be hours apart")

    async def age_proof(request: Request) -> Request:
        return request.with_proof(replace(proof_of(request), age_s=_OLD_S))

    first, repeat = await case.repeat_changed(age_proof, "the same call, a proof of hours ago", defect="proof")
    if repeat.ok and access_token(case, repeat) == access_token(case, first):
        case.require_applicable(not repeat.nonce, "the target demanded a nonce for it, which tells its age")
        message = "the token was handed out again for a proof of hours ago"
        raise case.violation(message, first, repeat, expected="a refusal", level=Level.RECOMMENDED)


@check("OA-16")
async def a_used_proof_is_remembered(case: Case) -> None:
    """The proof of the first exchange of the run is refused with a fresh code, however much later that is.

    It stands last in this file, which makes it one of the last checks of a run: nothing waits for the proof to age.
    """
    reuse = oauth_of(case).proof_reuse
    case.need(reuse, "oauth.proof_reuse", "what a used proof is good for is needed")
    case.require_case(reuse != "accepted", "the profile says that used proofs are accepted")
    first = await case.runtime.controls.prove(case.operation)
    if first.follows_loss:
        first = await _first_exchange(case)
    case.answers.append(first.ref)
    answer = await case.send(with_used_proof(await case.arrange(), first), "the proof of the run's first exchange")
    age_s = answer.at - first.at
    if answer.ok:
        message = f"a proof that was used {age_s:.1f} s before was accepted, and oauth.proof_reuse is {reuse!r}"
        raise case.violation(message, first, answer, expected="400 or 401")
    case.note(f"a proof was answered {answer.summary} {age_s:.1f} s after it was used")
