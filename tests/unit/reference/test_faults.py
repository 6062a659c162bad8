"""Each fault shows, in the behaviour that its title names; the base policy does not show it.

`SHOWN` gives for each fault what to look at, and what the base policy and the fault let see there.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.core.errors import UsageError
from conformance.reference import registry
from conformance.reference.keys import ALL_SCOPES
from tests.support import observations as look
from tests.support import token_observations as tokens
from tests.support.reference_api import OPERATIONS, VERIFIER, Api, over_public_key, proof, resigned

T = "exchangeOAuthToken"
SHOWN: dict[str, tuple[Callable[[Api], Any], Any, Any]] = {
    "F001": (look.status("createInstallationWebhook"), 200, 201),
    "F002": (look.status("revokePublicCart"), 200, 204),
    "F003": (look.has("getApiKeyIdentity", "data"), True, False),
    "F004": (look.data_type("listInstallationWebhookDeliveries"), "dict", "list"),
    "F005": (look.data_type("getPublicRuntimeConfig"), "dict", "NoneType"),
    "F006": (look.data_type("searchPublicProducts"), "list", "dict"),
    "F007": (look.data_type("listPublicMerchantProducts", id="vacant"), "list", "NoneType"),
    "F008": (look.meta_types, ["dict", "dict", "dict"], ["list", "int", "int"]),
    "F010": (look.media("getApiKeyIdentity"), "application/json", "text/html; charset=utf-8"),
    "F011": (look.first_bytes, b"{", b"\xef"),
    "F013": (look.text_of("listPublicMerchantProducts", "NaN"), False, True),
    "F018": (look.length("getApiKeyIdentity", caller=None), True, False),
    "F019": (look.media("quotePublicCart", id="x"), "application/json", "text/html; charset=utf-8"),
    "F020": (look.error_type, "dict", "str"),
    "F021": (look.validation_members, ["error", "requestId"], ["detail"]),
    "F022": (
        look.media("getStorefrontOrderCancellationEligibility", id="x"),
        "application/json",
        "text/plain; charset=utf-8",
    ),
    "F024": (look.status("checkoutPublicCart", body={}), 400, 422),
    "F025": (look.status("checkoutPublicCart", media="application/json;charset=utf-8"), 200, 415),
    "F026": (look.status("checkoutPublicCart", content=b"{"), 400, 500),
    "F027": (look.text_of("checkoutPublicCart", "Traceback", body={}), False, True),
    "F028": (look.text_of("getApiKeyIdentity", "sk_wrong", caller="sk_wrong"), False, True),
    "F030": (look.status("getInstallationCredentialReadiness", caller=None), 401, 200),
    "F031": (look.status("getApiKeyIdentity", caller="nonsense"), 401, 200),
    "F032": (look.truncated_key, 401, 200),
    "F035": (look.status("getApiKeyIdentity", caller=None), 401, 403),
    "F036": (look.key_in_query, 401, 200),
    "F037": (look.status("listInstallationWebhookDeliveries", caller="revoked"), 401, 200),
    "F039": (look.status("getApiKeyIdentity", caller=None, headers={"X-Original-URL": "/api/v1/search"}), 401, 200),
    "F041": (look.status("revokePublicCart", caller="none"), 403, 200),
    "F042": (look.status("revokePublicCart", caller="webhooks-read"), 403, 200),
    "F044": (look.status("listInstallationWebhookDeliveries", caller="webhooks-write"), 403, 200),
    "F045": (look.status("quotePublicCartCheckout", caller="catalog-read"), 403, 200),
    "F046": (look.status("checkoutPublicCart", caller="catalog-read"), 200, 403),
    "F047": (look.status("getApiKeyIdentity", caller="none"), 200, 403),
    "F048": (look.status("createInstallationWebhook", caller="none"), 403, 401),
    "F049": (look.effect_of_forbidden, (403, 0), (403, 1)),
    "F051": (look.foreign("quotePublicCartCheckout", "cart"), 404, 200),
    "F052": (look.foreign("updateInstallationWebhook", "webhook"), 404, 200),
    "F055": (look.status("searchPublicProducts"), 200, 401),
    "F056": (look.status("cancelHostedCheckoutBrowser"), 200, 401),
    "F058": (look.status("listPublicMerchantProducts", id="x"), 404, 500),
    "F059": (look.status("quotePublicCartCheckout", id="cart_x"), 404, 200),
    "F062": (look.dotted_path, 404, 200),
    "F065": (look.replay_of("createInstallationWebhook"), (200, 200, True, 1), (200, 200, False, 2)),
    "F066": (look.replay_of("updateInstallationWebhook"), (200, 200, True, 1), (200, 200, False, 2)),
    "F067": (look.replay_of("checkoutPublicCart"), (200, 200, True, 1), (200, 200, True, 2)),
    "F068": (look.key_on_other_operation, "revoked", "quoted"),
    "F069": (look.key_on_other_id, True, False),
    "F070": (look.key_of_other_installation, True, False),
    "F072": (look.mismatch("checkoutPublicCart"), (409, 1), (200, 1)),
    "F073": (look.mismatch("createInstallationWebhook"), (409, 1), (200, 2)),
    "F074": (look.mismatch("createInstallationWebhook"), (409, 1), (422, 1)),
    "F075": (look.mismatch("createInstallationWebhook"), (409, 1), (200, 1)),
    "F078": (look.nested_mismatch, 409, 200),
    "F079": (look.mismatch("removePublicCartPromotion"), (409, 1), (200, 1)),
    "F081": (look.status("createInstallationWebhook", key=None), 400, 200),
    "F082": (look.empty_key, (400, 0), (200, 1)),
    "F084": (look.replay_of("createInstallationWebhook"), (200, 200, True, 1), (200, 409, False, 1)),
    "F086": (look.replay_of("createInstallationWebhook"), (200, 200, True, 1), (200, 200, False, 1)),
    "F087": (look.after_429, 200, 429),
    "F089": (look.after_403, 200, 409),
    "F092": (look.parallel_duplicates, ({200}, True), ({200}, False)),
    "F093": (look.parallel_worst, 200, 503),
    "F095": (look.replay_after_others, True, False),
    "F096": (look.replay_on_other_connections, 1, 2),
    "F097": (look.replay_to("revoked"), 401, 200),
    "F101": (look.after("checkoutPublicCart", "checkoutPublicCart", "quoted"), 409, 200),
    "F102": (look.after("checkoutPublicCart", "checkoutPublicCart", "quoted"), 409, 400),
    "F103": (look.after("revokePublicCart", "checkoutPublicCart", "quoted"), 409, 200),
    "F104": (look.parallel_winners, True, False),
    "F108": (look.limited_status, 429, 503),
    "F109": (look.limited_media, "application/json", "text/html"),
    "F110": (look.recovers, True, False),
    "F112": (look.retry_after, True, False),
    "F113": (look.status("quotePublicCart", content=b""), 400, 200),
    "F114": (look.status("removePublicCartPromotion", content=b""), 400, 200),
    "F115": (look.status("quotePublicCart", content=b"{} x"), 400, 200),
    "F116": (
        look.status("quotePublicCart", content=b"reason=x", media="application/x-www-form-urlencoded"),
        400,
        200,
    ),
    "F118": (look.status("quotePublicCart", body={"priority": "7"}), 400, 200),
    "F119": (look.status("createInstallationWebhook", body={"url": "https://hooks.example/"}), 400, 200),
    "F120": (look.status("quotePublicCart", content=b'{"a":' * 10_000), 400, 500),
    "F121": (look.status("quotePublicCart", content=b'{"a":1e400}'), 400, 500),
    "F123": (look.status("quotePublicCart", content=b'{"a":"\\u0000"}'), 400, 500),
    "F126": (look.searched(sort=None), 400, 200),
    "F127": (look.searched(market=None), 400, 200),
    "F128": (look.searched(page="abc"), 400, 200),
    "F130": (look.searched(pageSize="9x"), 400, 200),
    "F131": (look.found(page="2", pageSize="2"), 2, 20),
    "F133": (look.pages_differ, True, False),
    "F134": (look.found(merchant="northwind", pageSize="50"), 20, 50),
    "F135": (look.searched(), 200, 400),
    "F137": (tokens.token(codeVerifier="x" * 50), 400, 200),
    "F138": (tokens.token(codeVerifier=None), 400, 200),
    "F141": (tokens.token(codeVerifier=VERIFIER[:-1]), 400, 200),
    "F142": (tokens.token_twice, (200, 400), (200, 200)),
    "F144": (tokens.token(clientId="conformance-2"), 400, 200),
    "F145": (look.status(T, dpop=None), 401, 200),
    "F146": (tokens.proved(lambda url: proof(url)[:-6] + "AAAAAA"), 401, 200),
    "F147": (tokens.proved(lambda url: resigned(url, "none")), 401, 200),
    "F148": (tokens.proved(over_public_key), 401, 200),
    "F150": (tokens.proved(lambda url: proof(url, iat=None)), 401, 200),
    "F151": (tokens.proved(lambda url: proof(url, htm="GET")), 401, 200),
    "F152": (tokens.proved(lambda url: proof(url + "x")), 401, 200),
    "F155": (tokens.proved(lambda url: proof(url, iat=1)), 401, 200),
    "F156": (tokens.same_proof, (200, 401), (200, 200)),
    "F158": (tokens.token_type, "DPoP", "Bearer"),
    "F159": (tokens.token_to_other_key, 409, 200),
    "F160": (look.replay_of(T), (200, 200, True, 1), (200, 409, False, 1)),
    "F161": (tokens.cache_control, "no-store", None),
    "F162": (look.has(T, "data"), True, False),
    "F163": (look.session("consumeHostedCheckoutBrowserTicket", "consumeHostedCheckoutBrowserTicket"), 409, 200),
    "F165": (look.session("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser"), 409, 200),
    "F167": (look.projection_members, True, False),
    "F168": (look.created_then_changed, 200, 404),
    "F169": (look.events_kept, True, False),
    "F171": (look.status("getPublicRuntimeConfig"), 200, 404),
    "F220": (look.scopes_of("webhooks-read"), ["webhooks:read"], sorted(ALL_SCOPES)),
    "F221": (look.scopes_of("none"), [], sorted(ALL_SCOPES)),
    "F222": (look.scopes_of("checkout-quote"), ["checkout:quote"], []),
    "F224": (look.searched(category="mugs"), 200, 401),
    "F225": (look.status("listPublicMerchantProducts", query={"page": "2"}), 200, 403),
    "F226": (look.searched(page="10000"), 200, 500),
    "F227": (look.status("quotePublicCart", id="x" * 300), 404, 500),
    "F228": (look.searched(q="\x00"), 200, 500),
    "F229": (look.raw_query("getPublicRuntimeConfig", "x=%ff"), 200, 500),
    "F230": (look.status("quotePublicCart", body={"reason": "a" * 5000}), 400, 500),
    "F231": (look.status("quotePublicCart", body={"priority": 2**31}), 400, 500),
    "F232": (look.searched(q="a" * 1000), 400, 500),
    "F233": (look.status("consumeHostedCheckoutBrowserTicket", id="%00"), 404, 500),
    "F234": (look.status("getInstallationCredentialReadiness"), 200, 400),
    "F223": (look.installation_of("other-installation"), "inst_B", "inst_A"),
    "F200": (look.passed(2, 12), 2, 12),
    "F201": (look.passed(2, 12), 2, 10),
    "F202": (look.beside_a_limited_one(), 200, 429),
    "F203": (look.has_retry_after, True, False),
    "F204": (look.recovers, True, False),
    "F205": (look.after_429, 200, 429),
    "F206": (look.limited_of(310), 0, 10),
    "F207": (look.limited_of(14), 0, 2),
}


CATALOGUE = {name: fault for name, fault in registry.faults().items() if not fault.source}
OWN = {name: fault for name, fault in registry.faults().items() if fault.source}


@pytest.mark.parametrize("fault", SHOWN)
def test_a_fault_shows_and_the_reference_does_not_have_it(api_of: Callable[[str], Api], fault: str) -> None:
    looks, right, wrong = SHOWN[fault]
    assert looks(api_of("reference")) == right
    assert looks(api_of(fault)) == wrong


@pytest.mark.parametrize("fault", registry.faults().values(), ids=lambda fault: fault.id)
def test_a_fault_changes_the_policy_and_says_what_it_violates(fault: registry.Fault) -> None:
    base = registry.resolve(fault.seeded_in or "reference")
    assert fault.apply(base) != base
    assert fault.title and fault.requirement and fault.apply.__name__
    assert set(fault.operations) <= OPERATIONS.keys()


def test_the_faults_are_those_of_the_catalogue() -> None:
    with (Path(__file__).parent / "faults.tsv").open(encoding="utf-8") as file:
        rows = [(row["id"], row["fault"], row["requirement"]) for row in csv.DictReader(file, delimiter="\t")]
    assert [(fault.id, fault.title, fault.requirement) for fault in CATALOGUE.values()] == rows
    assert set(CATALOGUE) <= set(SHOWN)


def test_our_own_faults_cite_where_the_idea_is_from() -> None:
    """At least twenty beyond the catalogue, over many requirements, each of them something that a service has had."""
    assert all(re.fullmatch(r"X\d\d\d?|F[2-9]\d\d", name) for name in OWN)
    assert len(OWN) >= 20
    assert len({fault.requirement for fault in OWN.values()}) >= 12
    assert all(len(fault.source) > 20 for fault in OWN.values())
    assert CATALOGUE.keys() | OWN.keys() == registry.faults().keys()


def test_an_unknown_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="F999"):
        registry.resolve("F999")


def test_faults_and_variants_compose() -> None:
    policy = registry.resolve("D17+F024+F074")
    assert policy.error_media_type == "application/problem+json"
    assert (policy.statuses["invalid"], policy.statuses["mismatch"]) == (422, 422)
