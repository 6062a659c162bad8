"""Binding of codes, proofs and tokens (OA-5, OA-7, OA-9 to OA-12)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from conformance.checks.support.case import Case
from conformance.checks.support.forged_secrets import FORGED, LEAST_MADE_UP, changes_label_only
from conformance.checks.support.oauth_exchange import (
    PROOF_STATUSES,
    access_token,
    arrange_for_other_client,
    claims_of,
    exchange_with,
    new_key,
    oauth_of,
    other_algorithms,
    proof_of,
    source_of_codes,
    with_member,
    with_used_proof,
)
from conformance.checks.support.plain_replays import plain_replays
from conformance.checks.support.redirect_uris import ALMOST, EQUIVALENT
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY, are_alike
from conformance.checks.support.signals import Inconclusive
from conformance.client.dpop import Proof
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.model import REFUSAL_STATUSES
from conformance.core.outcomes import Level


def _replace(other: str, _value: str) -> str:
    return other


_SWAPS: Mapping[str, Mapping[str, str]] = {
    "client": {"client_id_member": "other_client_id"},
    "redirect-uri": {"redirect_uri_member": "other_redirect_uri"},
    "redirect-uri-of-the-other-client": {"redirect_uri_member": "other_client_redirect_uri"},
    "client-with-its-redirect-uri": {
        "client_id_member": "other_client_id",
        "redirect_uri_member": "other_client_redirect_uri",
    },
}
"""Member of the body -> the fact whose value replaces it."""


@check("OA-5", cases=_SWAPS)
async def a_code_belongs_to_its_client_and_redirect_uri(case: Case, swap: Mapping[str, str]) -> None:
    """A code is refused from another client, and with another redirect URI (RFC 6749 section 4.1.3)."""
    request = bad = await case.arrange()
    for member, fact in swap.items():
        other = getattr(oauth_of(case), fact)
        case.need(other, f"oauth.{fact}", "another registered value is needed")
        bad = with_member(case, bad, member, partial(_replace, other))
    case.require_case(bad.body != request.body, "it is the value of the client's own")
    await _expect_refusal(case, bad, " and ".join(swap.values()))


@check("OA-5", cases=ALMOST)
async def a_redirect_uri_is_compared_as_a_whole(case: Case, change: Callable[[str], str]) -> None:
    """A code is refused with almost the client's own redirect URI: longer, shorter, or with its path in the other case.

    The two values must be identical (RFC 6749 section 4.1.3).
    """
    request = await case.arrange()
    bad = with_member(case, request, "redirect_uri_member", change)
    case.require_case(bad.body != request.body, "the redirect URI has no path")
    await _expect_refusal(case, bad, "almost the redirect URI")


_NO_VALUES: Mapping[str, Callable[[str], str | None]] = {"empty": lambda _uri: "", "null": lambda _uri: None}


@check("OA-5", cases=_NO_VALUES)
async def a_redirect_uri_without_a_value_is_refused(case: Case, change: Callable[[str], str | None]) -> None:
    """A warning where it is accepted: a service may ask for the redirect URI only where it has no other way to tell."""
    request = await case.arrange()
    bad = with_member(case, request, "redirect_uri_member", change)
    await _expect_refusal(case, bad, "no value for the redirect URI", level=Level.RECOMMENDED)


@check("OA-5")
async def a_client_id_is_compared_as_a_whole(case: Case) -> None:
    """A warning where a code is exchanged with its client id in the other case.

    Values are case-sensitive (RFC 6749 section 1.9), which the interface does not repeat.
    """
    request = await case.arrange()
    other = oauth_of(case).client_id.swapcase()
    bad = with_member(case, request, "client_id_member", partial(_replace, other))
    is_unknown = bad.body != request.body and other != oauth_of(case).other_client_id
    case.require_case(is_unknown, "the client id has no letters, or is that of another client in the other case")
    await _expect_refusal(case, bad, "the client id in the other case", level=Level.RECOMMENDED)


@check("OA-5", cases=EQUIVALENT)
async def an_equivalent_redirect_uri_is_another_one(case: Case, change: Callable[[str], str]) -> None:
    """A warning where a code is exchanged with another spelling of its redirect URI.

    The two are equivalent after normalization (RFC 3986 section 6.2), but the values must be identical (RFC 6749
    section 4.1.3), which the interface does not repeat.
    """
    request = await case.arrange()
    bad = with_member(case, request, "redirect_uri_member", change)
    case.require_case(bad.body != request.body, "the redirect URI has no other spelling of this kind")
    purpose = "an equivalent redirect URI"
    await case.shared_negative(lambda _: bad, REFUSAL_STATUSES, purpose, any_refusal=True, level=Level.RECOMMENDED)


async def _expect_refusal(case: Case, bad: Request, purpose: str, level: Level | None = None) -> None:
    await case.shared_negative(lambda _: bad, REFUSAL_STATUSES, purpose, any_refusal=True, level=level)


@check("OA-5")
async def the_other_client_exchanges_its_own_code(case: Case) -> None:
    """A code of the other client is exchanged with its redirect URI, so that it is refused only what is not its own."""
    answer = await case.send(await arrange_for_other_client(case), "the other client")
    if not answer.ok:
        await case.control(await case.arrange())
        raise case.violation("the other client's own code was refused", answer, expected="200")


_FIRST: Mapping[str, str] = {"redirect-uri": "redirect_uri", "client": "client_id"}
"""What a code of the other client is presented with -> the fact that holds the first client's value."""


