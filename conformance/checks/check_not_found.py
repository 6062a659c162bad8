"""Unknown resources (NF-1). PUB-3 covers unknown merchants."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.unknown_ids import unknown_id_like

_OPERATIONS_WITH_ID = (
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


@check("NF-1", on=_OPERATIONS_WITH_ID)
async def an_unknown_id_is_answered_404(case: Case) -> None:
    """A well-formed unknown id is answered 404; 400 is accepted where its format is only inferred."""
    request = await case.arrange()
    declared = await case.runtime.arranger.unknown_path_values(request)
    unknown = {name: unknown_id_like(value) for name, value in request.path.items()} | declared
    await case.shared_negative(
        lambda good: good.with_path(**unknown), _allowed_statuses(case, bool(declared)), "an unknown id"
    )


@check("NF-1", on=_OPERATIONS_WITH_ID)
async def an_id_with_more_behind_it_is_answered_404(case: Case) -> None:
    """A valid id with a suffix is not found; numeric ids are omitted, since a longer number may exist."""
    request = await case.arrange()
    longer = {name: f"{value}zz" for name, value in request.path.items() if not value.isdigit()}
    case.require_case(longer, "every id is a number, and a longer one may be another resource")
    await case.shared_negative(
        lambda good: good.with_path(**longer), _allowed_statuses(case, False), "an id with a suffix"
    )


def _allowed_statuses(case: Case, declared: bool) -> set[int]:
    """`declared`: the profile states the id as well-formed."""
    if case.operation.auth == "none":
        return {400, 401, 403, 404, 409}  # the ticket is another session's: two defects
    return {404} if declared else {400, 404}
