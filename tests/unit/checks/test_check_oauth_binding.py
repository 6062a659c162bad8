"""Other spellings of a redirect URI: equivalent by RFC 3986 section 6.2, and not identical."""

from __future__ import annotations

import pytest

from conformance.checks.support.redirect_uris import ALMOST, EQUIVALENT


@pytest.mark.parametrize(
    ("name", "uri", "other"),
    [
        ("default-port", "https://client.example/back?a=1", "https://client.example:443/back?a=1"),
        ("default-port", "http://client.example", "http://client.example:80"),
        ("default-port", "https://client.example:8443/back", "https://client.example:8443/back"),
        ("default-port", "https://[::1]/back", "https://[::1]:443/back"),
        ("default-port", "com.example.app:/back", "com.example.app:/back"),
        ("case-of-the-host", "https://user@client.example:1/Back", "https://user@CLIENT.EXAMPLE:1/Back"),
        ("case-of-the-host", "https://127.0.0.1/back", "https://127.0.0.1/back"),
        ("percent-encoded-letter", "https://client.example/back", "https://client.example/%62ack"),
        ("percent-encoded-letter", "https://client.example/a%20b", "https://client.example/a%20b"),
        ("percent-encoded-letter", "https://client.example/1", "https://client.example/1"),
    ],
)
def test_an_equivalent_redirect_uri(name: str, uri: str, other: str) -> None:
    """The same one where it has no other spelling of that kind."""
    assert EQUIVALENT[name](uri) == other


@pytest.mark.parametrize(
    ("uri", "other"),
    [
        ("https://client.example/back", "https://client.example/bac"),
        ("https://client.example/back/?a=1#b", "https://client.example/bac"),
        ("https://client.example/b", "https://client.example/"),
        ("https://client.example/", "https://client.example/"),
        ("https://client.example", "https://client.example"),
    ],
)
def test_a_redirect_uri_that_is_cut_short(uri: str, other: str) -> None:
    """The same one where it has no path."""
    assert ALMOST["cut-short"](uri) == other
