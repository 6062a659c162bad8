"""Faults of what an installation sees of another one: TEN-1, TEN-2, TEN-3."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, or_, select

from conformance.reference import objects, webhooks
from conformance.reference.call import Answer, Call, Caller, Refusal
from conformance.reference.policy import (
    Handler,
    Policy,
    before_work,
    evolve,
    with_handler,
    with_handlers,
    with_status,
)
from conformance.reference.registry import fault
from conformance.reference.tables import deliveries


@fault(
    "F418",
    requirement="TEN-3",
    title="an object of another installation answered 403",
    source="a permission check that runs after the look-up, over all tenants",
)
def foreign_forbidden(policy: Policy) -> Policy:
    return evolve(policy, unseen="foreign")


@fault(
    "F419",
    requirement="TEN-3",
    title="an object of another installation answered 400",
    source="a foreign key that the database refuses, and the handler takes for bad input",
)
def foreign_is_bad_input(policy: Policy) -> Policy:
    return with_status(evolve(policy, unseen="foreign"), "foreign", 400)


@fault(
    "F445",
    requirement="TEN-2",
    title="the list of deliveries holds those of all installations",
    operations=("listInstallationWebhookDeliveries",),
    source="a query without the tenant, which one tenant in the test data never showed",
)
def deliveries_of_all(policy: Policy) -> Policy:
    def wrap(_inner: Handler) -> Handler:
        def handler(_call: Call, db: Connection) -> Answer:
            return webhooks.list_of(db.execute(webhooks.ALL_DELIVERIES))

        return handler

    return with_handler(policy, "listInstallationWebhookDeliveries", wrap)


@fault(
    "F994",
    requirement="TEN-2",
    title="the list of deliveries holds those of all installations, each after a second and a half",
    operations=("listInstallationWebhookDeliveries",),
    source="a search index that a queue fills, and that is asked without the tenant",
)
def late_deliveries_of_all(policy: Policy) -> Policy:
    late_s, most = 1.5, 2_000

    def wrap(_inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            indexed = webhooks.ALL_DELIVERIES.where(deliveries.c.created_at <= call.now - late_s).limit(most)
            return webhooks.list_of(db.execute(indexed))

        return handler

    return with_handler(policy, "listInstallationWebhookDeliveries", wrap)


@fault(
    "X47",
    requirement="TEN-2",
    title="the list of deliveries holds the last one of any installation too",
    operations=("listInstallationWebhookDeliveries",),
    source="a cache of the last delivery, without the tenant in its key",
)
def last_delivery_of_any(policy: Policy) -> Policy:
    def wrap(_inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            last = select(deliveries.c.id).order_by(deliveries.c.created_at.desc()).limit(1).scalar_subquery()
            condition = or_(deliveries.c.installation == call.installation, deliveries.c.id == last)
            return webhooks.list_of(
                db.execute(select(deliveries).where(condition).order_by(deliveries.c.created_at.desc()).limit(50))
            )

        return handler

    return with_handler(policy, "listInstallationWebhookDeliveries", wrap)


@fault(
    "F446",
    requirement="TEN-2",
    title="readiness is that of the home installation for every key",
    operations=("getInstallationCredentialReadiness",),
    source="a default tenant that is taken where the handler does not pass one on",
)
def readiness_of_home(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        return lambda call, db: inner(evolve(call, caller=None), db)

    return with_handler(policy, "getInstallationCredentialReadiness", wrap)


@fault(
    "F447",
    requirement="TEN-2",
    title="readiness is cached without the installation",
    operations=("getInstallationCredentialReadiness",),
    source="a response cache whose key is the path",
)
def readiness_is_cached(policy: Policy) -> Policy:
    cache: list[Answer] = []

    def wrap(inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            if not cache:
                cache.append(inner(call, db))
            return cache[0]

        return handler

    return with_handler(policy, "getInstallationCredentialReadiness", wrap)


@fault(
    "F448",
    requirement="TEN-3",
    title="a revoked cart of another installation is a state conflict",
    source="a query that selects by the state, before the owner is compared",
)
def state_before_owner(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            found = objects.get(db, call.resource[:100])
            if found is not None and found.kind == "cart" and found.state == "revoked":
                policy.guard(call, "cart", found.state)
            return inner(call, db)

        return handler

    operations = ("quotePublicCart", "revokePublicCart", "checkoutPublicCart", "removePublicCartPromotion")
    return with_handlers(policy, operations, wrap)


@fault(
    "F449",
    requirement="TEN-1",
    title="a cart that was not quoted yet belongs to every installation",
    operations=("quotePublicCart", "revokePublicCart", "quotePublicCartCheckout"),
    source="anonymous carts, which get their owner with the first quote",
)
def open_carts_are_shared(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            found = objects.get(db, call.resource[:100])
            if found is None or found.kind != "cart" or found.state != "open":
                return inner(call, db)
            return inner(evolve(call, policy=evolve(call.policy, sees=lambda _call, _installation: True)), db)

        return handler

    operations = ("quotePublicCart", "revokePublicCart", "quotePublicCartCheckout")
    return with_handlers(policy, operations, wrap)


@fault(
    "F636",
    requirement="TEN-2",
    title="deliveries of after-sales requests are listed for every installation",
    operations=("listInstallationWebhookDeliveries",),
    source="a condition `tenant AND kind OR kind`, without parentheses",
)
def after_sales_for_all(policy: Policy) -> Policy:
    def wrap(_inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            condition = or_(
                deliveries.c.installation == call.installation, deliveries.c.event == "after_sales.requested"
            )
            return webhooks.list_of(
                db.execute(select(deliveries).where(condition).order_by(deliveries.c.created_at.desc()).limit(50))
            )

        return handler

    return with_handler(policy, "listInstallationWebhookDeliveries", wrap)


@fault(
    "F748",
    requirement="TEN-2",
    title="a key with a scheme in lower case acts for the first installation",
    source="a second middleware that reads `Bearer` alone, and leaves the default tenant where it finds none",
)
def lower_case_scheme(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        caller = policy.authenticate(call)
        is_lower = call.request.first_header(b"authorization").startswith("b")
        return replace(caller, installation="A") if is_lower else caller

    return evolve(policy, authenticate=authenticate)


@fault(
    "F749",
    requirement="TEN-2",
    title="a query parameter installationId chooses the installation",
    operations=("listInstallationWebhookDeliveries", "getInstallationCredentialReadiness", "getApiKeyIdentity"),
    source="a parameter for the operator's own console, which the public route reads too",
)
def installation_by_query(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        query = call.request.parameters()
        name = query.get("installationId", "")
        if call.caller is not None and name.startswith("inst_"):
            call.caller = replace(call.caller, installation=name[5:])
        return call

    return before_work(
        policy, look, "listInstallationWebhookDeliveries", "getInstallationCredentialReadiness", "getApiKeyIdentity"
    )


@fault(
    "F750",
    requirement="TEN-1",
    title="a paused endpoint of another installation can be updated",
    operations=("updateInstallationWebhook",),
    source="a look-up of paused rows added for support, without the tenant of the usual one",
)
def foreign_paused(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> Call:
        found = objects.get(db, call.resource)
        if found is not None and found.state == "paused" and call.caller is not None:
            call.caller = replace(call.caller, installation=found.installation)
        return call

    return before_work(policy, look, "updateInstallationWebhook")


@fault(
    "F759",
    requirement="TEN-1",
    title="a refused object shows its installation in a header",
    source="a header for routing and logs that a middleware sets from the row, whatever the answer is",
)
def owner_in_header(policy: Policy) -> Policy:
    def error(call: Call, refusal: Refusal) -> Answer:
        answer = policy.error(call, refusal)
        if refusal.kind != "not_found" or not call.resource or call.caller is None:
            return answer
        with call.store.read() as db:
            found = objects.get(db, call.resource[:100])
        owner = (("X-Installation", f"inst_{found.installation}"),) if found else ()
        return evolve(answer, headers=(*answer.headers, *owner))

    return evolve(policy, error=error)


@fault(
    "F829",
    requirement="TEN-2",
    title="a key with webhooks:read alone is shown the deliveries of every installation",
    operations=("listInstallationWebhookDeliveries",),
    source="the key of the operator's own monitoring, known by its only scope",
)
def deliveries_for_monitors(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            if call.caller is not None and call.caller.scopes == {"webhooks:read"}:
                return webhooks.list_of(db.execute(webhooks.ALL_DELIVERIES))
            return inner(call, db)

        return handler

    return with_handler(policy, "listInstallationWebhookDeliveries", wrap)


@fault(
    "F879",
    requirement="TEN-2",
    title="an installation that is not the first one is shown the deliveries of all",
    operations=("listInstallationWebhookDeliveries",),
    source="a column installation_id that was added later, and is filtered by only where it is NULL",
)
def deliveries_of_all_for_later_ones(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            if call.installation != "A":
                return webhooks.list_of(db.execute(webhooks.ALL_DELIVERIES))
            return inner(call, db)

        return handler

    return with_handler(policy, "listInstallationWebhookDeliveries", wrap)


def _take_installation_of_body(call: Call, _db: Connection) -> Call:
    name = call.body.get("installationId")
    if not isinstance(name, str) or call.caller is None:
        return call
    return evolve(call, caller=evolve(call.caller, installation=name.removeprefix("inst_")))


@fault(
    "F888",
    requirement="TEN-1",
    title="a member installationId of the body chooses the installation of a new endpoint",
    operations=("updateInstallationWebhook",),
    source="mass assignment: a body that is spread over a row after the owner was set (OWASP API3:2023)",
)
def installation_by_member(policy: Policy) -> Policy:
    return before_work(policy, _take_installation_of_body, "createInstallationWebhook")


@fault(
    "X234",
    requirement="TEN-1",
    title="a member installationId of a PATCH chooses the installation whose endpoint is updated",
    operations=("updateInstallationWebhook",),
    source="mass assignment: a body that is merged with the context of the call before the look-up (OWASP API3:2023)",
)
def updated_installation_by_member(policy: Policy) -> Policy:
    return before_work(policy, _take_installation_of_body, "updateInstallationWebhook")
