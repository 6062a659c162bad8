"""Each placeholder of a profile has a value, or doctor names its place."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from conformance.engine.in_process import merge_patch
from conformance.profile.loader import profile_from_document
from conformance.profile.model import Profile
from conformance.runner.embedded_reference import bundled_profiles
from conformance.setup.doctor.placeholders import facts_of, places

CONSTANTS = {
    "unique": "r1-000001",
    "pkce.verifier": "v",
    "pkce.challenge": "c",
    "pkce.method": "S256",
    "oauth.code_age_s": 0,
    "oauth.client_id": "conformance",
    "oauth.redirect_uri": "https://client.example/callback",
    "dpop.jkt": "j",
}
MEMBERS: Mapping[str, Mapping[str, Any]] = {
    **{f"cart.{state}": {"id": f"cart_{state}"} for state in ("open", "quoted", "promoted", "checked_out", "revoked")},
    **{f"order.{state}": {"id": "order_1", "lineId": "line_1"} for state in ("eligible", "requested", "ineligible")},
    "webhook.active": {"id": "wh_1"},
    **{f"session.{state}": {"id": "s_1", "ticket": "t_1"} for state in ("open", "consumed", "cancelled")},
    "merchant.stocked": {"slug": "northwind"},
    "merchant.empty": {"slug": "vacant"},
    "oauth.code": {"code": "code_1"},
}


def profile(patch: Mapping[str, Any]) -> Profile:
    """The reference's profile, changed."""
    document = tomllib.loads((bundled_profiles() / "reference.toml").read_text(encoding="utf-8"))
    return profile_from_document(merge_patch(document, patch), directory=bundled_profiles())


def test_the_profile_of_the_reference_has_a_value_for_each() -> None:
    facts = facts_of(profile({}), MEMBERS, CONSTANTS)
    assert [(fact.name, fact.state) for fact in facts] == [("placeholders", "proven")], facts


def test_every_template_of_an_operation_is_a_place() -> None:
    keys = {place.key for place in places(profile({}))}
    assert {"operations.quotePublicCart.body", "operations.quotePublicCart.bodies[0]"} <= keys
    assert {"operations.quotePublicCart.path.cartId", "operations.quotePublicCart.unknown.cartId"} <= keys
    assert {"effects.createInstallationWebhook[1]", "effects.revokePublicCart", "fixtures.oauth.code"} <= keys
    assert {"search.query.q", "webhooks.patch"} <= keys


_URL = "https://hooks.example/{{unique}}"
WRONG: dict[str, tuple[Mapping[str, Any], str, str]] = {
    # what is wrong: the patch of the profile, the place, and a part of the message
    "a member that no fixture has": (
        {"operations": {"checkoutPublicCart": {"path": {"cartId": "{cart.quoted.number}"}}}},
        "operations.checkoutPublicCart.path.cartId",
        "{cart.quoted.number} has no value",
    ),
    "a member of another kind": (
        {"operations": {"quotePublicCart": {"body": {"reason": "{order.comment}"}}}},
        "operations.quotePublicCart.body",
        "{order.comment} has no value",
    ),
    "a further body": (
        {"operations": {"revokePublicCart": {"bodies": [{"reason": "a"}, {"reason": "{cart.reason}"}]}}},
        "operations.revokePublicCart.bodies[1]",
        "{cart.reason} has no value",
    ),
    "a header": (
        {"operations": {"revokePublicCart": {"headers": {"X-Cart": "{cart.name}"}}}},
        "operations.revokePublicCart.headers.X-Cart",
        "{cart.name} has no value",
    ),
    "a query": ({"search": {"query": {"q": "{merchant.title}"}}}, "search.query.q", "{merchant.title} has no value"),
    "a sign": (
        {"effects": {"updateInstallationWebhook": {"http": {"url": "http://127.0.0.1:1/{webhook.number}"}}}},
        "effects.updateInstallationWebhook",
        "{webhook.number} has no value",
    ),
    "braces written twice": (
        {"operations": {"createInstallationWebhook": {"bodies": [{"url": _URL, "events": []}]}}},
        "operations.createInstallationWebhook.bodies[0]",
        "the same each time",
    ),
    "braces of a fixture's member written twice": (
        {"operations": {"quotePublicCart": {"path": {"cartId": "{{cart.open.id}}"}}}},
        "operations.quotePublicCart.path.cartId",
        "no placeholder",
    ),
    "a sign by what no request has": (
        {"effects": {"revokePublicCart": {"http": {"url": "http://127.0.0.1:1/?marker={unique}"}}}},
        "effects.revokePublicCart",
        "no request of revokePublicCart has it",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_place_and_a_remedy(name: str) -> None:
    patch, key, message = WRONG[name]
    facts = facts_of(profile(patch), MEMBERS, CONSTANTS)
    assert [(fact.name, fact.state) for fact in facts] == [(key, "wrong")], facts
    assert message in facts[0].message
    assert facts[0].advice


@pytest.mark.parametrize("nothing", ["", [], {}])
def test_a_value_that_is_nothing_is_named_wherever_it_stands(nothing: Any) -> None:
    facts = facts_of(profile({}), {**MEMBERS, "session.open": {"id": "s_1", "ticket": nothing}}, CONSTANTS)
    assert {fact.name for fact in facts} == {
        f"operations.{name}.{table}"
        for name in ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")
        for table in ("body", "bodies[0]")
    }
    assert all("renders to nothing" in fact.message for fact in facts)


def test_a_number_of_nought_is_a_value() -> None:
    """An id may be 0, and a code's age is 0 s by default."""
    facts = facts_of(profile({}), {**MEMBERS, "cart.open": {"id": 0}}, CONSTANTS)
    assert [fact.state for fact in facts] == ["proven"]


def test_the_members_of_a_fixture_that_could_not_be_provided_are_not_judged() -> None:
    """That fixture has a fact of its own."""
    facts = facts_of(profile({}), {}, CONSTANTS)
    assert [fact.state for fact in facts] == ["proven"]
