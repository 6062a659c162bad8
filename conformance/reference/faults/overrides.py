"""Faults of requests that override the id in their path, or the installation of their key: TEN-1."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, update

from conformance.reference import objects
from conformance.reference.call import Answer, Call
from conformance.reference.policy import Handler, Policy, before_work, evolve, with_handler
from conformance.reference.registry import fault
from conformance.reference.tables import objects as rows

_UPDATE = "updateInstallationWebhook"
_REVOKE = "revokePublicCart"
_CANCELLATION = "getStorefrontOrderCancellationEligibility"
_ON_OBJECTS = (
    "updateInstallationWebhook",
    "requestStorefrontOrderAfterSales",
    "getStorefrontOrderAfterSalesEligibility",
    "quotePublicCartCheckout",
    "quotePublicCart",
    "checkoutPublicCart",
    "removePublicCartPromotion",
    "revokePublicCart",
)
_KINDS = {"id": "wh", "orderId": "order", "cartId": "cart"}


def _with_query(policy: Policy, operation: str, names: Iterable[str]) -> Policy:
    """A parameter of these names takes the place of the path's, whose owner alone is checked."""

    def look(call: Call, db: Connection) -> Call:
        name = next(iter(call.path))
        query = call.request.parameters()
        other = next((query[item] for item in names if query.get(item)), "")
        if not other:
            return call
        objects.find(call, db, _KINDS[name])
        return evolve(call, path={name: other}, policy=evolve(call.policy, sees=lambda *_: True))

    return before_work(policy, look, operation)


@fault(
    "X240",
    requirement="TEN-1",
    title="a query parameter endpointId takes the place of the path's id in an update",
    operations=(_UPDATE,),
    source="a handler that an older route with endpointId in its query still shares",
)
def endpoint_by_query(policy: Policy) -> Policy:
    return _with_query(policy, _UPDATE, ("endpointId",))


@fault(
    "X241",
    requirement="TEN-1",
    title="a query parameter cartId takes the place of the path's in a revocation",
    operations=(_REVOKE,),
    source="parameters of path and query in one map, from which the query's come last",
)
def cart_by_query(policy: Policy) -> Policy:
    return _with_query(policy, _REVOKE, ("cartId", "cart_id"))


@fault(
    "X242",
    requirement="TEN-1",
    title="a query parameter orderId takes the place of the path's for the cancellation eligibility",
    operations=(_CANCELLATION,),
    source="parameters of path and query in one map, from which the query's come last",
)
def order_by_query(policy: Policy) -> Policy:
    return _with_query(policy, _CANCELLATION, ("orderId", "id"))


def _by_header(policy: Policy, header: bytes, *operations: str) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        name = call.request.first_header(header)
        if call.caller is None or not name.startswith("inst_"):
            return call
        return evolve(call, caller=evolve(call.caller, installation=name.removeprefix("inst_")))

    return before_work(policy, look, *operations)


@fault(
    "X233",
    requirement="TEN-1",
    title="a header X-Installation-Id chooses the installation, except where something is listed",
    operations=_ON_OBJECTS,
    source="a header that a gateway sets from the key for the services behind it, and takes from any client",
)
def installation_by_header(policy: Policy) -> Policy:
    return _by_header(policy, b"x-installation-id", *_ON_OBJECTS)


@fault(
    "X244",
    requirement="TEN-1",
    title="a header X-Merchant-Id chooses the installation whose endpoint is updated",
    operations=(_UPDATE,),
    source="a header for partners that act for several stores, which is read with any key",
)
def endpoints_by_header(policy: Policy) -> Policy:
    return _by_header(policy, b"x-merchant-id", _UPDATE)


@fault(
    "X245",
    requirement="TEN-1",
    title="a member installationId of an update moves the endpoint to that installation",
    operations=(_UPDATE,),
    source="mass assignment: a body that is spread over the row (OWASP API3:2023)",
)
def endpoint_moves_by_member(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            name = call.body.get("installationId")
            if isinstance(name, str):
                owner = name.removeprefix("inst_")
                db.execute(update(rows).where(rows.c.id == call.resource).values(installation=owner))
            return answer

        return handler

    return with_handler(policy, _UPDATE, wrap)