@check("OA-5", cases=_FIRST)
async def a_code_of_the_other_client_is_its_own(case: Case, fact: str) -> None:
    """A code of the other client is refused with the redirect URI or the id of the first (RFC 6749 section 4.1.3)."""
    request = await arrange_for_other_client(case)
    bad = with_member(case, request, f"{fact}_member", partial(_replace, getattr(oauth_of(case), fact)))
    case.require_case(bad.body != request.body, f"both clients have the same {fact}")
    control, purpose = await arrange_for_other_client(case), f"the {fact} of the first client"
    await case.negative(request, bad, REFUSAL_STATUSES, purpose, any_refusal=True, control=control)


@check("OA-5")
async def a_code_for_a_proof_key_is_refused_with_another(case: Case) -> None:
    """A warning where a code that was issued for one proof key is exchanged with a proof of another.

    It must be refused (RFC 9449 section 10), which is an optional part of the RFC that the interface does not name.
    """
    takes_key = "{dpop.jkt}" in source_of_codes(case.profile)
    case.require_case(takes_key, "the source of codes takes no {dpop.jkt}, so that no code is issued for a key")
    key = await new_key(case, oauth_of(case).algorithms[0])
    bad = (await case.arrange()).with_proof(Proof(key))
    await _expect_refusal(case, bad, "a proof of another key", level=Level.RECOMMENDED)


@check("OA-5", cases=FORGED)
async def a_code_that_nobody_issued_is_refused(case: Case, change: Callable[[str], str]) -> None:
    """A forged code is refused, however similar to a valid one (RFC 6749 section 5.2).

    A warning where only the label before it differs.
    """
    where = oauth_of(case).code
    case.need(where, "oauth.code", "the place of the code in the body is needed")
    request = await case.arrange()
    code = pointer.get(request.body, where) if pointer.has(request.body, where) else ""
    long_enough = isinstance(code, str) and len(code) >= LEAST_MADE_UP
    case.require_case(long_enough, "codes are so short that a forged one may be valid")
    case.require_case(change(code) != code, "codes are of a form whose last character may mean nothing")
    bad = request.with_body(pointer.replace(request.body, where, change(code)))
    level = Level.RECOMMENDED if changes_label_only(code, change(code)) else None
    await case.shared_negative(lambda _: bad, REFUSAL_STATUSES, "a forged code", any_refusal=True, level=level)


