"""What of an Authorization header is a secret: the key, and no scheme, realm or name around it."""

from __future__ import annotations

import base64

import pytest

from conformance.client.redaction.header_credentials import AuthorizationForm
from conformance.client.redaction.learn import Guard, secret_call_values
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.judge.invariants import Invariants
from conformance.judge.validators import Validators
from conformance.profile.behavior import Authorization, RateLimit
from conformance.profile.model import Profile, Schemas
from conformance.profile.resources import Cleanup, HttpCall

IDENTITY = Request(load_contract().operations["getApiKeyIdentity"])
KEY = "k3y-0f-the-sh0p-123456"
FORM = "Commerce-Key {key}"
CHALLENGE = 'Commerce-Key realm="storefront-of-the-shop"'


@pytest.mark.parametrize(
    ("form", "value", "secret"),
    [
        (FORM, "Commerce-Key", ""),
        (FORM, "commerce-key", ""),
        (FORM, "", ""),
        (FORM, "Bearer", ""),
        (FORM, f"Commerce-Key {KEY}", KEY),
        (FORM, f"commerce-key {KEY}", KEY),
        (FORM, f"Bearer {KEY}", KEY),
        (FORM, KEY, KEY),
        ("{key}", KEY, KEY),
        ("{key}", "Bearer", ""),
        ('Shop realm="storefront-of-the-shop", key="{key}"', 'Shop realm="storefront-of-the-shop", key=""', ""),
        ('Shop realm="storefront-of-the-shop", key="{key}"', f'Shop realm="storefront-of-the-shop", key="{KEY}"', KEY),
        ("Token token={key}", f"Token token={KEY}", KEY),
    ],
)
def test_the_secret_of_a_value(form: str, value: str, secret: str) -> None:
    assert AuthorizationForm(form).secret_of(value) == secret


def refused(value: str, *headers: tuple[str, str], body: bytes = b'{"error": "no"}') -> tuple[list[str], str]:
    """The ERR-2 findings of a 401 to such a value, and its headers and body as they are written."""
    profile, secrets = Profile("p", "http://127.0.0.1:1", Authorization(FORM)), Secrets()
    guard = Guard(profile, secrets)
    request = IDENTITY.with_authorization(value)
    answer = Answer("x1", request, "http://127.0.0.1:1/", (), b"", 401, headers, body)
    guard.note_request(request)
    guard.note_answer(answer)
    _, findings = Invariants(profile, Validators(Schemas())).judge(answer)
    told = [finding.message for finding in findings if finding.requirement == "ERR-2"]
    return told, secrets.clean(" ".join(text for _, text in headers) + body.decode())


@pytest.mark.parametrize("value", ["Commerce-Key", "commerce-key", f"commerce-key {KEY}", f"Commerce-Key {KEY}"])
def test_a_challenge_repeats_no_secret(value: str) -> None:
    """A scheme and a realm may be repeated, and the evidence shows them."""
    told, shown = refused(value, ("WWW-Authenticate", CHALLENGE), body=b'{"error": "Commerce-Key is missing"}')
    assert told == []
    assert CHALLENGE in shown and "Commerce-Key is missing" in shown


@pytest.mark.parametrize(
    ("headers", "body", "where"),
    [
        ((("X-Seen", f"<{KEY}>"),), b'{"error": "no"}', "the header 'X-Seen'"),
        ((), b'{"error": {"detail": "no such key: %s"}}' % KEY.encode(), "the body at /error/detail"),
        ((), b'{"%s": 1}' % KEY.encode(), "the body"),
        ((), b"no such key: " + KEY.encode(), "the body"),
    ],
)
def test_a_leak_is_said_with_its_place_and_without_its_value(
    headers: tuple[tuple[str, str], ...], body: bytes, where: str
) -> None:
    """Which header or member it is; the key itself is written nowhere."""
    told, shown = refused(f"Commerce-Key {KEY}", *headers, body=body)
    assert told == [f"the answer repeats the API key that was sent, in {where}"]
    assert KEY not in shown and "«redacted:authorization»" in shown


def test_a_scheme_in_a_stated_header_is_no_secret() -> None:
    """Of a test API's own Authorization header the key is one, with its scheme and without."""
    call = HttpCall("http://127.0.0.1:1/", headers={"Authorization": f"Commerce-Secret {KEY}"})
    profile = Profile("p", "http://127.0.0.1:1", Authorization(FORM), rate_limit=RateLimit(prepare=call))
    assert set(secret_call_values(profile)) == {("header", KEY), ("header", f"Commerce-Secret {KEY}")}


def test_what_opens_a_test_api_is_secret() -> None:
    """The user of its URL, as HTTP Basic writes it too, and what its query and its body name as a secret."""
    url = f"http://owner:pass%20word@api.example:8080/carts?state=open&api_key={KEY}&sig={KEY}2&code={{id}}&key=cart#x"
    call = HttpCall(url, json={"state": "open", "token": f"{KEY}3"})
    profile = Profile("p", "http://127.0.0.1:1", Authorization(FORM), rate_limit=RateLimit(prepare=call))
    basic = base64.b64encode(b"owner:pass word").decode()
    found = {value for where, value in secret_call_values(profile) if where == "test API"}
    assert found == {basic, "pass word", "pass%20word", KEY, f"{KEY}2", f"{KEY}3"}


def test_what_opens_the_calls_of_cleanup_is_secret() -> None:
    """A removal that fails is in the journal, with its URL."""
    cleanup = {"cart": Cleanup(HttpCall(f"http://api.example/carts/{{cart.id}}?api_key={KEY}"))}
    profile = Profile("p", "http://127.0.0.1:1", Authorization(FORM), cleanup=cleanup)
    assert ("test API", KEY) in set(secret_call_values(profile))
