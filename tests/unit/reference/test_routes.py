"""Every operation works, refuses what it must, and its state machines hold."""

from __future__ import annotations

import httpx
import pytest

from conformance.reference.routes import ROUTES
from tests.support.reference_api import KEYED, OPERATIONS, QUERY, WRITES, Api, fresh

LISTS = {"searchPublicProducts", "listPublicMerchantCategories", "listPublicMerchantProducts"}
SCOPES = {"webhooks-write", "webhooks-read", "catalog-read", "checkout-quote"}
NEEDED = {
    "createInstallationWebhook": "webhooks-write",
    "updateInstallationWebhook": "webhooks-write",
    "listInstallationWebhookDeliveries": "webhooks-read",
    "quotePublicCartCheckout": "checkout-quote",
    "removePublicCartPromotion": "checkout-quote",
}
UNKNOWN = "0" * 20


def test_there_are_twenty_operations() -> None:
    assert OPERATIONS.keys() == ROUTES.keys()
    assert len(ROUTES) == 20


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_good_request_is_answered_200_with_data(api: Api, operation: str) -> None:
    answer = api.send(operation)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert isinstance(answer.json()["data"], list if operation in LISTS else dict)


@pytest.mark.parametrize("operation", KEYED)
def test_authentication_fails_with_401(api: Api, operation: str) -> None:
    ready = api.prepare(operation)
    secret = api.server.credentials["full"]
    for caller in (None, "", "x" * len(secret), secret[:-1], secret[:-1] + "!", "revoked"):
        answer = api.raw(operation, **{**ready, "caller": caller})
        assert (caller, answer.status_code) == (caller, 401)
        assert "www-authenticate" in answer.headers
    assert api.raw(operation, **ready).status_code == 200


@pytest.mark.parametrize("operation", KEYED)
def test_exactly_the_named_scope_suffices(api: Api, operation: str) -> None:
    free = operation in ("getApiKeyIdentity", "getInstallationCredentialReadiness")
    allowed = SCOPES | {"none"} if free else {NEEDED.get(operation, "catalog-read")}
    for caller in sorted(SCOPES | {"none"}):
        assert (caller, api.status(operation, caller=caller)) == (caller, 200 if caller in allowed else 403)


@pytest.mark.parametrize("operation", [name for name, known in OPERATIONS.items() if known.fixture])
def test_unknown_things_are_404(api: Api, operation: str) -> None:
    ready = api.prepare(operation)
    for unknown in ("nothing", ready["id"][:-1], "..%2fidentity", "%00", "%ff", "a" * 3000, "..", "%2e%2e", "a%2fb"):
        assert (unknown, api.raw(operation, **{**ready, "id": unknown}).status_code) == (unknown, 404)


@pytest.mark.parametrize("operation", ["quotePublicCartCheckout", "updateInstallationWebhook", "checkoutPublicCart"])
def test_things_of_another_installation_are_hidden(api: Api, operation: str) -> None:
    ready = api.prepare(operation)
    assert api.raw(operation, **{**ready, "caller": "other-installation"}).status_code == 404
    assert api.raw(operation, **ready).status_code == 200


def test_a_cart_goes_from_open_over_quoted_to_checked_out(api: Api) -> None:
    cart = api.make("cart", "open")["id"]
    assert api.status("checkoutPublicCart", id=cart) == 409
    assert api.status("quotePublicCart", id=cart) == 200
    assert api.status("quotePublicCart", id=cart) == 200
    assert api.status("checkoutPublicCart", id=cart) == 200
    for operation in ("checkoutPublicCart", "quotePublicCart", "revokePublicCart"):
        assert (operation, api.status(operation, id=cart)) == (operation, 409)
    assert api.status("removePublicCartPromotion", id=cart) == 404
    assert api.send("quotePublicCartCheckout", id=cart).json()["data"]["state"] == "checked_out"


def test_a_revoked_cart_stays_revoked(api: Api) -> None:
    cart = api.make("cart", "quoted")["id"]
    assert api.status("revokePublicCart", id=cart) == 200
    for operation in ("checkoutPublicCart", "quotePublicCart", "revokePublicCart"):
        assert (operation, api.status(operation, id=cart)) == (operation, 409)


def test_a_promotion_is_removed_once_and_changes_the_total(api: Api) -> None:
    cart = api.make("cart", "promoted")["id"]
    before = api.send("quotePublicCartCheckout", id=cart).json()["data"]["totals"]
    assert api.status("removePublicCartPromotion", id=cart) == 200
    assert api.status("removePublicCartPromotion", id=cart) == 404
    after = api.send("quotePublicCartCheckout", id=cart).json()["data"]["totals"]
    assert (before["discount"], after["discount"]) == (730, 0)