@check("OA-7")
async def a_proof_is_used_once(case: Case) -> None:
    """A used proof is refused with a fresh code (RFC 9449 section 11.1 lets a server track jti)."""
    is_stated = oauth_of(case).proof_reuse == "accepted"
    case.require_case(not is_stated, "the profile says that used proofs are accepted, which OA-16 asks about")
    first, second = await case.arrange(), await case.arrange()
    control = await case.control(first)
    answer = await case.send(with_used_proof(second, control), "a used proof, fresh code")
    if answer.ok:
        raise case.violation("a used proof was accepted", answer, expected="400 or 401")


@check("OA-9")
async def the_token_is_bound_to_the_proof_key(case: Case) -> None:
    """token_type is DPoP, and a readable token confirms the key's thumbprint (RFC 9449 sections 5 and 6.1)."""
    _need_place_of_token(case)
    answer = await case.good_answer()
    _expect_bound(case, answer)
    if claims_of(access_token(case, answer)) is None and not oauth_of(case).token_type:
        raise Inconclusive("the token is opaque, and its type is not stated", answer)


@check("OA-9", cases=other_algorithms)
async def the_token_is_bound_to_a_proof_key_of_each_algorithm(case: Case, algorithm: str) -> None:
    """token_type and thumbprint are right with a proof of any declared algorithm."""
    _need_place_of_token(case)
    answer = await exchange_with(case, algorithm)
    case.require_case(answer.ok, f"an exchange with a proof of {algorithm} is answered {answer.summary}")
    _expect_bound(case, answer)


def _need_place_of_token(case: Case) -> None:
    oauth = oauth_of(case)
    case.need(oauth.access_token or oauth.token_type, "oauth.access_token", "the place of the token is needed")


def _expect_bound(case: Case, answer: Answer) -> None:
    """Violated where the type is not DPoP, or where a readable token or the answer confirms another key."""
    oauth = oauth_of(case)
    if oauth.token_type:
        kind = pointer.get(answer.value, oauth.token_type) if pointer.has(answer.value, oauth.token_type) else None
        if not isinstance(kind, str) or kind.lower() != "dpop":
            raise case.violation("the token is not of type DPoP", answer, expected="DPoP", observed=str(kind))
    claims, confirmation = claims_of(access_token(case, answer)), _thumbprint(answer.data)
    confirmed = {thumbprint for thumbprint in (_thumbprint(claims), confirmation) if thumbprint}
    if claims is not None and not confirmed:  # it may be known by introspection (RFC 9449 section 6.2)
        case.note("neither the answer nor the token, a JWT, shows the key that it is bound to")
    if confirmed - {proof_of(answer.request).key.thumbprint}:
        raise case.violation(
            "the token confirms another key", answer, expected="cnf.jkt of the proof's key", observed="another"
        )


@check("OA-9", cases={"another": {}, "described": {"kid": "the-key-of-this-proof", "use": "sig"}})
async def the_token_is_bound_to_any_proof_key(case: Case, members: Mapping[str, str]) -> None:
    """The RFC 7638 thumbprint of any key is confirmed, and of two keys at once each has its own token."""
    oauth = oauth_of(case)
    await case.runtime.controls.prove(case.operation)
    key = await new_key(case, oauth.algorithms[0])
    request = await case.runtime.arranger.arrange(case.operation, scope={"dpop.jkt": key.thumbprint})
    header = {"jwk": {**key.public, **members}} if members else {}
    calls = request.with_proof(Proof(key, header=header)), await case.arrange()
    answer, usual = await asyncio.gather(*(case.send(call, "two keys at once") for call in calls))
    if members and usual.ok and answer.status in PROOF_STATUSES:
        message = "a proof was refused whose key has a kid and a use (RFC 7517 section 4)"
        raise case.violation(message, usual, answer, expected="200", level=Level.RECOMMENDED)
    case.require_case(answer.ok, f"an exchange with another key is answered {answer.summary}")
    token = access_token(case, answer)
    if token and token == access_token(case, usual):
        raise case.violation("the holders of two proof keys got one token", usual, answer, expected="another token")
    confirmed = [_thumbprint(answer.data), _thumbprint(claims_of(token))]
    case.require_case(any(confirmed), "neither the answer nor the token shows the key that it is bound to")
    if {*filter(None, confirmed)} != {key.thumbprint}:
        expected = "cnf.jkt of the proof's key"
        raise case.violation("the token confirms another key", answer, expected=expected, observed="another")


