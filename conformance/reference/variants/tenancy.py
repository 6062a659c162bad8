"""Legitimate forms of what an installation is shown of itself, and of how another one's objects are stated."""

from __future__ import annotations

import time
from typing import Final

from sqlalchemy import Connection

from conformance.reference import objects
from conformance.reference.call import Answer, Call, Caller, Refusal
from conformance.reference.pipeline import execute
from conformance.reference.policy import Policy, Waits, before_work, evolve, with_shape, with_stage
from conformance.reference.registry import variant

_TELLS_OF_CALLER = ("getInstallationCredentialReadiness", "getApiKeyIdentity")
_OPEN_SCHEMAS = {
    "InstallationCredentialReadinessResponse": "OpenOperationResponse",
    "ApiKeyIdentityResponse": "OtherIdentityResponse",
}


@variant(
    "V362",
    requirement="TEN-1",
    title="another installation's carts are stated in states of their own only",
    profile={"fixtures": {"cart": {"foreign": None}}},
)
def foreign_states_only(policy: Policy) -> Policy:
    return policy


@variant(
    "V363",
    requirement="TEN-2",
    title="readiness does not name the installation",
    profile={
        "schemas": {"names": _OPEN_SCHEMAS},
        "tenancy": {"installation_in_readiness": {"none": "it is not named"}},
    },
)
def readiness_without_installation(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        data = {name: value for name, value in answer.value["data"].items() if name != "installationId"}
        return evolve(answer, value={**answer.value, "data": data})

    return with_shape(policy, shaper, "getInstallationCredentialReadiness")


@variant("V364", requirement="TEN-2", title="only deliveries that were tried are listed")
def tried_deliveries_only(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        deliveries = [item for item in answer.value["data"]["deliveries"] if item["state"] != "skipped"]
        return evolve(answer, value={**answer.value, "data": {"deliveries": deliveries}})

    return with_shape(policy, shaper, "listInstallationWebhookDeliveries")


@variant(
    "V365",
    requirement="TEN-2",
    title="readiness and identity show the time in seconds, and a mode that is the same for some installations",
    profile={"schemas": {"names": _OPEN_SCHEMAS}},
)
def times_and_modes(policy: Policy) -> Policy:
    """The mode of identity is the key's, that of readiness the installation's: one name for two things."""

    def shaper(call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(call.now))
        mode = "live" if call.operation != "getApiKeyIdentity" or call.installation == "A" else "test"
        return evolve(answer, value={**answer.value, "data": {**answer.value["data"], "checkedAt": at, "mode": mode}})

    return with_shape(policy, shaper, *_TELLS_OF_CALLER)


@variant("V551", requirement="TEN-3", title="whether a line is one of the order is looked up before whose order it is")
def lines_before_owners(policy: Policy) -> Policy:
    def look_up(call: Call, db: Connection) -> None:
        order = objects.get(db, call.resource[:100])
        if order is None or order.kind != "order":
            return
        if not {item["lineId"] for item in call.body["items"]} <= {line["lineId"] for line in order.data["lines"]}:
            raise Refusal("invalid", "A line is not of this order.")

    return before_work(policy, look_up, "requestStorefrontOrderAfterSales")


@variant(
    "V552",
    requirement="TEN-2",
    title="deliveries are the rows of a table",
    profile={
        "schemas": {"names": {"OperationResponse": "OpenOperationResponse"}},
        "answers": {"further_members": "allowed"},
    },
)
def deliveries_in_rows(policy: Policy) -> Policy:
    columns = ["id", "endpointId", "event", "state", "attempts", "createdAt"]

    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        rows = [[item[column] for column in columns] for item in answer.value["data"]["deliveries"]]
        return evolve(answer, value={**answer.value, "data": {"columns": columns, "rows": rows}})

    return with_shape(policy, shaper, "listInstallationWebhookDeliveries")


_READINESS_S: Final = 0.3


@variant(
    "V554",
    requirement="TEN-2",
    title="readiness takes 0.3 seconds and shows the time in seconds, the same to all keys of an installation",
    profile={"schemas": {"names": _OPEN_SCHEMAS}},
)
def slow_readiness(policy: Policy) -> Policy:
    def wait(call: Call) -> Waits | None:
        return iter([_READINESS_S]) if call.operation == "getInstallationCredentialReadiness" else None

    return with_stage(times_and_modes(policy), wait, before=execute)


@variant("V580", requirement="TEN-1", title="an after-sales request names lines of its order, and any other is refused")
def lines_of_the_order(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        order = objects.get(db, call.path["orderId"][:100])
        if order is None or (order.kind, order.installation) != ("order", call.installation):
            return  # the work itself refuses it
        lines = {line["lineId"] for line in order.data["lines"]}
        if any(item["lineId"] not in lines for item in call.body["items"]):
            raise Refusal("invalid", "The order has no such line.")

    return before_work(policy, look, "requestStorefrontOrderAfterSales")


_IN_USE_S: Final = 0.3


@variant("V675", requirement="TEN-3", title="a cart is locked against other installations 0.3 seconds after each call")
def carts_in_use(policy: Policy) -> Policy:
    """The lock has the cart's id, and is taken before it is looked whose cart it is."""
    carts = ("quotePublicCart", "removePublicCartPromotion", "checkoutPublicCart", "revokePublicCart")
    locks: dict[str, tuple[float, str]] = {}

    def look(call: Call) -> None:
        free_at, holder = locks.get(call.path.get("cartId", ""), (0.0, ""))
        if call.operation in carts and time.monotonic() < free_at and call.installation != holder:
            raise Refusal("state_conflict", "The cart is in use.")

    def hold(call: Call, answer: Answer) -> Answer:
        if answer.status == 200:
            locks[call.path["cartId"]] = time.monotonic() + _IN_USE_S, call.installation
        return answer

    return with_shape(with_stage(policy, look, before=execute), hold, *carts)


_HEADERS: Final = (b"x-installation-id", b"x-installation", b"x-tenant-id", b"x-tenant")
_MEMBERS: Final = ("installationId", "installation_id", "installation", "tenantId", "tenant_id", "tenant")


@variant("V686", requirement="TEN-1", title="a header that names another installation than the key's is answered 403")
def headers_must_fit(policy: Policy) -> Policy:
    def look(call: Call) -> None:
        names = {name for header in _HEADERS for name in call.request.header_values(header)}
        if call.caller is not None and names - {f"inst_{call.installation}"}:
            raise Refusal("forbidden", "The API key is of another installation.")

    return with_stage(policy, look, before=execute)


def _members_must_fit(policy: Policy, kind: str, operation: str) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        names = {call.body[name] for name in _MEMBERS if isinstance(call.body.get(name), str)}
        if names - {f"inst_{call.installation}"}:
            raise Refusal(kind, "The API key is of another installation.")

    return before_work(policy, look, operation)


@variant(
    "V687", requirement="TEN-1", title="an update whose body names another installation than the key's answers 404"
)
def updates_must_fit(policy: Policy) -> Policy:
    return _members_must_fit(policy, "not_found", "updateInstallationWebhook")


@variant("V689", requirement="TEN-1", title="a new endpoint whose body names another installation answers 400")
def new_endpoints_must_fit(policy: Policy) -> Policy:
    return _members_must_fit(policy, "invalid", "createInstallationWebhook")


@variant(
    "V682",
    requirement="SCO-1",
    title="keys of the second installation have some scopes only, too",
    profile={
        "credentials": {
            "webhooks-read": {"installation": "B"},
            "checkout-quote": {"installation": "B"},
        }
    },
)
def keys_of_both(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        caller = policy.authenticate(call)
        is_moved = caller.name in ("webhooks-read", "checkout-quote")
        return evolve(caller, installation="B") if is_moved else caller

    return evolve(policy, authenticate=authenticate)
