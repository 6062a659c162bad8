"""The operations that anyone may call, and where every operation is found (PUB-1 to PUB-3, VER-1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.public_access import needs_no_credential, needs_no_credential_with
from conformance.checks.support.registry import check
from conformance.contract import Operation
from conformance.core.model import Level
from conformance.profile.model import Profile

_CATALOG = (
    "searchPublicProducts",
    "listPublicMerchantCategories",
    "listPublicMerchantProducts",
    "getPublicRuntimeConfig",
)


@check("PUB-1", on=_CATALOG)
async def a_public_operation_needs_no_credential(case: Case) -> None:
    """A public operation answers without an Authorization header."""
    await needs_no_credential(case)


def _further(profile: Profile, operation: Operation) -> Mapping[str, Mapping[str, str]]:
    """Ordinary query parameters beyond those of the control."""
    search = profile.search
    filters = {"category": search.category or "shoes", "merchant": search.merchant or "acme"}
    paging = {"page": str((1 if search.page_base is None else search.page_base) + 1)}
    if not operation.query_parameters:
        return {
            "paging": {**paging, "pageSize": "2"},
            "filters": filters,
            "locale": {"locale": "en-US", "market": "US"},
        }
    single = {name: {name: value} for name, value in filters.items()}
    return {**single, "both-filters": filters, "second-page": paging, "filtered-page": {**filters, **paging}}


@check("PUB-1", on=_CATALOG, cases=_further)
async def no_query_parameter_asks_for_a_credential(case: Case, parameters: Mapping[str, str]) -> None:
    """Filters, pages and other query parameters of a public operation do not make it ask for a key."""
    await needs_no_credential_with(case, parameters)


@check("PUB-2", on="public")
async def a_bogus_credential_on_a_public_operation_is_recorded(case: Case) -> None:
    """What a public operation makes of a malformed Authorization is recorded; only a 5xx fails."""
    request = await case.arrange()
    bogus = request.with_authorization("Bearer not-a-key-of-anyone").with_fresh_key()
    answer = await case.stubborn(bogus, "bogus Authorization", request)
    case.note(f"a bogus Authorization is answered {answer.summary}")
    if answer.status is None or answer.status >= 500:
        raise case.violated(
            "a bogus Authorization broke the answer", answer, expected="200 or 401", level=Level.REQUIRED
        )


@check("PUB-3", on=("listPublicMerchantCategories", "listPublicMerchantProducts"))
async def an_unknown_merchant_is_answered_404(case: Case) -> None:
    """A slug that names nobody is not found. An empty list is a warning: the text does not tie slugs to 404."""
    request = await case.arrange()
    unknown = dict.fromkeys(case.operation.path_parameters, "no-such-merchant-7f3a")
    unknown |= await case.runtime.arranger.unknown(request)
    answer = await case.stubborn(request.with_path(**unknown), "unknown slug", request)
    if answer.ok and answer.data == []:
        case.warn("an unknown slug is answered with an empty list", answer, expected="404")
    elif answer.status != 404:
        raise case.violated("an unknown slug was not answered 404", answer, expected="404")


@check("VER-1")
async def the_operation_is_served_under_its_declared_path(case: Case) -> None:
    """The control is found under /api/v1. A 404 fails where nothing can be missing but the route."""
    request = await case.arrange(proven=False)
    answer = await case.send(request, "control")
    if answer.status == 404:
        elsewhere = replace(
            request, operation=replace(case.operation, path=case.operation.path.removeprefix("/api/v1"))
        )
        outside = await case.send(elsewhere.with_fresh_key(), "outside /api/v1")
        if outside.ok or not case.operation.path_parameters:
            raise case.violated("the operation is not served under /api/v1", outside, answer, expected="200")
    if not answer.ok:
        raise control_failed(answer)
