"""Faults of visibility, public access, unknown resources and ids: TEN, PUB, HO-1, NF, VER, WH-1."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import unquote_to_bytes

from sqlalchemy import Connection, select

from conformance.reference import objects, routes
from conformance.reference.call import Answer, Call, Refusal, success
from conformance.reference.policy import Handler, Policy, before_work, evolve, with_handler, with_status
from conformance.reference.registry import fault
from conformance.reference.tables import objects as rows


def _sees_all(policy: Policy, operation: str) -> Policy:
    def sees(call: Call, installation: str) -> bool:
        return call.operation == operation or policy.sees(call, installation)

    return evolve(policy, sees=sees)


@fault(
    "F051",
    requirement="TEN-1",
    title="foreign cart readable via checkout-quote",
    operations=("quotePublicCartCheckout",),
)
def foreign_cart(policy: Policy) -> Policy:
    return _sees_all(policy, "quotePublicCartCheckout")


@fault("F052", requirement="TEN-1", title="foreign webhook can be PATCHed", operations=("updateInstallationWebhook",))
def foreign_webhook(policy: Policy) -> Policy:
    return _sees_all(policy, "updateInstallationWebhook")


@fault("F055", requirement="PUB-1", title="search requires key", operations=("searchPublicProducts",))
def search_needs_key(policy: Policy) -> Policy:
    return evolve(policy, access={**policy.access, "searchPublicProducts": "key"})


@fault("F056", requirement="HO-1", title="hosted cancel requires key", operations=("cancelHostedCheckoutBrowser",))
def cancel_needs_key(policy: Policy) -> Policy:
    return evolve(policy, access={**policy.access, "cancelHostedCheckoutBrowser": "key"})


@fault(
    "F058",
    requirement="PUB-3",
    title="unknown slug answers 500",
    operations=("listPublicMerchantCategories", "listPublicMerchantProducts"),
)
def slug_is_500(policy: Policy) -> Policy:
    return with_status(policy, "unknown_merchant", 500)


@fault(
    "F059", requirement="NF-1", title="unknown cart answers 200 empty quote", operations=("quotePublicCartCheckout",)
)
def empty_quote(policy: Policy) -> Policy:
    def wrap(handler: Handler) -> Handler:
        def handle(call: Call, db: Connection) -> Answer:
            try:
                return handler(call, db)
            except Refusal as refusal:
                if refusal.kind != "not_found" or objects.get(db, call.resource) is not None:
                    raise
                totals = {"subtotal": 0, "discount": 0, "total": 0, "currency": "USD"}
                return success({"id": call.resource, "state": "open", "version": 1, "lines": [], "totals": totals})

        return handle

    return with_handler(policy, "quotePublicCartCheckout", wrap)


@fault("F062", requirement="NF-1", title="encoded slash/dot-dot id reaches other route")
def decoded_too_early(policy: Policy) -> Policy:
    """The whole path is decoded, normalized and then split."""

    def split_decoded(path: bytes) -> tuple[str, ...] | None:
        segments: list[bytes] = []
        for part in unquote_to_bytes(path).split(b"/"):
            if part == b"..":
                segments = segments[:-1]
            elif part not in (b"", b"."):
                segments.append(part)
        try:
            return tuple(part.decode() for part in segments)
        except UnicodeDecodeError:
            return None

    return evolve(policy, split=split_decoded)


@fault(
    "F171",
    requirement="VER-1",
    title="one stable route served only outside /api/v1",
    operations=("getPublicRuntimeConfig",),
)
def unversioned_route(policy: Policy) -> Policy:
    return evolve(
        policy, routes={**policy.routes, "getPublicRuntimeConfig": routes.Route("GET", "/api/runtime-config")}
    )


_BY_ID = (
    "quotePublicCartCheckout",
    "removePublicCartPromotion",
    "checkoutPublicCart",
    "quotePublicCart",
    "revokePublicCart",
    "getStorefrontOrderAfterSalesEligibility",
    "getStorefrontOrderCancellationEligibility",
    "requestStorefrontOrderAfterSales",
    "consumeHostedCheckoutBrowserTicket",
    "cancelHostedCheckoutBrowser",
)


@fault(
    "F805",
    requirement="NF-1",
    title="an id with an apostrophe is answered with 500",
    operations=_BY_ID,
    source="CWE-89: an id within the quotes of a statement",
)
def apostrophe_crashes(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if "'" in call.resource:
            raise ValueError("unterminated quoted string")

    return before_work(policy, look, *_BY_ID)


@fault(
    "F859",
    requirement="NF-1",
    title="a checkout quote for an id with an apostrophe is answered with 500",
    operations=("quotePublicCartCheckout",),
    source="CWE-89: one query of many that is put together from text",
)
def apostrophe_crashes_one(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if "'" in call.resource:
            raise ValueError("unterminated quoted string")

    return before_work(policy, look, "quotePublicCartCheckout")


_MOMENT_S = 0.005


@fault(
    "F887",
    requirement="WH-1",
    title="of two creates at once the second one is answered the id of the first",
    operations=("updateInstallationWebhook",),
    source="the id of the last row, which is asked for on another connection than the one that wrote it",
)
def id_of_another_create(policy: Policy) -> Policy:
    last: dict[str, Any] = {"at": 0.0, "id": ""}

    def wrap(inner: Handler) -> Handler:
        def create(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            if not isinstance(answer.value, dict):
                return answer
            data = answer.value["data"]
            if time.monotonic() < last["at"] + _MOMENT_S:
                return evolve(answer, value={**answer.value, "data": {**data, "id": last["id"]}})
            last.update(at=time.monotonic(), id=data["id"])
            return answer

        return create

    return with_handler(policy, "createInstallationWebhook", wrap)


@fault(
    "F893",
    requirement="NF-1",
    title="an id is a pattern of the order",
    operations=("getStorefrontOrderCancellationEligibility",),
    source="WHERE id LIKE ?, kept from a search (CWE-155, improper neutralization of wildcards)",
)
def id_is_a_pattern(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> Call:
        name = call.resource
        known = select(rows.c.id).where(rows.c.id.like(name)).where(rows.c.installation == call.installation)
        found = None if objects.get(db, name) else db.execute(known).scalar()
        return evolve(call, path={"orderId": found}) if found else call

    return before_work(policy, look, "getStorefrontOrderCancellationEligibility")


@fault(
    "X86",
    requirement="NF-1",
    title="an endpoint is found by the beginning of its id",
    operations=("updateInstallationWebhook",),
    source="LIKE with a wildcard behind the id, or ids that a person may abbreviate",
)
def id_by_prefix(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> Call | None:
        found = db.execute(select(rows.c.id).where(rows.c.id.startswith(call.path["id"], autoescape=True))).first()
        return evolve(call, path={"id": found.id}) if found else None

    return before_work(policy, look, "updateInstallationWebhook")


@fault(
    "X195",
    requirement="SCO-2",
    title="an endpoint is found by the key that has created it alone",
    operations=("updateInstallationWebhook",),
    source="a row's owner that is the credential, where it should be the installation",
)
def endpoint_of_its_key(policy: Policy) -> Policy:
    makers: dict[str, str] = {}

    def wrap(handler: Handler) -> Handler:
        def create(call: Call, db: Connection) -> Answer:
            answer = handler(call, db)
            makers[answer.value["data"]["id"]] = call.caller.name if call.caller else ""
            return answer

        return create

    def look(call: Call, _db: Connection) -> None:
        if call.caller and makers.get(call.resource, call.caller.name) != call.caller.name:
            raise Refusal("not_found", "There is no such resource.")

    return before_work(with_handler(policy, "createInstallationWebhook", wrap), look, "updateInstallationWebhook")
