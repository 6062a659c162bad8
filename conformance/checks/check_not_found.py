"""What does not exist (NF-1). Unknown merchants are PUB-3's."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.unknown_ids import like_but_unknown

_NAMES_ONE = (
    "updateInstallationWebhook",
    "getStorefrontOrderAfterSalesEligibility",
    "getStorefrontOrderCancellationEligibility",
    "requestStorefrontOrderAfterSales",
    "quotePublicCartCheckout",
    "removePublicCartPromotion",
    "checkoutPublicCart",
    "quotePublicCart",
    "revokePublicCart",
    "consumeHostedCheckoutBrowserTicket",
    "cancelHostedCheckoutBrowser",
)


@check("NF-1", on=_NAMES_ONE)
async def an_unknown_id_is_answered_404(case: Case) -> None:
    """A well-formed id that names nothing is not found; 400 will do where the id is only our guess at the grammar."""
    request = await case.arrange()
    declared = await case.runtime.arranger.unknown(request)
    unknown = {name: like_but_unknown(value) for name, value in request.path.items()} | declared
    await case.negative(request, request.with_path(**unknown), _allowed(case, bool(declared)), "an unknown id")


@check("NF-1", on=_NAMES_ONE)
async def an_id_with_more_behind_it_is_answered_404(case: Case) -> None:
    """What begins with a good id and goes on names nothing; numbers are left out, since a longer one may be another."""
    request = await case.arrange()
    longer = {name: f"{value}zz" for name, value in request.path.items() if not value.isdigit()}
    case.further(longer, "every id is a number, and a longer one may be another resource")
    await case.negative(request, request.with_path(**longer), _allowed(case, False), "an id with more behind it")


def _allowed(case: Case, declared: bool) -> set[int]:
    """`declared`: the profile says that it is a well-formed one."""
    if case.operation.auth == "none":
        return {400, 401, 403, 404, 409}  # the ticket is another session's: two defects
    return {404} if declared else {400, 404}
