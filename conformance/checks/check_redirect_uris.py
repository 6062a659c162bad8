"""Redirect URIs of codes beyond the usual one (OA-5)."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.oauth_exchange import oauth_of, source_of_codes, with_member
from conformance.checks.support.registry import check
from conformance.client.request import Request
from conformance.core.errors import FixtureError


@check("OA-5")
async def a_code_of_another_redirect_uri_is_refused_with_the_usual_one(case: Case) -> None:
    """A code that was issued for a client's other URI is refused with its usual one (RFC 6749 section 4.1.3).

    Judged where such a code is issued, and exchanged with its own URI.
    """
    oauth = oauth_of(case)
    case.need(oauth.other_redirect_uri, "oauth.other_redirect_uri", "another registered value is needed")
    templates = (str(case.facts.body), source_of_codes(case.profile))
    takes_uri = all("{oauth.redirect_uri}" in text for text in templates)
    case.require_case(takes_uri, "the body and the source of codes do not take the redirect URI from [oauth]")
    await case.runtime.controls.prove(case.operation)
    good = await case.send(await _arrange(case, oauth.other_redirect_uri), "a code of the other redirect URI")
    case.require_case(good.ok, f"an exchange with the other redirect URI is answered {good.summary}")
    request = await _arrange(case, oauth.other_redirect_uri)
    bad = with_member(case, request, "redirect_uri_member", lambda _: oauth.redirect_uri)
    case.require_case(bad.body != request.body, "both redirect URIs are the same")
    answer = await case.send_with_retry(bad, "the usual redirect URI, a code of the other one", await case.arrange())
    if answer.ok:
        message = "a code of another redirect URI was exchanged with the usual one"
        raise case.violation(message, good, answer, expected="400 or 401")


async def _arrange(case: Case, redirect_uri: str) -> Request:
    try:
        return await case.runtime.arranger.arrange(case.operation, scope={"oauth.redirect_uri": redirect_uri})
    except FixtureError:
        case.require_case(False, "no code is issued for the other redirect URI")
        raise