def _thumbprint(claims: Any) -> Any:
    """The confirmation in claims, or beside a token (RFC 9449 section 6.1); None where there is none."""
    confirmation = claims.get("cnf") if isinstance(claims, dict) else None
    return confirmation.get("jkt") if isinstance(confirmation, dict) else None


@check("OA-10")
async def a_token_answer_is_not_cached(case: Case) -> None:
    """Cache-Control: no-store (RFC 6749 section 5.1)."""
    _expect_no_store(case, await case.good_answer())


@check("OA-10", shares="replays")
async def a_replayed_token_answer_is_not_cached(case: Case) -> None:
    """A replay that hands the token out again has Cache-Control: no-store, too."""
    for repeat in (await plain_replays(case)).repeats:
        if repeat.ok:
            _expect_no_store(case, repeat)


def _expect_no_store(case: Case, answer: Answer) -> None:
    cache_control = answer.header("Cache-Control") or ""
    if "no-store" not in cache_control.lower():
        raise case.violation(
            "the token may be cached", answer, expected="Cache-Control: no-store", observed=cache_control or "none"
        )


@check("OA-11", rests_on=PLAIN_REPLAY)
async def a_new_proof_does_not_make_another_call(case: Case) -> None:
    """The same key and body with a fresh proof is the same call, since every retry has a fresh proof."""
    first = await case.first_call()
    repeat = await case.send(first.request, "the same call, fresh proof")
    if not repeat.ok:
        raise case.violation("a retry with a fresh proof is not the same call", first, repeat, expected="200")


@check("OA-12")
async def nobody_gets_a_token_again_without_a_proof(case: Case) -> None:
    """The same idempotency key and body without a proof do not return the first token."""
    case.need(oauth_of(case).access_token, "oauth.access_token", "the place of the token is needed")

    async def drop_proof(request: Request) -> Request:
        return request.with_proof(None)

    first, repeat = await case.repeat_changed(drop_proof, "the same call, without a proof", defect="proof")
    if repeat.ok or are_alike(case, first, repeat):
        raise case.violation("the token was returned without a proof", first, repeat, expected="a refusal")


@check("OA-12")
async def nobody_gets_a_token_again_without_the_key(case: Case) -> None:
    """The same idempotency key and body with a proof that only shows the first key do not return the first token."""

    async def forge_proof(good: Request) -> Request:
        return good.with_proof(Proof(proof_of(good).key, signing="other"))

    forged = await forge_proof(await case.arrange())
    lone_answer = await case.send(forged, "a proof of another signature, alone")
    if lone_answer.ok:
        raise Inconclusive("a proof of another signature is accepted anyway", lone_answer, cause="OA-6")
    first, repeat = await case.repeat_changed(forge_proof, "the same call, another signature", defect="proof")
    if repeat.ok:
        raise case.violation("a forged proof was enough for a replay", first, repeat, expected="a refusal")


@check("OA-12")
async def another_key_holder_gets_no_token(case: Case) -> None:
    """The same idempotency key and body with a proof of another key do not return the first token."""
    oauth = oauth_of(case)
    case.need(oauth.access_token, "oauth.access_token", "the place of the token is needed")

    async def change_proof(request: Request) -> Request:
        return request.with_proof(Proof(await new_key(case, oauth.algorithms[0])))

    first, repeat = await case.repeat_changed(change_proof, "the same call, another key's proof", defect="proof")
    if (repeat.ok and access_token(case, repeat) == access_token(case, first)) or are_alike(case, first, repeat):
        raise case.violation(
            "the holder of another key got the token",
            first,
            repeat,
            expected="another answer",
            level=Level.DECLARED,
        )
    if repeat.ok and oauth.codes_single_use is not False:
        level = Level.DECLARED if oauth.codes_single_use else Level.RECOMMENDED
        message = "the holder of another key got a token for a used code"
        raise case.violation(message, first, repeat, expected="a refusal", level=level)
