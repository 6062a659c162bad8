"""Requests out of profile facts: what is filled in and drawn, which credential, and which missing fact is named."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from conformance.client.dpop import challenge_of
from conformance.client.fixtures import Fixtures
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import NO_BODY, Request
from conformance.client.request_builder import Arranger, MissingFact
from conformance.contract import load_contract
from conformance.profile.behavior import Authorization, Idempotency, OAuth, RateLimit, Search
from conformance.profile.model import Credential, Profile, Schemas, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.values import replace

CONTRACT = load_contract()
OPERATIONS = CONTRACT.operations
SCOPES = frozenset({"webhooks:write", "webhooks:read", "catalog:read", "checkout:quote"})


def credential(name: str, *scopes: str, installation: str = "A", status: str = "active") -> Credential:
    return Credential(name, SecretSource(env="X"), frozenset(scopes), installation, status)


CREDENTIALS = {
    c.name: c
    for c in (
        credential("revoked", *SCOPES, status="revoked"),
        credential("narrow", "catalog:read"),
        credential("full", *SCOPES),
        credential("spare", *SCOPES),
        credential("foreign", *SCOPES, "more", installation="B"),
    )
}
FIXTURES = {
    "cart": {
        "open": Fixture("cart", "open", values=tuple({"id": number, "tag": f"t{number}"} for number in range(9))),
        "quoted": Fixture("cart", "quoted", values=({"id": "q"},), reusable=True),
    },
    "session": {
        "open": Fixture("session", "open", values=({"id": "s1", "ticket": "ticket-0123456789"},), reusable=True)
    },
    "oauth": {"code": Fixture("oauth", "code", values=({"code": "code-0123456789abc"},), reusable=True)},
}
PROFILE = Profile(
    name="p",
    base_url="http://127.0.0.1:1",
    authorization=Authorization("ApiKey {key}!"),
    credentials=CREDENTIALS,
    idempotency=Idempotency("header", name="Idempotency-Key"),
    fixtures=FIXTURES,
    operations={
        "quotePublicCart": OperationFacts(
            body={"id": "{cart.id}", "text": "cart {cart.id}", "deep": [{"tag": "{cart.tag}"}], "run": "{unique}"},
            path={"cartId": "{cart.id}"},
            headers={"X-Run": "{unique}", "X-Cart": "{cart.id}"},
        ),
        "checkoutPublicCart": OperationFacts(body={"id": "{cart.quoted.id}"}, path={"cartId": "{cart.quoted.id}"}),
        "consumeHostedCheckoutBrowserTicket": OperationFacts(
            body={"ticket": "{session.ticket}", "session": "{session.id}"}, path={"sessionId": "{session.id}"}
        ),
        "exchangeOAuthToken": OperationFacts(
            body={"code": "{oauth.code}", "v": "{pkce.verifier}", "c": "{oauth.client_id}", "r": "{oauth.redirect_uri}"}
        ),
        "createInstallationWebhook": OperationFacts(
            body={"url": "https://h/{unique}"}, bodies=({"url": "https://h/{unique}", "a": 1},)
        ),
        "searchPublicProducts": OperationFacts(query={"extra": True}),
    },
    search=Search(query={"q": "gift", "page": 1, "pageSize": 2.5}),
    oauth=OAuth(client_id="client-1", redirect_uri="https://c/cb"),
    rate_limit=RateLimit(credential="spare"),
)


def arranger(profile: Profile = PROFILE, secrets: Secrets | None = None) -> Arranger:
    keys = {name: f"key-of-{name}" for name in profile.credentials}
    return Arranger(profile, CONTRACT, keys, secrets or Secrets(), Fixtures(profile), "run7")


def arrange(name: str, profile: Profile = PROFILE, secrets: Secrets | None = None, **options: Any) -> Request:
    return asyncio.run(arranger(profile, secrets).arrange(OPERATIONS[name], **options))


def test_placeholders_keep_the_type_of_what_they_stand_for() -> None:
    """A whole string becomes the value itself; inside a longer text it is written out; paths and headers are text."""
    request = arrange("quotePublicCart")
    assert request.body == {"id": 0, "text": "cart 0", "deep": [{"tag": "t0"}], "run": "run7-000001"}
    assert request.path == {"cartId": "0"}
    assert dict(request.headers) == {"X-Run": "run7-000001", "X-Cart": "0"}
    assert request.wire("").target.endswith("/carts/0/quote")


def test_a_fixture_is_drawn_once_a_request_and_new_for_the_next() -> None:
    """One cart serves path, header and body of a request; the next request has another, and another {unique}."""

    async def main() -> None:
        one = arranger()
        first, second = [await one.arrange(OPERATIONS["quotePublicCart"]) for _ in range(2)]
        assert (first.path["cartId"], second.path["cartId"]) == ("0", "1")
        assert first.body["run"] != second.body["run"]
        assert first.key != second.key
        assert one.fixtures.issue_counts == {"cart.open": 2}

    asyncio.run(main())


def test_shared_requests_share_the_fixture() -> None:
    """Reads take the run's common fixture, however many ask at once."""

    async def main() -> None:
        one = arranger()
        made = await asyncio.gather(*(one.arrange(OPERATIONS["quotePublicCart"], shared=True) for _ in range(12)))
        assert {request.path["cartId"] for request in made} == {"0"}
        assert one.fixtures.issue_counts == {"cart.open": 1}

    asyncio.run(main())


