"""Failures of the token exchange as the profile states them: their status, and the code afterwards (OA-13, OA-15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import uuid4

from conformance.checks.support.case import Case
from conformance.checks.support.forged_secrets import LEAST_MADE_UP, MADE_UP, is_signed
from conformance.checks.support.invalid_bodies import is_against_schema
from conformance.checks.support.oauth_exchange import (
    member_place,
    need_public_client,
    oauth_of,
    proof_of,
    with_member,
    with_used_proof,
)
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.unknown_ids import is_distinctive, unknown_id_like
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.profile.behavior import OAuth

Defect = Callable[[Case, Request], Request]


class Failure(NamedTuple):
    """One defect of an exchange. `fact` is its key in [oauth.status]."""

    fact: str
    defect: Defect
    judged_by: str
    """The requirement that it is refused at all."""


def _proof(**changes: Any) -> Defect:
    return lambda _case, request: request.with_proof(replace(proof_of(request), **changes))


def _unknown_client(case: Case, request: Request) -> Request:
    oauth = oauth_of(case)
    need_public_client(case)
    change = MADE_UP["made-up"] if is_distinctive(oauth.client_id) else _random_id  # one like a short id may exist
    bad = with_member(case, request, "client_id_member", change)
    client_id = pointer.get(bad.body, oauth.client_id_member)
    case.require_case(
        client_id not in (oauth.client_id, oauth.other_client_id), "the changed client id is that of another client"
    )
    return bad


def _random_id(known: str) -> str:
    """A number in place of one: another text may be malformed."""
    return unknown_id_like(known) if known.isdecimal() else uuid4().hex


def _other_client(case: Case, request: Request) -> Request:
    other = oauth_of(case).other_client_id
    case.need(other, "oauth.other_client_id", "another client is needed")
    need_public_client(case)
    return with_member(case, request, "client_id_member", lambda _: other)


def _other_redirect_uri(case: Case, request: Request) -> Request:
    other = oauth_of(case).other_redirect_uri
    return with_member(case, request, "redirect_uri_member", lambda uri: other or f"{uri}/more")


def _wrong_verifier(case: Case, request: Request) -> Request:
    return with_member(case, request, "code_verifier", lambda verifier: verifier[::-1])


def _unknown_code(case: Case, request: Request) -> Request:
    code = pointer.get(request.body, member_place(case, request, "code"))
    long_enough = isinstance(code, str) and len(code) >= LEAST_MADE_UP
    case.require_case(long_enough, "codes are so short that a forged one may be valid")
    case.require_case(not is_signed(code), "a forged code is a malformed one")
    return with_member(case, request, "code", MADE_UP["made-up"])


def _broken_body(change: Callable[[Any, str], Any]) -> Defect:
    def break_body(case: Case, request: Request) -> Request:
        schema = case.operation.request_schema
        case.need(schema in case.profile.schemas.by_name, f"schemas.{schema}", "a schema of the body is needed")
        bad = request.with_body(change(request.body, member_place(case, request, "code")))
        is_broken = case.runtime.validators.problem(schema, bad.document)
        case.require_case(is_broken, f"{schema} allows that body")
        return bad

    return break_body


_FAILURES: Mapping[str, Failure] = {
    "no-proof": Failure("missing_proof", lambda _case, request: request.with_proof(None), "OA-6"),
    "other-signature": Failure("bad_proof", _proof(signing="other"), "OA-6"),
    "other-method": Failure("bad_proof", _proof(claims={"htm": "GET"}), "OA-6"),
    "other-url": Failure("bad_proof", _proof(claims={"htu": "https://other.example/api/v1/oauth/token"}), "OA-6"),
    # a claim other than jti: where a missing jti is read as an empty one, the first proof without it uses that one up,
    # and OA-6, which judges whether such a proof is accepted, would see the refusal of a used one
    "no-htm": Failure("bad_proof", _proof(claims={"htm": None}), "OA-6"),
    "unknown-client": Failure("unknown_client", _unknown_client, "OA-5"),
    "other-client": Failure("bad_grant", _other_client, "OA-5"),
    "other-redirect-uri": Failure("bad_grant", _other_redirect_uri, "OA-5"),
    "wrong-verifier": Failure("bad_grant", _wrong_verifier, "OA-2"),
    "unknown-code": Failure("bad_grant", _unknown_code, "OA-5"),
    "no-code": Failure("bad_body", _broken_body(pointer.remove), "BODY-4"),
    "code-is-a-number": Failure("bad_body", _broken_body(lambda body, at: pointer.replace(body, at, 7)), "BODY-4"),
}


@check("OA-13", cases=_FAILURES)
async def a_failed_exchange_has_the_stated_status(case: Case, failure: Failure) -> None:
    """An exchange with one defect is answered with the status that the profile states for it."""
    status = getattr(oauth_of(case).status, failure.fact)
    case.need(status is not None, f"oauth.status.{failure.fact}", "the status of the failure is needed")
    purpose = failure.fact.replace("_", " ")

    async def refuse(control: Request) -> Answer:
        request = await case.arrange()  # a failed exchange may use its code up
        bad = failure.defect(case, request)
        # A pattern of the schema may refuse a forged code or client. The stated status of a bad body may then apply.
        of_schema = failure.fact == "bad_body" or not is_against_schema(case, bad)
        case.require_case(of_schema, f"the schema of the body refuses a {purpose}")
        answer = await case.send_with_retry(bad, purpose, control)
        if answer.ok:
            raise Inconclusive(f"an exchange with a {purpose} was answered 200", answer, cause=failure.judged_by)
        if answer.status != status:
            message = f"a {purpose} was not answered as oauth.status.{failure.fact} states"
            raise case.violation(message, answer, expected=str(status))
        return answer

    await case.share_control(refuse, purpose)


_FAILED_BEFORE: Mapping[str, Defect] = {
    "verifier": _wrong_verifier,
    "redirect-uri": _other_redirect_uri,
    "client": _other_client,
    "proof": _proof(signing="other"),
}


def _burns_code(oauth: OAuth, defect: str) -> bool | None:
    """Whether an exchange with this defect, as the profile names it, uses the code up; None: it does not say.

    Where a failure does so in general, only a wrong verifier is sure to.
    """
    stated = oauth.failure_burns_code
    if stated is None or isinstance(stated, bool):
        return stated if not stated or defect == "verifier" else None
    return True if defect in stated else None


@check("OA-15", cases=_FAILED_BEFORE)
async def a_failed_exchange_uses_the_code_up_as_stated(case: Case, defect: Defect) -> None:
    """After an exchange that failed, a good one of the same code is refused, or answered 200, as stated."""
    oauth, name = oauth_of(case), next(name for name, known in _FAILED_BEFORE.items() if known is defect)
    is_stated = oauth.failure_burns_code is not None
    case.need(is_stated, "oauth.failure_burns_code", "what a failure does to the code is needed")
    burns = _burns_code(oauth, name.replace("-", "_"))
    case.require_case(burns is not None, "the profile does not say what this failure does to the code")
    first = await case.control(await case.arrange()) if name == "proof" and not burns else None
    request, control = await case.arrange(), await case.arrange()
    if first is not None:  # one without a proof, and one whose proof was used before, are failures too
        without = await case.send_with_retry(request.with_proof(None).with_fresh_key(), "no proof", control)
        if without.ok:
            raise Inconclusive("an exchange without a proof was answered 200", without, cause="OA-6")
        await _fail_with_used_proof(case, request, first)
    purpose = "a failing exchange"
    failed = await case.send_with_retry(defect(case, request), purpose, control)
    if failed.is_refused and not burns and name == "verifier":  # nor do two of them
        failed = await case.send_with_retry(defect(case, request).with_fresh_key(), f"{purpose}, again", control)
    if not failed.is_refused:
        raise Inconclusive(f"an exchange that must fail was answered {failed.summary}", failed, cause="OA-2")
    answer = await case.send(request.with_fresh_key(), "the good exchange afterwards")
    if answer.ok == (not burns):
        return
    await case.control(await case.arrange())
    message = "a failed exchange did not use the code up" if burns else "a failed exchange used the code up"
    raise case.violation(message, failed, answer, expected="400 or 401" if burns else "200")


@check("OA-15")
async def a_conflict_of_its_key_does_not_use_a_code_up(case: Case) -> None:
    """A code that was refused with 409, since the key stands for another exchange, is good under a key of its own."""
    oauth = oauth_of(case)
    case.need(
        oauth.failure_burns_code is not None, "oauth.failure_burns_code", "what a failure does to the code is needed"
    )
    case.require_case(oauth.failure_burns_code is False, "the profile does not say that no failure uses a code up")
    first = await case.control(await case.arrange())
    request = await case.arrange()
    conflict = await case.send(request.with_key(first.request.key), "another code under a used key")
    case.require_case(conflict.status == 409, f"another code under a used key is answered {conflict.summary}")
    answer = await case.send(request.with_fresh_key(), "the code under a key of its own")
    if not answer.ok:
        await case.control(await case.arrange())
        message = "an exchange that was refused for its key used the code up"
        raise case.violation(message, conflict, answer, expected="200")


async def _fail_with_used_proof(case: Case, request: Request, first: Answer) -> None:
    """An exchange that fails because its proof was used before, where the profile says that such are refused."""
    if oauth_of(case).proof_reuse not in ("refused", "retry"):
        return
    answer = await case.send(with_used_proof(request.with_fresh_key(), first), "a used proof, the code of this check")
    if answer.ok:
        raise Inconclusive("an exchange with a used proof was answered 200", answer, cause="OA-16")
