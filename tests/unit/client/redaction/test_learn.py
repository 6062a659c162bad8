"""What becomes a secret in the course of a run is known before it is sent, or before the answer is written."""

from __future__ import annotations

import base64

import pytest

from conformance.client.dpop import ProofKey
from conformance.client.redaction.learn import Guard, guard_key, secrets_of
from conformance.client.redaction.secrets import Secrets, clean_with_all
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.profile.behavior import Authorization, OAuth, RateLimit
from conformance.profile.model import Profile
from conformance.profile.resources import HttpCall, OperationFacts
from tests.support.values import replace

OPERATIONS = load_contract().operations
PROFILE = Profile(
    "x", "http://127.0.0.1:1", Authorization("Token t={key}!"), oauth=OAuth(code="/code", access_token="/data/at")
)
IDENTITY = Request(OPERATIONS["getApiKeyIdentity"])
TOKEN = Request(OPERATIONS["exchangeOAuthToken"], body={})
VALUE = "a1b2c3d4-e5f6-a7b8-c9d0"


def guarded(profile: Profile = PROFILE) -> tuple[Guard, Secrets]:
    secrets = Secrets()
    return Guard(profile, secrets), secrets


def answered(request: Request, body: bytes = b"", *headers: tuple[str, str], status: int = 200) -> Answer:
    return Answer("x1", request, "http://127.0.0.1:1/", (), b"", status, headers, body)


@pytest.mark.parametrize("text", [VALUE, f"Token t={VALUE}!", base64.b64encode(f"user:{VALUE}".encode()).decode()])
def test_a_key_with_one_letter_changed_is_as_good_as_the_key(text: str) -> None:
    """What a check writes into Authorization is a secret, with its scheme and without."""
    guard, secrets = guarded()
    guard.note_request(IDENTITY.with_authorization(f"Token t={VALUE}!"))
    assert VALUE not in secrets.clean(text)
    assert secrets.clean(text) != text


def test_a_scheme_of_another_form_is_no_secret() -> None:
    """RFC 9110 section 11.4: credentials begin with their scheme. A probe sends some of another form than the usual."""
    guard, secrets = guarded()
    guard.note_request(IDENTITY.with_authorization(f"Commerce-Access {VALUE}"))
    assert secrets.clean("Commerce-Access {key}") == "Commerce-Access {key}"
    assert VALUE not in secrets.clean(VALUE)


def test_what_a_check_made_up_is_no_secret() -> None:
    """Evidence shows it, so that a curl line can send it; a changed key stays a secret beside its placeholder."""
    guard, secrets = guarded()
    guard.note_request(IDENTITY.with_made_up_authorization(f"Token t={VALUE}!"))
    assert secrets.clean(VALUE) == VALUE
    changed = VALUE[::-1]
    guard.note_request(IDENTITY.with_authorization(f"Token t={changed}!", evidence=("Token t=«credential:a|drop:1»!",)))
    assert changed not in secrets.clean(changed)


def test_what_a_token_request_says_is_a_secret_by_pointer_and_by_name() -> None:
    guard, secrets = guarded()
    guard.note_request(
        TOKEN.with_body({"code": VALUE, "more": {"codeVerifier": VALUE[::-1]}, "audience": "storefront-2"})
    )
    assert secrets.clean(f"{VALUE} {VALUE[::-1]} storefront-2") == "«redacted:body» «redacted:body» storefront-2"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b'{"data": {"at": "%s"}}', ()),
        (b'{"refresh_token": "%s"}', ()),
        (b'{"a": [{"webhookSecret": "%s"}]}', ()),
        (b"", (("X-Session-Token", VALUE),)),
    ],
)
def test_a_token_that_a_target_gives_is_a_secret(body: bytes, headers: tuple[tuple[str, str], ...]) -> None:
    """From then on, and of the same answer too, wherever else it stands."""
    guard, secrets = guarded()
    guard.note_answer(answered(TOKEN, body.replace(b"%s", VALUE.encode()), *headers))
    assert VALUE not in secrets.clean(f"and again: {VALUE}")