def test_another_state_and_given_members() -> None:
    """`use` asks for another state than the default one, `given` brings the fixture along and draws none."""
    assert arrange("quotePublicCart", profile=_without_tag(), use={"cart": "quoted"}).path == {"cartId": "q"}
    request = arrange("quotePublicCart", preset={"cart": {"id": "mine", "tag": "t"}})
    assert (request.path, request.body["deep"]) == ({"cartId": "mine"}, [{"tag": "t"}])
    assert arrange("checkoutPublicCart").path == {"cartId": "q"}


def test_a_state_that_is_not_named_is_never_the_foreign_one() -> None:
    """`{cart.id}` is a cart of the own installation, wherever in the profile the other installation's stands."""
    foreign = Fixture("cart", "foreign", values=({"id": "theirs", "tag": "t"},))
    foreign_first = {**FIXTURES, "cart": {"foreign": foreign, **FIXTURES["cart"]}}
    assert arrange("quotePublicCart", profile=replace(PROFILE, fixtures=foreign_first)).path == {"cartId": "0"}
    with pytest.raises(MissingFact, match=r"fixtures\.cart"):
        arrange("quotePublicCart", profile=replace(PROFILE, fixtures={"cart": {"foreign": foreign}}))


def _without_tag() -> Profile:
    facts = replace(PROFILE.operations["quotePublicCart"], body={"id": "{cart.id}"})
    return replace(PROFILE, operations={**PROFILE.operations, "quotePublicCart": facts})


def test_values_of_a_scope_are_taken_over() -> None:
    """What a request stood for can be given to another one."""
    first = arrange("quotePublicCart")
    assert arrange("quotePublicCart", scope=first.scope).body == first.body


def test_queries_are_texts() -> None:
    """Numbers and booleans of the profile are written as a query has them."""
    assert arrange("searchPublicProducts").query == (
        ("q", "gift"),
        ("page", "1"),
        ("pageSize", "2.5"),
        ("extra", "true"),
    )


@pytest.mark.parametrize(
    ("page", "page_base", "sent"), [(2, 1, "1"), ("3", 0, "0"), (1, 1, "1"), (2, None, "2"), (0, 1, "0")]
)
def test_a_query_asks_for_the_first_page(page: object, page_base: int | None, sent: str) -> None:
    """Where the profile states which one that is: with another filter there may be no second one."""
    profile = replace(PROFILE, search=replace(PROFILE.search, query={"q": "gift", "page": page}, page_base=page_base))
    assert dict(arrange("searchPublicProducts", profile).query)["page"] == sent


def test_other_bodies_are_made_for_the_same_fixtures() -> None:
    """Other valid bodies keep {unique} and all fixtures of the request that they replace."""
    one = arranger()
    request = asyncio.run(one.arrange(OPERATIONS["createInstallationWebhook"]))
    (template,) = one.facts(request.operation).bodies
    assert asyncio.run(one.render_body(request, template)) == {**request.body, "a": 1}
    assert asyncio.run(one.render_body(request, {"b": "{unique}"})) == {"b": request.scope["unique"]}


