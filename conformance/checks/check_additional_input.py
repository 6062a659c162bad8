"""Headers and parameters that clients add by themselves change no outcome (STA-1, STA-2, ENV-1)."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.survival import expect_survival
from conformance.checks.support.unusual_calls import as_browser, unusual_call, with_headers, with_parameters_of_others


@check("STA-2")
async def the_headers_of_a_browser_prevent_no_success(case: Case) -> None:
    """A good request that prefers HTML, another language and a minimal answer is answered 200 nevertheless."""
    if await unusual_call(case):
        return
    request = await case.arrange()
    answer = await case.send_with_retry(as_browser(request), "the headers of a browser", request)
    if not answer.ok:
        control = await case.control(await case.arrange())
        message = "with the headers of a browser a good request was not answered 200"
        raise case.violation(message, control, answer, expected="200")


@check(
    "STA-2",
    on=("getApiKeyIdentity", "createInstallationWebhook", "searchPublicProducts", "exchangeOAuthToken"),
    deep_on="all",
)
async def the_headers_of_a_minimal_client_suffice(case: Case) -> None:
    """A good request without Accept, which accepts any media type, and with names of headers in lower case is good.

    RFC 9110, sections 5.1 and 12.5.1. Gateways and clients of HTTP/2 write the names in lower case.
    """
    request = await case.arrange()
    answer = await case.send_with_retry(replace(request, is_minimal=True), "the headers of a minimal client", request)
    if not answer.ok:
        control = await case.control(await case.arrange())
        message = "without Accept, and with the names of headers in lower case, a good request was not answered 200"
        raise case.violation(message, control, answer, expected="200")


_ODD_HEADERS: Final = {
    "Cookie": "theme",
    "X-Forwarded-For": "unknown, _hidden, 2001:db8::1",
    "traceparent": "00-xyz",
    "Accept-Language": "*;q=x,,",
}
_REFUSING: Final = (
    "createInstallationWebhook",
    "listInstallationWebhookDeliveries",
    "getApiKeyIdentity",
    "requestStorefrontOrderAfterSales",
    "quotePublicCartCheckout",
    "quotePublicCart",
    "searchPublicProducts",
    "listPublicMerchantProducts",
    "exchangeOAuthToken",
    "consumeHostedCheckoutBrowserTicket",
)
"""Operations of every kind: what writes errors is mostly one place of a service."""


@check("ENV-1", on=_REFUSING, deep_on="all")
async def a_refusal_to_a_browser_is_judged(case: Case) -> None:
    """A defective request with the headers of a browser is sent, so that the invariants judge its refusal too.

    A call that needs a body, a credential or a proof has none of them, nor a key: it may be refused for any of these.
    """
    request = await case.arrange()
    if case.operation.has_body:
        defective, defect = request.without_body().with_authorization().with_proof(None).with_key(None), "nothing else"
    elif case.operation.auth == "api_key":
        defective, defect = request.with_authorization(), "no credential"
    elif case.operation.path_parameters:
        unknown = dict.fromkeys(case.operation.path_parameters, "no-such-resource-7f3a")
        defective, defect = request.with_path(**unknown), "an unknown id"
    else:
        defective, defect = replace(request, query=()), "no parameter"
    browser = as_browser(defective)
    answer = await case.send_with_retry(browser, f"the headers of a browser, {defect}", request)
    expect_survival(case, "such a request", answer, oversize=False)


@check(
    "STA-1",
    on=("getApiKeyIdentity", "searchPublicProducts", "consumeHostedCheckoutBrowserTicket"),
    deep_on="all",
)
async def odd_headers_are_survived(case: Case) -> None:
    """Headers that a client or a proxy may add, with values that are not of their form, get a declared status."""
    request = await case.arrange()
    odd = with_headers(request, _ODD_HEADERS).with_fresh_key()
    answer = await case.send_with_retry(odd, "odd headers", request)
    expect_survival(case, f"a request with odd values of {', '.join(_ODD_HEADERS)}", answer, oversize=False)


@check(
    "STA-1",
    on=("getApiKeyIdentity", "searchPublicProducts", "createInstallationWebhook"),
    deep_on="all",
)
async def another_media_type_is_never_answered(case: Case) -> None:
    """A good request that accepts XML alone gets JSON, or a refusal with a declared status (Endpoints, rule 1).

    RFC 9110, section 12.4.1, allows to disregard Accept.
    """
    request = (await case.arrange()).with_header("Accept", "application/xml")
    answer = await case.send_with_retry(request, "Accept: application/xml", request)
    expect_survival(case, "Accept: application/xml", answer, oversize=False)


@check("STA-1", on="read")
async def parameters_of_other_interfaces_are_survived(case: Case) -> None:
    """Parameters that the interface does not declare, with values that none would take, get a declared status.

    So does a read that names the media type of a body which it has not.
    """
    if await unusual_call(case):
        return
    request = await case.arrange()
    odd = with_parameters_of_others(request)
    answer = await case.send_with_retry(odd, "undeclared parameters", request)
    expect_survival(case, "undeclared parameters", answer, oversize=False)


_UNANSWERED = frozenset({0})
"""For a lost answer, which has no status: the request is not repeated."""


@check("STA-1", on="createInstallationWebhook", deep_on="body")
async def an_expectation_to_continue_is_survived(case: Case) -> None:
    """A body announced with `Expect: 100-continue`, as curl and .NET do, gets a declared status: 417 is none.

    The body follows at once, which RFC 9110, section 10.1.1, allows. A proxy of HTTP/1.0 may wait without end: no
    answer is not a violation.
    """
    request = await case.arrange()
    expecting = request.with_header("Expect", "100-continue").with_fresh_key()
    try:
        answer = await case.send(expecting, "Expect: 100-continue", accept_statuses=_UNANSWERED)
    except Inconclusive as doubt:
        case.require_case(doubt.cause != "no answer", "a request with Expect: 100-continue is not answered")
        raise
    expect_survival(case, "Expect: 100-continue", answer, oversize=False)
