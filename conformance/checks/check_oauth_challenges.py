"""Challenges of another method than S256, and codes without one (OA-3)."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.oauth_exchange import oauth_of, source_of_codes
from conformance.checks.support.registry import check
from conformance.client.dpop import new_verifier
from conformance.core import json_pointer as pointer
from conformance.core.errors import FixtureError
from conformance.core.model import REFUSAL_STATUSES
from conformance.profile.exclusions import exclusion_of

_METHODS: Final = {"absent": "", "unknown": "S512"}
"""Without a method a challenge is plain (RFC 7636 section 4.3)."""


@check("OA-3")
async def a_plain_challenge_is_of_no_use(case: Case) -> None:
    """A code for a plain challenge is not exchanged (RFC 7636 section 4.2).

    Inconclusive where the fixture issues no such code: that is not the target's refusal. An exclusion comes first.
    """
    oauth_of(case)
    await case.runtime.controls.prove(case.operation)
    is_separate = case.runtime.fixtures.find("oauth", "plain") is not None
    takes_method = is_separate or "{pkce.method}" in source_of_codes(case.profile)
    takes_method &= not exclusion_of(case.profile, "fixtures.oauth.plain")
    case.need(takes_method, "fixtures.oauth.plain", "a code source that takes {pkce.method} is needed")
    verifier = new_verifier()
    plain = {"pkce.method": "plain", "pkce.challenge": verifier, "pkce.verifier": verifier}
    use = {"oauth": "plain"} if is_separate else None
    request = await case.runtime.arranger.arrange(case.operation, scope=plain, use=use)
    await case.negative(request, request, REFUSAL_STATUSES, "a code of a plain challenge", control=await case.arrange())


@check("OA-3")
async def a_code_without_a_challenge_is_of_no_use(case: Case) -> None:
    """A code that was issued without a challenge is not exchanged, with any verifier or with none."""
    where = oauth_of(case).code_verifier
    await case.runtime.controls.prove(case.operation)
    case.require_case(_takes_both(case), "the source of codes makes none without a challenge")
    scope = {"pkce.method": "", "pkce.challenge": ""}
    for is_without in (False, True):
        try:
            request = await case.runtime.arranger.arrange(case.operation, scope=scope)
        except FixtureError:
            case.require_case(False, "no code is issued without a challenge")
        case.require_case(not is_without or (where and pointer.has(request.body, where)), "no verifier is in the body")
        bad = request.with_body(pointer.remove(request.body, where)) if is_without else request
        purpose = "a code without a challenge"
        await case.negative(bad, bad, REFUSAL_STATUSES, purpose, any_refusal=True, control=await case.arrange())


@check("OA-3", cases=_METHODS)
async def a_challenge_of_another_method_is_of_no_use(case: Case, method: str) -> None:
    """A code of a challenge without a method, or with an unknown one, is not exchanged with that very challenge.

    Where such a challenge is taken for one of S256, it is not that of itself.
    """
    oauth_of(case)
    await case.runtime.controls.prove(case.operation)
    case.require_case(_takes_both(case), "the source of codes does not take both challenge and method")
    verifier = new_verifier()
    scope = {"pkce.method": method, "pkce.challenge": verifier, "pkce.verifier": verifier}
    try:
        bad = await case.runtime.arranger.arrange(case.operation, scope=scope)
    except FixtureError:
        case.require_case(False, "no code is issued for such a method")
    purpose = f"a challenge whose method is {method or 'absent'}"
    await case.negative(bad, bad, REFUSAL_STATUSES, purpose, any_refusal=True, control=await case.arrange())


def _takes_both(case: Case) -> bool:
    """Whether the source of codes makes them for any challenge and method, and no exclusion forbids that."""
    takes_both = all(f"{{pkce.{name}}}" in source_of_codes(case.profile) for name in ("challenge", "method"))
    return takes_both and not exclusion_of(case.profile, "fixtures.oauth.plain")