def test_another_body_may_name_what_the_request_lacks() -> None:
    """A fixture, or a state of one, that `body` does not use is drawn, once for all forms of the request."""
    one = arranger()

    async def main() -> tuple[Request, list[Any]]:
        request = await one.arrange(OPERATIONS["quotePublicCart"])
        template = {"same": "{cart.id}", "other": "{cart.quoted.id}", "slip": "{session.ticket}"}
        forms = (request, request.with_fresh_key().with_body({}))
        return request, [await one.render_body(form, template) for form in forms]

    request, (first, second) = asyncio.run(main())
    assert first == second == {"same": request.scope["cart.id"], "other": "q", "slip": "ticket-0123456789"}
    assert one.fixtures.issue_counts == {"cart.open": 1, "cart.quoted": 1, "session.open": 1}


def test_a_code_of_another_client_is_made_for_the_same_verifier_and_is_a_secret() -> None:
    """As the one that `body` names is."""
    codes = {
        "code": Fixture("oauth", "code", values=({"code": "code-of-the-one"},)),
        "other": Fixture("oauth", "other", values=({"code": "code-of-another-{pkce.challenge}"},)),
    }
    secrets = Secrets()
    one = arranger(replace(PROFILE, fixtures={"oauth": codes}), secrets)

    async def main() -> tuple[Request, Any]:
        request = await one.arrange(OPERATIONS["exchangeOAuthToken"])
        return request, await one.render_body(request, {"code": "{oauth.other.code}"})

    request, body = asyncio.run(main())
    assert body == {"code": f"code-of-another-{request.scope['pkce.challenge']}"}
    assert "another" not in secrets.clean(f"the code {body['code']} it was")


def test_an_effect_is_about_the_fixture_that_the_request_has() -> None:
    """Whatever state that is in; a state that is named, and a kind that it lacks, are drawn."""
    one = arranger()

    async def main() -> tuple[Request, dict[str, Any]]:
        request = await one.arrange(OPERATIONS["checkoutPublicCart"])
        return request, await one.extend_scope(request, ["cart.id", "cart.open.id", "session.id"], own_fixtures=True)

    request, known = asyncio.run(main())
    assert known["cart.id"] == request.scope["cart.quoted.id"] == "q"
    assert (known["cart.open.id"], known["session.id"]) == (0, "s1")


SCHEMA = {"type": "object", "required": ["note"], "properties": {"note": {"const": "braces {like} these {{"}}}


def test_a_body_out_of_a_schema_is_no_template() -> None:
    """Braces in a schema's values are text: they reach the target as they are."""
    profile = replace(PROFILE, operations={}, schemas=Schemas({"PublicWebhookCreateRequest": SCHEMA}))
    assert arrange("createInstallationWebhook", profile).body == {"note": "braces {like} these {{"}


def test_an_operation_without_a_body_has_none() -> None:
    """Neither body nor idempotency key where the interface has none."""
    request = arrange("getApiKeyIdentity")
    assert (request.body, request.key, request.idempotency) == (NO_BODY, None, None)


# Credentials


def test_the_broadest_home_credential_is_taken() -> None:
    """The first active credential's installation is home; of its keys the broadest is taken, the spare one last."""
    one = arranger()
    assert [c.name for c in one.credentials()] == ["full", "narrow", "spare"]
    assert [c.name for c in one.credentials(scope="catalog:read")] == ["full", "narrow", "spare"]
    assert [c.name for c in one.credentials(scope="webhooks:read")] == ["full", "spare"]
    request = arrange("quotePublicCart")
    assert (request.credential, request.authorization) == ("full", ("ApiKey key-of-full!",))


def test_the_spare_credential_is_better_than_none() -> None:
    """The rate limit's own key is used where no other holds the scope."""
    few = {name: CREDENTIALS[name] for name in ("narrow", "spare")}
    assert arrange("listInstallationWebhookDeliveries", replace(PROFILE, credentials=few)).credential == "spare"
    assert arrange("getApiKeyIdentity", replace(PROFILE, credentials=few)).credential == "narrow"


