"""The base policy: the reference service's own choices where the interface says "not shown"."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.reference import (
    authentication,
    carts,
    catalogue,
    dpop,
    hosted,
    idempotency,
    installation,
    json_reader,
    limiter,
    oauth,
    objects,
    orders,
    pipeline,
    routes,
    schema,
    schemas,
    webhooks,
)
from conformance.reference.policy import (
    Handler,
    IdempotencyRules,
    LimitRules,
    OAuthRules,
    Policy,
    Reading,
    SearchRules,
)

HANDLERS: Mapping[str, Handler] = {
    "updateInstallationWebhook": webhooks.update,
    "createInstallationWebhook": webhooks.create,
    "listInstallationWebhookDeliveries": webhooks.list_deliveries,
    "getApiKeyIdentity": installation.identity,
    "getInstallationCredentialReadiness": installation.readiness,
    "getStorefrontOrderAfterSalesEligibility": orders.after_sales_eligibility,
    "getStorefrontOrderCancellationEligibility": orders.cancellation_eligibility,
    "requestStorefrontOrderAfterSales": orders.request_after_sales,
    "quotePublicCartCheckout": carts.checkout_quote,
    "removePublicCartPromotion": carts.remove_promotion,
    "checkoutPublicCart": carts.checkout,
    "quotePublicCart": carts.quote,
    "revokePublicCart": carts.revoke,
    "searchPublicProducts": catalogue.search,
    "listPublicMerchantCategories": catalogue.categories,
    "listPublicMerchantProducts": catalogue.products,
    "getPublicRuntimeConfig": catalogue.runtime_config,
    "exchangeOAuthToken": oauth.exchange,
    "consumeHostedCheckoutBrowserTicket": hosted.consume,
    "cancelHostedCheckoutBrowser": hosted.cancel,
}

LOCAL = frozenset(
    {
        "getApiKeyIdentity",
        "getInstallationCredentialReadiness",
        "searchPublicProducts",
        "listPublicMerchantCategories",
        "listPublicMerchantProducts",
        "getPublicRuntimeConfig",
    }
)

SCOPES: Mapping[str, str] = {
    "createInstallationWebhook": "webhooks:write",
    "updateInstallationWebhook": "webhooks:write",
    "listInstallationWebhookDeliveries": "webhooks:read",
    "getStorefrontOrderAfterSalesEligibility": "catalog:read",
    "getStorefrontOrderCancellationEligibility": "catalog:read",
    "requestStorefrontOrderAfterSales": "catalog:read",
    "checkoutPublicCart": "catalog:read",
    "quotePublicCart": "catalog:read",
    "revokePublicCart": "catalog:read",
    "quotePublicCartCheckout": "checkout:quote",
    "removePublicCartPromotion": "checkout:quote",
}
API_KEY_OPERATIONS = frozenset({*SCOPES, "getApiKeyIdentity", "getInstallationCredentialReadiness"})
ACCESS = {
    name: "key" if name in API_KEY_OPERATIONS else "dpop" if name == "exchangeOAuthToken" else "public"
    for name in HANDLERS
}

STATUSES: Mapping[str, int] = {
    # 400: the request does not match the public contract
    "missing_key": 400,
    "bad_key": 400,
    "missing_body": 400,
    "media_type": 400,
    "malformed": 400,
    "not_text": 400,
    "too_deep": 400,
    "out_of_range": 400,
    "unstorable": 400,
    "too_large": 400,
    "invalid": 400,
    "invalid_query": 400,
    "bad_id": 400,
    "unknown_client": 400,
    "bad_grant": 400,
    "spent_grant": 400,
    "bad_request": 400,
    # 401: authentication failed
    "no_credential": 401,
    "bad_credential": 401,
    "revoked_credential": 401,
    "missing_proof": 401,
    "bad_proof": 401,
    "use_dpop_nonce": 401,
    # 403: insufficient authorization scope
    "forbidden": 403,
    "foreign": 403,
    # 404: public resource not found
    "no_route": 404,
    "not_found": 404,
    "unknown_merchant": 404,
    "bad_ticket": 404,
    "no_promotion": 404,
    # 409: idempotency or state conflict
    "state_conflict": 409,
    "mismatch": 409,
    "in_flight": 409,
    # 429: rate limited
    "rate_limited": 429,
    # undeclared: only a defect answers so
    "internal": 500,
}

STATES: Mapping[str, frozenset[str]] = {
    "quotePublicCart": frozenset({"open", "quoted"}),
    "removePublicCartPromotion": frozenset({"open", "quoted"}),
    "checkoutPublicCart": frozenset({"quoted"}),
    "revokePublicCart": frozenset({"open", "quoted"}),
    "requestStorefrontOrderAfterSales": frozenset({"eligible"}),
    "consumeHostedCheckoutBrowserTicket": frozenset({"open"}),
    "cancelHostedCheckoutBrowser": frozenset({"open"}),
}

BASE = Policy(
    routes=routes.ROUTES,
    split=routes.split_path,
    unrouted=pipeline.answer_unrouted,
    handlers=HANDLERS,
    local=LOCAL,
    stages=pipeline.STAGES,
    access=ACCESS,
    authenticate=authentication.authenticate_key,
    scheme="required",
    scheme_case="any",
    public_credentials="ignored",
    scopes=SCOPES,
    permits=authentication.has_scope,
    sees=authentication.same_installation,
    unseen="not_found",
    id_grammar=False,
    reading=Reading(
        required=frozenset(schemas.REQUESTS),
        accepts=pipeline.accepts_json,
        parse=json_reader.read,
        schemas=schemas.REQUESTS,
        validate=schema.validate,
    ),
    idempotency=IdempotencyRules(
        operations=frozenset(schemas.REQUESTS),
        key=idempotency.header_key,
        namespace=idempotency.by_path,
        fingerprint=idempotency.by_content,
        run=idempotency.run_once,
        remembers=lambda status: status == 200,
        replay=idempotency.replay,
        on_mismatch=idempotency.refuse_mismatch,
    ),
    limits=LimitRules(
        limit=100_000, window_s=1.0, admit=limiter.admit, headers=limiter.retry_after, bucket=limiter.by_key
    ),
    search=SearchRules(
        required=("q", "locale", "market", "sort", "page", "pageSize"),
        defaults={},
        integer=catalogue.strict_integer,
        sorts=catalogue.SORTS,
        locales=catalogue.LOCALES,
        markets=catalogue.MARKETS,
        page_base=1,
        page_size_min=1,
        page_size_max=50,
        clamp=False,
        known_only=False,
        filters=("category", "merchant"),
        window=catalogue.plain_window,
        stock=catalogue.STOCK,
        q_max=200,
    ),
    oauth=OAuthRules(
        algorithms=dpop.ALGORITHMS,
        read_proof=dpop.read_proof,
        proof=dpop.CONDITIONS,
        grant=oauth.GRANT_CONDITIONS,
        issue=oauth.issue,
        headers=oauth.NO_STORE,
        clients=oauth.CLIENTS,
        check_client=oauth.is_known_client,
    ),
    states=STATES,
    state_refusals={"cart.unpromoted": "no_promotion"},
    guard=objects.guard,
    statuses=STATUSES,
    error=pipeline.error,
    media_type="application/json",
    error_media_type="application/json",
    merge=webhooks.merge,
    fresh_headers=("X-Request-Id",),
    counters={
        "removePublicCartPromotion": "absent",
        "consumeHostedCheckoutBrowserTicket": "not_found",
        "cancelHostedCheckoutBrowser": "log",
    },
)
