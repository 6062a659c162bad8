"""The token exchange: Authentication, OAuth 2.0 with PKCE S256 and DPoP (OA-1, OA-2, OA-4)."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.equal_calls import another_call
from conformance.checks.support.invalid_bodies import is_against_schema
from conformance.checks.support.oauth_exchange import (
    access_token,
    another_exchange_with,
    arrange_for_other_client,
    exchange_with,
    has_same_code,
    new_key,
    oauth_of,
    other_algorithms,
    source_of_codes,
    with_member,
)
from conformance.checks.support.races import ROUNDS, concurrent_calls, expect_overlap, send_together
from conformance.checks.support.registry import check
from conformance.checks.support.replays import other_body
from conformance.checks.support.signals import Inconclusive
from conformance.client.dpop import Proof, challenge_of, new_verifier
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.model import REFUSAL_STATUSES
from conformance.core.outcomes import Level
from conformance.core.strict_json import ABSENT, json_type

_OTHER_CODES = 12
_USED_FOR_S = 3.0
"""Seconds after which a used code must still be known as used."""


@check("OA-1")
async def the_exchange_answers_a_token_in_data(case: Case) -> None:
    """A valid code, verifier and proof are exchanged for a token in { data: object }."""
    answer = await case.good_answer()
    if not isinstance(answer.data, dict):
        raise case.violation(
            "the token is not in { data: object }", answer, expected="data: object", observed="no such data"
        )
    where = oauth_of(case).access_token
    if where and not access_token(case, answer):
        found = pointer.get(answer.value, where) if pointer.has(answer.value, where) else ABSENT
        is_text = found is ABSENT or isinstance(found, str)
        observed = "none" if is_text else json_type(found)
        message = f"there is no token at {where}" if is_text else f"what is at {where} is {observed}, and no text"
        raise case.violation(message, answer, expected="a token", observed=observed, level=Level.DECLARED)


@check("OA-1", cases=other_algorithms)
async def a_proof_of_each_declared_algorithm_is_accepted(case: Case, algorithm: str) -> None:
    """A proof signed with any declared algorithm is accepted."""
    answer = await exchange_with(case, algorithm)
    if not answer.ok:
        await case.control(await case.arrange())
        _require_refused_again(answer, await another_exchange_with(case, algorithm))
        message = f"a proof of {algorithm}, which the profile declares, was refused"
        raise case.violation(message, answer, expected="200", level=Level.DECLARED)


_SHORTEST_VERIFIER: Final = 43
"""Characters (RFC 7636 section 4.1)."""
_VERIFIERS: dict[str, Callable[[], str]] = {
    "shortest": lambda: secrets.token_urlsafe(40)[:_SHORTEST_VERIFIER],
    "longest": lambda: secrets.token_urlsafe(96),
    "every-mark": lambda: f"-._~{secrets.token_urlsafe(40)}~_.-",
}


@check("OA-1", cases=_VERIFIERS)
async def a_verifier_of_any_form_is_accepted(case: Case, make: Callable[[], str]) -> None:
    """A verifier has 43 to 128 characters out of letters, digits, "-", ".", "_" and "~" (RFC 7636 section 4.1)."""
    oauth_of(case)
    takes_challenge = "{pkce.challenge}" in source_of_codes(case.profile)
    case.require_case(takes_challenge, "the source of codes takes no challenge, so that the verifier is its own")
    await case.runtime.controls.prove(case.operation)
    verifier = make()
    answer = await _exchange_with_verifier(case, verifier)
    if not answer.ok:
        await case.control(await case.arrange())
        _require_refused_again(answer, await _exchange_with_verifier(case, verifier))
        message = f"a code was refused with its verifier of {len(verifier)} unreserved characters"
        raise case.violation(message, answer, expected="200")


async def _exchange_with_verifier(case: Case, verifier: str) -> Answer:
    scope = {"pkce.verifier": verifier, "pkce.challenge": challenge_of(verifier)}
    request = await case.runtime.arranger.arrange(case.operation, scope=scope)
    case.require_case(not is_against_schema(case, request), "the schema of the body refuses such a verifier")
    return await case.send(request, "another verifier")


def _require_refused_again(answer: Answer, repetition: Answer) -> None:
    """Inconclusive where another code was exchanged in the same way: the source of codes may give out a bad one."""
    if repetition.ok:
        raise Inconclusive("one code was refused, and another one was exchanged in the same way", answer, repetition)


_Defect = Callable[[str], object]
"""Takes a good verifier; ABSENT stands for no member at all."""
_DEFECTIVE_VERIFIERS: dict[str, _Defect] = {
    "absent": lambda verifier: ABSENT,
    "empty": lambda verifier: "",
    "null": lambda verifier: None,
    "wrong": lambda verifier: verifier[::-1],
    "prefix": lambda verifier: verifier[:_SHORTEST_VERIFIER],
    "challenge-as-verifier": challenge_of,
    "case-folded": str.swapcase,
    "extended": lambda verifier: verifier + "A",
    "true": lambda verifier: True,
    "zero": lambda verifier: 0,
    "list": lambda verifier: [],
    "object": lambda verifier: {},
}
_WITH_SPACE: dict[str, _Defect] = {
    "line-feed-at-its-end": lambda verifier: f"{verifier}\n",
    "space-at-its-start": lambda verifier: f" {verifier}",
}


@check("OA-2", cases=_DEFECTIVE_VERIFIERS)
async def a_defective_verifier_is_refused(case: Case, defect: _Defect) -> None:
    """The code is exchanged only with the verifier of its S256 challenge (RFC 7636 section 4.6)."""
    await _expect_refusal(case, defect)


@check("OA-2", cases=_WITH_SPACE)
async def a_verifier_with_white_space_around_it_is_refused(case: Case, defect: _Defect) -> None:
    """A warning where it is accepted: a service may trim each text that it gets."""
    await _expect_refusal(case, defect, Level.RECOMMENDED)


async def _expect_refusal(case: Case, defect: _Defect, level: Level | None = None) -> None:
    where = oauth_of(case).code_verifier
    case.need(where, "oauth.code_verifier", "the place of the verifier in the body is needed")

    async def refuse(control: Request) -> Answer:
        request = await case.arrange()  # a failed exchange may use its code up
        key = "oauth.code_verifier (where the body has it)"
        case.need(pointer.has(request.body, where), key, f"the body has no member at {where}: its verifier is needed")
        body, good = request.body, str(pointer.get(request.body, where))
        verifier = defect(good)
        case.require_case(verifier != good, "the verifier has no more characters than any verifier has")
        body = pointer.remove(body, where) if verifier is ABSENT else pointer.replace(body, where, verifier)
        bad = request.with_body(body)
        return await case.refusal(
            bad, REFUSAL_STATUSES, "a defective verifier", any_refusal=True, control=control, level=level
        )

    await case.share_control(refuse, "a defective verifier")


@check("OA-2")
async def each_wrong_verifier_is_refused(case: Case) -> None:
    """A failed exchange does not make its code good for another wrong verifier."""

    async def refuse(control: Request) -> Answer:
        request = await case.arrange()
        for purpose, defect in (("a wrong verifier", "wrong"), ("another one of the same code", "case-folded")):
            bad = with_member(case, request, "code_verifier", _DEFECTIVE_VERIFIERS[defect]).with_fresh_key()
            answer = await case.refusal(bad, REFUSAL_STATUSES, purpose, any_refusal=True, control=control)
        return answer

    await case.share_control(refuse, "wrong verifiers")


def _in_the_other_case(verifier: str) -> str:
    """The challenge in the other case but for its last character, which has fewer bits than the others."""
    challenge = challenge_of(verifier)
    return challenge[:-1].swapcase() + challenge[-1]


def _with_another_end(verifier: str) -> str:
    """The challenge with other characters at its end, of which the last one has fewer bits than the others."""
    challenge = challenge_of(verifier)
    return (
        f"{challenge[:-4]}{''.join('x' if character != 'x' else 'y' for character in challenge[-4:-1])}{challenge[-1]}"
    )


_OTHER_CHALLENGES: dict[str, Callable[[str], str]] = {
    "in-the-other-case": _in_the_other_case,
    "with-another-end": _with_another_end,
    "of-its-first-characters": lambda verifier: challenge_of(verifier[:_SHORTEST_VERIFIER]),
    "of-it-in-lower-case": lambda verifier: challenge_of(verifier.lower()),
}


@check("OA-2", cases=_OTHER_CHALLENGES)
async def an_almost_equal_challenge_is_another_one(case: Case, make: Callable[[str], str]) -> None:
    """A code whose challenge is in the other case, ends otherwise, or is of a part of the verifier is not exchanged."""
    oauth_of(case)
    takes_challenge = "{pkce.challenge}" in source_of_codes(case.profile)
    case.require_case(takes_challenge, "the source of codes takes no challenge, so that the verifier is its own")

    async def refuse(control: Request) -> Answer:
        verifier = new_verifier()
        scope = {"pkce.verifier": verifier, "pkce.challenge": make(verifier)}
        bad = await case.runtime.arranger.arrange(case.operation, scope=scope)
        purpose = "an almost equal challenge"
        return await case.refusal(bad, REFUSAL_STATUSES, purpose, any_refusal=True, control=control)

    await case.share_control(refuse, "an almost equal challenge")


@check("OA-2")
async def a_wrong_verifier_in_another_body_is_refused(case: Case) -> None:
    """The verifier is checked in another valid body, such as one for another audience, too."""
    case.require_case(case.facts.bodies, "the profile states one body only")

    async def refuse(control: Request) -> Answer:
        request = await case.arrange()
        other = request.with_body(await other_body(case, request))
        case.require_case(has_same_code(case, request, other), "no other valid body has the code")
        bad = with_member(case, other, "code_verifier", _DEFECTIVE_VERIFIERS["wrong"])
        purpose = "a wrong verifier in another body"
        return await case.refusal(bad, REFUSAL_STATUSES, purpose, any_refusal=True, control=control)

    await case.share_control(refuse, "a wrong verifier in another body")


@check("OA-2")
async def a_wrong_verifier_of_the_other_client_is_refused(case: Case) -> None:
    """A code of the other client is exchanged only with its verifier, too."""
    request = await arrange_for_other_client(case)
    bad = with_member(case, request, "code_verifier", _DEFECTIVE_VERIFIERS["wrong"])
    control, purpose = await arrange_for_other_client(case), "a wrong verifier of the other client"
    await case.negative(request, bad, REFUSAL_STATUSES, purpose, any_refusal=True, control=control)


@check("OA-4")
async def a_code_is_exchanged_once(case: Case) -> None:
    """A used code with a new key and proof is refused; binding where the profile says single-use."""
    _need_single_use(case)

    async def renew(request: Request) -> Request:
        return await another_call(case, request)

    _judge_reuse(case, *await case.repeat_changed(renew, "the same code again", defect="code"))


@check("OA-4")
async def a_code_is_exchanged_once_by_all_keys(case: Case) -> None:
    """A used code is refused from the holder of another proof key, too."""
    _need_single_use(case)
    key = await new_key(case, oauth_of(case).algorithms[0])

    async def change_proof_key(request: Request) -> Request:
        return request.with_fresh_key().with_proof(Proof(key))

    purpose = "the same code again, another key's proof"
    _judge_reuse(case, *await case.repeat_changed(change_proof_key, purpose, defect="code"))


@check("OA-4")
async def a_code_is_exchanged_once_by_all_clients(case: Case) -> None:
    """A used code of the other client is refused, too."""
    _need_single_use(case)
    first = await case.control(await arrange_for_other_client(case), "the other client")
    _judge_reuse(case, first, await case.send(await another_call(case, first.request), "the other client's code again"))


@check("OA-4")
async def a_code_is_exchanged_once_in_all_bodies(case: Case) -> None:
    """A used code is refused in another valid body, such as one for another audience, too."""
    _need_single_use(case)
    case.require_case(case.facts.bodies, "the profile states one body only")
    request = await case.arrange()
    other = request.with_body(await other_body(case, request))
    case.require_case(has_same_code(case, request, other), "no other valid body has the code")
    first = await case.control(other, "another valid body")
    _judge_reuse(case, first, await case.send(request.with_fresh_key(), "the same code in the first body"))


@check("OA-4", chain=True)
async def a_used_code_is_refused_after_other_exchanges(case: Case) -> None:
    """A used code is refused after three seconds and a dozen other exchanges, too."""
    _need_single_use(case)
    case.need_unlimited_fixtures()
    first = await case.control(await case.arrange())
    for _ in range(_OTHER_CODES):
        await case.control(await case.arrange(), "another code")
    await asyncio.sleep(max(0.0, first.at + _USED_FOR_S - case.runtime.sender.elapsed_s))
    _judge_reuse(case, first, await case.send(await another_call(case, first.request), "the first code again"))


def _need_single_use(case: Case) -> None:
    declared = oauth_of(case).codes_single_use
    case.require_applicable(declared is not False, "the profile says that codes may be used again")


def _judge_reuse(case: Case, first: Answer, second: Answer) -> None:
    if not second.is_refused:
        message = "a used code was exchanged again"
        raise case.violation(message, first, second, expected="400 or 401", level=_level_of_single_use(case))


def _level_of_single_use(case: Case) -> Level:
    """Binding where the profile says single-use."""
    return Level.DECLARED if oauth_of(case).codes_single_use else Level.RECOMMENDED


@check("OA-4", cases={str(number): number for number in range(1, ROUNDS + 1)})
async def a_code_is_exchanged_once_of_several_times_at_once(case: Case, number: int) -> None:
    """Concurrent exchanges of one code, each with its own key and proof, give at most one token."""
    _need_single_use(case)
    request = await case.arrange()
    rivals = [await another_call(case, request) for _ in range(concurrent_calls(case))]
    answers = await send_together(case, rivals, "the same code concurrently")
    winners = [answer for answer in answers if answer.ok]
    if len(winners) > 1:
        message = "a code was exchanged more than once"
        raise case.violation(message, *winners, expected="at most one 200", level=_level_of_single_use(case))
    expect_overlap(case, answers)