def test_another_credential_can_be_asked_for() -> None:
    """By name, before or after the request was made."""
    assert arrange("getApiKeyIdentity", credential="foreign").authorization == ("ApiKey key-of-foreign!",)
    changed = arranger().as_credential(arrange("getApiKeyIdentity"), "revoked")
    assert (changed.credential, changed.authorization) == ("revoked", ("ApiKey key-of-revoked!",))


@pytest.mark.parametrize("name", ["getPublicRuntimeConfig", "exchangeOAuthToken", "consumeHostedCheckoutBrowserTicket"])
def test_what_takes_no_key_gets_none(name: str) -> None:
    """Public operations and the token exchange carry no API key, not even one that was asked for."""
    request = arrange(name, credential="full")
    assert (request.credential, request.authorization) == ("", ())


# Missing facts

_BODY_OF_EXCHANGE = "operations.exchangeOAuthToken.body"
LACKS: dict[str, tuple[str, Mapping[str, Any], str]] = {
    "no credentials": ("getApiKeyIdentity", {"credentials": {}}, "credentials"),
    "no scope": ("createInstallationWebhook", {"credentials": {"narrow": CREDENTIALS["narrow"]}}, "credentials"),
    "only revoked": ("getApiKeyIdentity", {"credentials": {"revoked": CREDENTIALS["revoked"]}}, "credentials"),
    "no body": ("createInstallationWebhook", {"operations": {}}, "operations.createInstallationWebhook.body"),
    "no path": ("quotePublicCartCheckout", {"operations": {}}, "operations.quotePublicCartCheckout.path"),
    "no carrier": ("createInstallationWebhook", {"idempotency": None}, "idempotency"),
    "no client": ("exchangeOAuthToken", {"oauth": None}, "oauth"),
    "no query": ("searchPublicProducts", {"search": Search()}, "search.query"),
    "no kind": ("quotePublicCart", {"fixtures": {}}, "fixtures.cart.STATE"),
    "no state": (
        "checkoutPublicCart",
        {"fixtures": {"cart": {"open": FIXTURES["cart"]["open"]}}},
        "fixtures.cart.quoted",
    ),
    "no member": (
        "quotePublicCart",
        {"fixtures": {"cart": {"open": Fixture("cart", "open", values=({"id": 1},))}}},
        "fixtures.cart.open (with tag)",
    ),
    "no body of an exchange": ("exchangeOAuthToken", {"oauth": None, "operations": {}}, _BODY_OF_EXCHANGE),
    "no exchange": (
        "exchangeOAuthToken",
        {"oauth": None, "operations": {}, "exclusions": {"oauth": "no code can be had"}},
        "oauth",
    ),
}


@pytest.mark.parametrize("name", LACKS)
def test_a_missing_fact_is_named(name: str) -> None:
    """What the profile does not say is named by the very key that would say it."""
    operation, changes, key = LACKS[name]
    with pytest.raises(MissingFact) as raised:
        arrange(operation, replace(PROFILE, **changes))
    assert raised.value.key == key
    assert str(raised.value).endswith(f": state {key}")


# What is secret in a request


def test_codes_verifiers_and_tickets_are_secrets_of_the_run() -> None:
    """A ticket, a code or a verifier that a body carries is registered before it is sent; a client id is none."""
    secrets = Secrets()
    token = arrange("exchangeOAuthToken", secrets=secrets)
    arrange("consumeHostedCheckoutBrowserTicket", secrets=secrets)
    said = f"{token.body['code']} {token.body['v']} ticket-0123456789 client-1 https://c/cb s1"
    cleaned = "«redacted:oauth.code» «redacted:pkce.verifier» «redacted:session.ticket» client-1 https://c/cb s1"
    assert secrets.clean(said) == cleaned


def test_each_token_request_has_a_verifier_of_its_own() -> None:
    """The verifier is new, its challenge is S256 of it, and the proof is signed with the run's key."""
    one = arranger()
    first, second = (asyncio.run(one.arrange(OPERATIONS["exchangeOAuthToken"])) for _ in range(2))
    assert first.body["v"] != second.body["v"]
    assert 43 <= len(first.body["v"]) <= 128
    assert first.scope["pkce.challenge"] == challenge_of(first.body["v"])
    assert first.proof is not None and second.proof is not None
    assert first.proof.key is second.proof.key is one.proof_key
    assert one.proof_key is not None
    assert first.scope["dpop.jkt"] == one.proof_key.thumbprint
