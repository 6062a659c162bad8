"""The token exchange: Authentication, OAuth 2.0 with PKCE S256 and DPoP (OA-1, OA-2, OA-4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from conformance.checks.support.case import Case
from conformance.checks.support.oauth_exchange import REFUSAL_STATUSES, access_token, oauth_of, other_algorithms
from conformance.checks.support.races import ROUNDS, concurrent_calls, send_together
from conformance.checks.support.registry import check
from conformance.client.dpop import Proof, ProofKey, challenge_of
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Level


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
        raise case.violation(
            f"there is no token at {where}", answer, expected="a token", observed="none", level=Level.DECLARED
        )


@check("OA-1", cases=other_algorithms)
async def a_proof_of_each_declared_algorithm_is_accepted(case: Case, algorithm: str) -> None:
    """A proof signed with any declared algorithm is accepted."""
    key = await asyncio.to_thread(ProofKey.new, algorithm)
    await case.runtime.controls.prove(case.operation)
    request = await case.runtime.arranger.arrange(case.operation, scope={"dpop.jkt": key.thumbprint})
    answer = await case.send(request.with_proof(Proof(key)), f"a proof of {algorithm}")
    if not answer.ok:
        await case.control(await case.arrange())
        message = f"a proof of {algorithm}, which the profile declares, was refused"
        raise case.violation(message, answer, expected="200", level=Level.DECLARED)


_DEFECTIVE_VERIFIERS: dict[str, Callable[[str], str | None]] = {
    "absent": lambda verifier: None,
    "empty": lambda verifier: "",
    "wrong": lambda verifier: verifier[::-1],
    "prefix": lambda verifier: verifier[:43],
    "challenge-as-verifier": challenge_of,
    "case-folded": str.swapcase,
    "extended": lambda verifier: verifier + "A",
}


@check("OA-2", cases=_DEFECTIVE_VERIFIERS)
async def a_defective_verifier_is_refused(case: Case, defect: Callable[[str], str | None]) -> None:
    """The code is exchanged only with the verifier of its S256 challenge (RFC 7636 section 4.6)."""
    where = oauth_of(case).code_verifier
    case.need(where, "oauth.code_verifier", "the place of the verifier in the body is needed")

    async def refuse(control: Request) -> Answer:
        request = await case.arrange()  # a failed exchange may use its code up
        key = "oauth.code_verifier (where the body has it)"
        case.need(pointer.has(request.body, where), key, f"the body has no member at {where}: its verifier is needed")
        verifier = defect(request.scope["pkce.verifier"])
        body = request.body
        body = pointer.remove(body, where) if verifier is None else pointer.replace(body, where, verifier)
        bad = request.with_body(body)
        return await case.refusal(bad, REFUSAL_STATUSES, "a defective verifier", any_refusal=True, control=control)

    await case.share_control(refuse, "a defective verifier")


@check("OA-4")
async def a_code_is_exchanged_once(case: Case) -> None:
    """A used code with a new key and proof is refused; binding where the profile says single-use."""
    declared = oauth_of(case).codes_single_use
    case.require_applicable(declared is not False, "the profile says that codes may be used again")

    async def renew_key(request: Request) -> Request:
        return request.with_fresh_key()

    first, second = await case.repeat_changed(renew_key, "the same code again", defect="code")
    if not second.is_refused:
        level = Level.DECLARED if declared else Level.RECOMMENDED
        raise case.violation("a used code was exchanged again", first, second, expected="400 or 401", level=level)


@check("OA-4", cases={str(number): number for number in range(1, ROUNDS + 1)})
async def a_code_is_exchanged_once_of_several_times_at_once(case: Case, number: int) -> None:
    """Concurrent exchanges of one code, each with its own key and proof, give at most one token."""
    declared = oauth_of(case).codes_single_use
    case.require_applicable(declared is not False, "the profile says that codes may be used again")
    request = await case.arrange()
    rivals = [request.with_fresh_key() for _ in range(concurrent_calls(case))]
    answers = await send_together(case, rivals, "the same code concurrently")
    winners = [answer for answer in answers if answer.ok]
    if len(winners) > 1:
        level = Level.DECLARED if declared else Level.RECOMMENDED
        raise case.violation("a code was exchanged more than once", *winners, expected="at most one 200", level=level)
