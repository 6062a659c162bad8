"""What does not exist (NF-1). Unknown merchants are PUB-3's."""

from __future__ import annotations

import secrets

from conformance.checks.case import Case
from conformance.checks.registry import check

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


def like_but_unknown(known: str) -> str:
    """An id of the same make that names nothing: its last characters changed, each within its own class."""
    if known.isdigit():
        return str(int(known) + 987_654_321)
    changed = list(known)
    for index in [i for i, c in enumerate(known) if c.isalnum()][-8:]:
        old = changed[index]
        alphabet = "0123456789" if old.isdigit() else "abcdef" if old.islower() else "ABCDEF"
        changed[index] = secrets.choice([c for c in alphabet if c != old])
    return "".join(changed)


@check("NF-1", on=_NAMES_ONE)
async def an_unknown_id_is_answered_404(case: Case) -> None:
    """A well-formed id that names nothing is not found; 400 will do where the id is only our guess at the grammar."""
    request = await case.arrange()
    declared = dict(case.facts.unknown)
    unknown = {name: like_but_unknown(value) for name, value in request.path.items()} | declared
    allowed = {404} if declared else {400, 404}
    if case.operation.auth == "none":
        allowed = {400, 401, 403, 404, 409}  # the ticket is another session's: two defects
    await case.negative(request, request.with_path(**unknown), allowed, "an unknown id")
