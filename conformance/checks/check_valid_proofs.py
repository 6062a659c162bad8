"""Proofs that differ from those of most clients, and are valid by RFC 9449 section 4.2 (OA-1, STA-1)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace

from conformance.checks.support.case import Case
from conformance.checks.support.oauth_exchange import proof_of, token_url_of
from conformance.checks.support.registry import check
from conformance.checks.support.survival import expect_survival
from conformance.client.request import Request
from conformance.core.outcomes import Level


def _with_another_end(jti: str) -> str:
    return jti[:-4] + ("AAAA" if jti[-4:] != "AAAA" else "BBBB")


_SIMILAR: dict[str, Callable[[str], str]] = {"another-end": _with_another_end, "another-case": str.swapcase}


@check("OA-1", cases=_SIMILAR)
async def proofs_with_similar_ids_are_different(case: Case, change: Callable[[str], str]) -> None:
    """A proof is accepted after another one whose jti, a case-sensitive text (RFC 7519 section 4.1.7), is similar.

    A warning where the two differ in case only, which random ids never do.
    """
    first, second = await case.arrange(), await case.arrange()
    used = await case.control(_with_id(first, secrets.token_urlsafe(32)))
    jti = proof_of(used.request).claims["jti"]
    answer = await case.send(_with_id(second, change(jti)), "a proof with a similar jti")
    if not answer.ok:
        await case.control(await case.arrange())
        level = Level.RECOMMENDED if change is _SIMILAR["another-case"] else None
        message = "a proof with a jti similar to a used one was refused"
        raise case.violation(message, used, answer, expected="200", level=level)


def _with_id(request: Request, jti: str) -> Request:
    return request.with_proof(replace(proof_of(request), claims={"jti": jti}, new_id_on_retry=True))


@check("OA-1")
async def a_query_in_htu_is_ignored(case: Case) -> None:
    """A warning where a proof is refused whose htu has a query, which is ignored (RFC 9449 section 4.3, item 9)."""
    url = token_url_of(case)
    await _expect_accepted(case, {"htu": f"{url}{'&' if '?' in url else '?'}ignored=1"}, "a query in htu")


@check("OA-1")
async def a_proof_with_a_further_claim_is_accepted(case: Case) -> None:
    """A warning where a proof with a claim of the client's own is refused.

    A proof may have further claims (RFC 9449 section 4.2), and what is not understood is ignored (RFC 7519 section 4).
    """
    await _expect_accepted(case, {"conformance_run": secrets.token_hex(8)}, "a further claim")


@check("STA-1", on="exchangeOAuthToken")
async def a_long_jti_is_survived(case: Case) -> None:
    """A proof whose jti has 128 characters gets a declared status: RFC 9449 section 4.2 states no maximum."""
    request = await case.arrange()
    proof_of(request)
    answer = await case.send_with_retry(
        _with_id(request, secrets.token_urlsafe(96)), "a jti of 128 characters", request
    )
    expect_survival(case, "a jti of 128 characters", answer, oversize=False)


async def _expect_accepted(case: Case, claims: Mapping[str, str], description: str) -> None:
    """A warning unless a proof with these claims is accepted."""
    request = await case.arrange()
    proof = replace(proof_of(request), claims=claims)
    answer = await case.send(request.with_proof(proof), f"a proof with {description}")
    if not answer.ok:
        await case.control(await case.arrange())
        message = f"a proof with {description} was refused"
        raise case.violation(message, answer, expected="200", level=Level.RECOMMENDED)
