"""Faults of operations that refuse every call, or every call with a valid body: VER-1, SCO-2, SCO-3, ERR-3, BODY-10."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from conformance.reference.call import Call, JsonObject, Refusal
from conformance.reference.policy import Policy, before_work
from conformance.reference.registry import fault

Condition = Callable[[JsonObject], bool]


def _refusing(policy: Policy, operation: str, kind: str, message: str, when: Condition | None = None) -> Policy:
    """Refuses every call of the operation, or those with a body for which `when` holds."""

    def look(call: Call, _db: Connection) -> None:
        if when is None or when(call.body):
            raise Refusal(kind, message)

    return before_work(policy, look, operation)


@fault(
    "X24",
    requirement="VER-1",
    title="the after-sales eligibility of every order answered 404",
    operations=("getStorefrontOrderAfterSalesEligibility",),
    source="a lookup by the number of an order, where the path has its id",
)
def eligibility_not_found(policy: Policy) -> Policy:
    return _refusing(policy, "getStorefrontOrderAfterSalesEligibility", "not_found", "There is no such order.")


@fault(
    "X25",
    requirement="VER-1",
    title="every ticket of a checkout answered 404",
    operations=("consumeHostedCheckoutBrowserTicket",),
    source="a cache of tickets that the new version of the service that issues them does not fill",
)
def ticket_not_found(policy: Policy) -> Policy:
    return _refusing(policy, "consumeHostedCheckoutBrowserTicket", "bad_ticket", "There is no such session.")


@fault(
    "X26",
    requirement="VER-1",
    title="every search answered 404",
    operations=("searchPublicProducts",),
    source="a search without an index after a deployment, whose client maps a missing index to a missing product",
)
def search_not_found(policy: Policy) -> Policy:
    return _refusing(policy, "searchPublicProducts", "not_found", "There are no products.")


@fault(
    "X27",
    requirement="SCO-2",
    title="the quote of a cart answered 403 to every key",
    operations=("quotePublicCart",),
    source="a scope that was renamed in one annotation, so that no key has it",
)
def scope_of_no_key(policy: Policy) -> Policy:
    return _refusing(policy, "quotePublicCart", "forbidden", "The key lacks the scope cart:quote.")


@fault(
    "X28",
    requirement="SCO-2",
    title="the creation of an endpoint answered 401 to every key",
    operations=("createInstallationWebhook",),
    source="a route that was moved behind the login of the console",
)
def creation_behind_a_login(policy: Policy) -> Policy:
    return _refusing(policy, "createInstallationWebhook", "bad_credential", "Log in to create an endpoint.")


@fault(
    "X29",
    requirement="SCO-3",
    title="the identity of a key answered 401 to every key",
    operations=("getApiKeyIdentity",),
    source="a digest of keys that was changed everywhere but in the service of identities",
)
def identity_refused(policy: Policy) -> Policy:
    return _refusing(policy, "getApiKeyIdentity", "bad_credential", "The API key is not valid.")


@fault(
    "X30",
    requirement="ERR-3",
    title="the cancellation eligibility of every order answered 400",
    operations=("getStorefrontOrderCancellationEligibility",),
    source="a path value that is parsed as a number, where the ids of orders have become texts",
)
def eligibility_is_invalid(policy: Policy) -> Policy:
    return _refusing(policy, "getStorefrontOrderCancellationEligibility", "bad_id", "The id is not a number.")


@fault(
    "X31",
    requirement="BODY-10",
    title="a checkout on account answered 400",
    operations=("checkoutPublicCart",),
    source="a method of payment that was lost in the mapping to another provider",
)
def invoice_refused(policy: Policy) -> Policy:
    def is_refused(body: JsonObject) -> bool:
        return bool(body["payment"]["method"] == "invoice")

    return _refusing(policy, "checkoutPublicCart", "invalid", "The method of payment is not known.", is_refused)


@fault(
    "X32",
    requirement="BODY-10",
    title="an update of the URL of an endpoint alone answered 400",
    operations=("updateInstallationWebhook",),
    source="a validator of creations that reads updates, too, and asks for events with every URL",
)
def url_needs_events(policy: Policy) -> Policy:
    def is_refused(body: JsonObject) -> bool:
        return "url" in body and "events" not in body

    return _refusing(policy, "updateInstallationWebhook", "invalid", "The events are missing.", is_refused)
