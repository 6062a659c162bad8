"""The route table: 20 operations by method and path (interface, Endpoints). Paths are matched on raw segments.

Each segment is decoded after splitting, so that an encoded slash stays inside its segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    template: str

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.template.strip("/").split("/"))


CARTS = "/api/v1/open/storefront/carts/{cartId}"
ORDERS = "/api/v1/open/storefront/orders/{orderId}"
WEBHOOKS = "/api/v1/open/webhooks"
HOSTED = "/api/v1/hosted/checkout/{sessionId}"
MERCHANTS = "/api/v1/catalog/merchants/{slug}"

ROUTES: Mapping[str, Route] = {
    "updateInstallationWebhook": Route("PATCH", f"{WEBHOOKS}/endpoints/{{id}}"),
    "createInstallationWebhook": Route("POST", f"{WEBHOOKS}/endpoints"),
    "listInstallationWebhookDeliveries": Route("GET", f"{WEBHOOKS}/deliveries"),
    "getApiKeyIdentity": Route("GET", "/api/v1/open/identity"),
    "getInstallationCredentialReadiness": Route("GET", "/api/v1/open/installation/readiness"),
    "getStorefrontOrderAfterSalesEligibility": Route("GET", f"{ORDERS}/after-sales-eligibility"),
    "getStorefrontOrderCancellationEligibility": Route("GET", f"{ORDERS}/cancellation-eligibility"),
    "requestStorefrontOrderAfterSales": Route("POST", f"{ORDERS}/after-sales"),
    "quotePublicCartCheckout": Route("GET", f"{CARTS}/checkout-quote"),
    "removePublicCartPromotion": Route("DELETE", f"{CARTS}/promotion"),
    "checkoutPublicCart": Route("POST", f"{CARTS}/checkout"),
    "quotePublicCart": Route("POST", f"{CARTS}/quote"),
    "revokePublicCart": Route("POST", f"{CARTS}/revoke"),
    "searchPublicProducts": Route("GET", "/api/v1/search"),
    "listPublicMerchantCategories": Route("GET", f"{MERCHANTS}/categories"),
    "listPublicMerchantProducts": Route("GET", f"{MERCHANTS}/products"),
    "getPublicRuntimeConfig": Route("GET", "/api/v1/runtime-config"),
    "exchangeOAuthToken": Route("POST", "/api/v1/oauth/token"),
    "consumeHostedCheckoutBrowserTicket": Route("POST", f"{HOSTED}/ticket"),
    "cancelHostedCheckoutBrowser": Route("POST", f"{HOSTED}/cancel"),
}


def split_path(path: bytes) -> tuple[str, ...] | None:
    """The decoded segments of a raw path; None where one is empty, not UTF-8 or contains NUL."""
    try:
        segments = tuple(unquote_to_bytes(part).decode() for part in path.removeprefix(b"/").split(b"/"))
    except UnicodeDecodeError:
        return None
    return None if any(not segment or "\x00" in segment for segment in segments) else segments


_Pattern = tuple[tuple[str, str], ...]
"""For each segment (literal, "") or ("", parameter name)."""


class Router:
    """A compiled route table."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._table: dict[int, list[tuple[str, str, _Pattern]]] = {}
        for operation, route in routes.items():
            pattern = tuple(("", part[1:-1]) if part.startswith("{") else (part, "") for part in route.segments)
            self._table.setdefault(len(pattern), []).append((route.method, operation, pattern))

    def match(self, method: str, segments: tuple[str, ...]) -> tuple[str, Mapping[str, str]] | None:
        """The operation of a request and its path parameters; HEAD is matched as GET. None without a match."""
        route_method = "GET" if method == "HEAD" else method
        for known_method, operation, pattern in self._table.get(len(segments), ()):
            if known_method == route_method and _fits(pattern, segments):
                return operation, {name: segment for (_, name), segment in zip(pattern, segments, strict=True) if name}
        return None

    def methods(self, segments: tuple[str, ...]) -> tuple[str, ...]:
        """The methods of a path."""
        return tuple(method for method, _, pattern in self._table.get(len(segments), ()) if _fits(pattern, segments))


def _fits(pattern: _Pattern, segments: tuple[str, ...]) -> bool:
    return all(name or literal == segment for (literal, name), segment in zip(pattern, segments, strict=True))