@pytest.mark.parametrize(
    "body", [b'{"apiKeyId": "%s"}', b'{"tokenType": "%s"}', b'{"token": "has blanks in it, no token"}']
)
def test_a_name_of_a_secret_is_none(body: bytes) -> None:
    """Ids, kinds and sentences stay to be read."""
    guard, secrets = guarded()
    guard.note_answer(answered(IDENTITY, body.replace(b"%s", VALUE.encode())))
    assert secrets.clean(f"{VALUE} has blanks in it, no token") == f"{VALUE} has blanks in it, no token"


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (IDENTITY, b'{"tokens": ["%s"]}'),
        (IDENTITY, b'{"data": {"ticket": {"kind": "browser", "value": [{"text": "%s"}]}}}'),
        (TOKEN, b'{"data": {"refresh": "%s"}}'),
    ],
)
def test_what_stands_within_a_secret_is_one(request_: Request, body: bytes) -> None:
    """A token may be an element of a list, or a member of an object."""
    guard, secrets = guarded()
    guard.note_answer(answered(request_, body.replace(b"%s", VALUE.encode())))
    assert VALUE not in secrets.clean(f"echo {VALUE}")


def test_a_cookie_is_a_secret_wherever_it_stands() -> None:
    """The header is never written; a body may repeat its value."""
    guard, secrets = guarded()
    guard.note_answer(answered(IDENTITY, b"{}", ("Set-Cookie", f'sid="{VALUE}"; Path=/; HttpOnly')))
    assert VALUE not in secrets.clean(f"echo {VALUE}")


def test_a_header_of_any_length_fills_no_memory() -> None:
    """A token has at most some thousand characters; what is longer is written nowhere, as its header's name says."""
    guard, secrets = guarded()
    guard.note_answer(answered(IDENTITY, b"{}", ("X-Auth-Token", VALUE * 1000)))
    guard.note_answer(
        answered(IDENTITY, b'{"tokens": [%s]}' % b",".join(b'"abcdefghijklmnop-%d"' % n for n in range(900)))
    )
    assert len(secrets.values) == 100
    assert secrets.longest < 1000


def test_a_target_that_hands_out_tokens_without_end_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many no more are learnt; what we send is still known."""
    monkeypatch.setattr("conformance.client.redaction.learn._MAX_TOKENS", 10)
    guard, secrets = guarded()
    for number in range(50):
        guard.note_answer(answered(IDENTITY, b'{"token": "abcdefghijklmnop-%d"}' % number))
    assert len(secrets.values) == 10
    guard.note_request(IDENTITY.with_authorization(VALUE))
    assert VALUE not in secrets.clean(f"x {VALUE}")


def test_headers_that_the_profile_states_are_secrets_by_their_name() -> None:
    """An owner's test API has keys, too; what is not a secret by its name is none."""
    call = HttpCall("http://127.0.0.1:1", headers={"Authorization": f"Bearer {VALUE}", "Accept-Language": "en-US-1234"})
    facts = {"getApiKeyIdentity": OperationFacts(headers={"X-Api-Key": VALUE[::-1]})}
    profile = replace(PROFILE, rate_limit=RateLimit(prepare=call), operations=facts)
    secrets = secrets_of(profile, load_contract(), {})
    assert secrets.clean(f"{VALUE} {VALUE[::-1]} en-US-1234") == "«credential:header» «credential:header» en-US-1234"


@pytest.mark.parametrize("algorithm", ["ES256", "Ed25519", "PS256"])
def test_the_private_numbers_of_a_proof_key_are_secrets(algorithm: str) -> None:
    """And the public ones are not."""
    secrets, key = Secrets(), ProofKey.new(algorithm)
    guard_key(secrets, key)
    private = {name: value for name, value in key.private.items() if name not in key.public}
    assert private
    assert all(value not in secrets.clean(f"x{value}x") for value in private.values())
    public = " ".join(key.public.values())
    assert secrets.clean(public) == public


def test_a_text_of_nobody_knows_whom_is_cleaned_of_every_run() -> None:
    """As long as there is such a run."""
    first, second, other = Secrets(), Secrets(), "zw9y-8xvu-7tsr"
    first.add_credential("a", VALUE)
    second.add_credential("b", other)
    assert clean_with_all(f"{VALUE} {other}") == "«credential:a» «credential:b»"
