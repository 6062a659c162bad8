"""Other spellings of a path: one letter or slash differs, and the request is otherwise the same."""

from __future__ import annotations

import pytest

from conformance.checks.support.path_spellings import PLAIN_SPELLINGS, SPELLINGS, encode_letter, with_spelling
from conformance.client.request import Request
from tests.support.check_runs import CONTRACT

DELIVERIES = CONTRACT.operations["listInstallationWebhookDeliveries"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a slash behind it", "/api/v1/open/webhooks/deliveries/"),
        ("a slash before it", "//api/v1/open/webhooks/deliveries"),
        ("capitals", "/API/V1/OPEN/WEBHOOKS/DELIVERIES"),
    ],
)
def test_a_spelling_arrives_as_it_is_meant(name: str, path: str) -> None:
    assert with_spelling(Request(DELIVERIES), SPELLINGS[name], name).wire("/shop").target == f"/shop{path}"


def test_an_encoded_letter_stays_encoded() -> None:
    """No invariant judges the answer: the request has a raw path."""
    request = with_spelling(Request(DELIVERIES), encode_letter, "an encoded letter")
    assert request.wire("").target == "/api/v1/open/webhooks/d%65liveries"
    assert request.raw_path


def test_parameters_keep_their_place_in_capitals() -> None:
    path = "/carts/{cartId}/quote"
    assert SPELLINGS["capitals"](path) == "/CARTS/{cartId}/QUOTE"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("an encoded letter", "/api/v1/open/webhooks/d%65liveries"),
        ("an encoded letter in its prefix", "/api/v1/o%70en/webhooks/deliveries"),
        ("a path parameter", "/api/v1/open/webhooks/deliveries;x=1"),
        ("a suffix", "/api/v1/open/webhooks/deliveries.json"),
        ("a detour over a public path", "/api/v1/search/%2e%2e/open/webhooks/deliveries"),
    ],
)
def test_a_spelling_of_a_plain_path_arrives_as_it_is_meant(name: str, path: str) -> None:
    """Also behind the prefix of a base URL."""
    assert with_spelling(Request(DELIVERIES), PLAIN_SPELLINGS[name], name).wire("/v1").target == f"/v1{path}"
