"""What an error may show that its request did not have (ERR-2)."""

from __future__ import annotations

import json

import pytest

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.judge.invariants import Invariants
from conformance.judge.validators import Validators
from conformance.profile.behavior import Authorization
from conformance.profile.model import Profile, Schemas
from conformance.profile.resources import Fixture, OperationFacts

EXCHANGE = load_contract().operations["exchangeOAuthToken"]
SCOPE = {
    "oauth.code": "code-0123456789",
    "oauth.client_id": "storefront",
    "oauth.redirect_uri": "https://app.example/callback",
}


@pytest.mark.parametrize(("name", "is_secret"), [("code", True), ("client_id", False), ("redirect_uri", False)])
def test_a_code_that_was_not_sent_is_a_secret(name: str, is_secret: bool) -> None:
    """A client's id and its redirect URI are public: an error may name the right ones."""
    profile = Profile(
        "p",
        "http://t",
        Authorization("{key}"),
        operations={EXCHANGE.id: OperationFacts(body={member: f"{{{member}}}" for member in SCOPE})},
        fixtures={"oauth": {"code": Fixture("oauth", "code", values=(), reusable=False)}},
    )
    content = json.dumps({"message": f"expected {SCOPE[f'oauth.{name}']}"}).encode()
    request = Request(EXCHANGE, body={"code": "other"}, scope=SCOPE)
    json_type = (("Content-Type", "application/json"),)
    answer = Answer("x1", request, "http://t/a", (), b'{"code": "other"}', 400, json_type, content)
    findings = Invariants(profile, Validators(Schemas({}))).judge(answer)[1]
    assert ("secret" in {finding.code for finding in findings}) == is_secret