def test_after_sales_are_requested_once_and_end_the_eligibility(api: Api) -> None:
    order = api.send("checkoutPublicCart").json()["data"]["orderId"]
    assert api.send("getStorefrontOrderAfterSalesEligibility", id=order).json()["data"]["eligible"] is True
    assert api.status("requestStorefrontOrderAfterSales", id=order) == 200
    assert api.status("requestStorefrontOrderAfterSales", id=order) == 409
    assert api.send("getStorefrontOrderAfterSalesEligibility", id=order).json()["data"]["eligible"] is False
    assert api.send("getStorefrontOrderCancellationEligibility", id=order).json()["data"]["eligible"] is False


def test_a_ticket_is_good_once_for_its_own_session(api: Api) -> None:
    one, two = api.make("session", "open"), api.make("session", "open")
    crossed = {"id": one["id"], "body": {"ticket": two["ticket"]}}
    own = {"id": one["id"], "body": {"ticket": one["ticket"]}}
    assert api.status("consumeHostedCheckoutBrowserTicket", **crossed) == 404
    assert api.status("consumeHostedCheckoutBrowserTicket", **own) == 200
    assert api.status("consumeHostedCheckoutBrowserTicket", **own) == 409
    assert api.status("cancelHostedCheckoutBrowser", **own) == 409


def test_a_created_endpoint_can_be_changed_and_keeps_the_rest(api: Api) -> None:
    made = api.send("createInstallationWebhook").json()["data"]
    changed = api.send("updateInstallationWebhook", id=made["id"], body={"description": "d"}).json()["data"]
    assert changed == {**{n: v for n, v in made.items() if n != "secret"}, "description": "d", "version": 2}


@pytest.mark.parametrize("name", QUERY)
def test_each_search_parameter_is_required(api: Api, name: str) -> None:
    assert api.status("searchPublicProducts", query={k: v for k, v in QUERY.items() if k != name}) == 400
    assert api.status("searchPublicProducts", query={**QUERY, name: " "}) == 400


@pytest.mark.parametrize("value", ["abc", "1.5", "NaN", "9x", "+1", "1.0", "", "٣", "-1", "9" * 30, "0x1", "1 "])
@pytest.mark.parametrize("name", ["page", "pageSize"])
def test_page_and_size_are_strict_integers(api: Api, name: str, value: str) -> None:
    assert api.status("searchPublicProducts", query={**QUERY, name: value}) == 400


def test_search_pages_filters_and_sorts(api: Api) -> None:
    def ids(**changes: str) -> list[str]:
        return [item["id"] for item in api.send("searchPublicProducts", query={**QUERY, **changes}).json()["data"]]

    pages = [ids(page=str(page), pageSize="7") for page in range(1, 10)]
    assert [len(page) for page in pages] == [7] * 8 + [4]
    assert len({item for page in pages for item in page}) == 60
    items = api.send("searchPublicProducts", query={**QUERY, "category": "shoes", "merchant": "northwind"}).json()[
        "data"
    ]
    assert {(item["category"], item["merchant"]) for item in items} == {("shoes", "northwind")}
    assert ids(sort="price_asc") != ids(sort="price_desc")


def test_an_empty_store_has_an_empty_list(api: Api) -> None:
    assert api.send("listPublicMerchantProducts", id="vacant").json()["data"] == []


@pytest.mark.parametrize("operation", WRITES)
def test_a_body_is_required_and_must_be_valid_json(api: Api, operation: str) -> None:
    ready = api.prepare(operation)
    for content in (b"", b"{", b"[]", b"null", b'"x"', b"{} x", b"a=b", b"\xef\xbb\xbf{}", b'{"a":NaN}'):
        answer = api.raw(operation, **{**ready, "content": content, "key": fresh(), "body": None})
        assert (content, answer.status_code) == (content, 400)
    form = {**ready, "media": "application/x-www-form-urlencoded", "key": fresh()}
    assert api.raw(operation, **form).status_code == 400
    assert api.raw(operation, **{**ready, "media": None}).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE", "POST"])
def test_no_such_route_is_a_404_in_the_error_shape(api: Api, http: httpx.Client, method: str) -> None:
    for path in ("/api/v1/runtime-config", "/api/v2/search", "/", "/api/v1//search", "/api/v1/runtime-config/"):
        answer = http.request(method, api.base + path)
        assert answer.status_code == 404
        assert answer.json().keys() == {"error", "requestId"}
