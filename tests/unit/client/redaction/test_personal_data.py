"""Patterns and names of secrets and people's data, and the marks that replace them."""

from __future__ import annotations

import json
import time

import pytest

from conformance.client.redaction.marks import Marks
from conformance.client.redaction.personal_data import (
    DocumentRedactor,
    PatternRedactor,
    is_card,
    is_iban,
    is_suspect,
)


def redacted(text: str) -> str:
    return PatternRedactor(Marks())(text)


@pytest.mark.parametrize(
    ("digits", "expected"),
    [("4111111111111111", True), ("4111111111111112", False), ("378282246310005", True), ("1700000000000", False)],
)
def test_a_card_has_a_range_and_a_check_digit(digits: str, expected: bool) -> None:
    """A time in milliseconds is none, though one in ten has the check digit."""
    assert is_card(digits) is expected


def test_an_iban_has_check_digits() -> None:
    """ISO 13616."""
    assert is_iban("DE89 3704 0044 0532 0130 00") and not is_iban("DE88 3704 0044 0532 0130 00")


@pytest.mark.parametrize(
    "text",
    [
        "ask jane.doe+shop@mail.example.co.uk about it",
        "jane%40example.com",
        "paid with 4111 1111 1111 1111 today",
        "Authorization: Bearer abc.DEF-123",
        "at https://jane:pw1@shop.example/x",
        "token eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
        "call +49 170 12345678",
        "to DE89370400440532013000",
        "AKIAIOSFODNN7EXAMPLE",
        "key Zx81QuuxZx72QuuxZx63QuuxA",
    ],
)
def test_a_pattern_is_found_in_any_text(text: str) -> None:
    """Fast tests come first, and exclude none of these."""
    assert is_suspect(text)
    assert "«redacted:" in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "application/json",
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "2030-01-15T00:00:00.000Z",
        "https://hooks.example/c6b0480c78e83-000002",
        "4.14 EUR",
        "order_1234567890",
        "GET /api/v1/open/storefront/carts/cart_1/checkout-quote",
        "«redacted:e-mail#0123456789abcdef»",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    """Ids, times, paths, prices, and what was redacted before."""
    assert redacted(text) == text


@pytest.mark.parametrize("text", ["eyJ" * 21_000, "eyJaaaaaa." * 6_000, "a-" * 30_000 + "eyJ"])
def test_hostile_text_costs_little(text: str) -> None:
    """A text made to be searched for ever is cleaned in a moment."""
    started = time.process_time()
    redacted(text)
    assert time.process_time() - started < 1


def test_names_of_members_mark_their_values() -> None:
    """Also within an object about a person, and by `x-sensitive`; what is near them stays."""
    document = DocumentRedactor(Marks(), marked=frozenset({"shoe_size"}))
    body = {
        "name": "Lamp",
        "customer": {"name": "Jane", "tags": ["Jane"]},
        "shoe_size": 9,
        "access_token": "abc",
        "n": 1,
    }
    replaced: dict[str, str] = {}
    text = document.redact(json.dumps(body), replaced)
    assert text is not None
    found = json.loads(text)
    assert (found["name"], found["n"]) == ("Lamp", 1)
    hidden = [found["customer"]["name"], *found["customer"]["tags"], found["shoe_size"], found["access_token"]]
    assert all(str(value).startswith("«redacted:") for value in hidden)
    assert set(replaced) == {"Jane", "9", "abc"}


def test_a_repeated_member_hides_nothing() -> None:
    """Readers differ in which one counts."""
    text = DocumentRedactor(Marks()).redact('{"password":"first-one","password":"second"}', {})
    assert text is not None and "first-one" not in text and "second" not in text


def test_a_shape_keeps_types_and_equality() -> None:
    """Of a body in `--bodies shape`: names and structure, and marks in place of values."""
    document = DocumentRedactor(Marks(), shape=True)
    text = document.redact('{"a":["x","x","y",1,null,true]}', {})
    assert text is not None
    x, again, y, number, nothing, flag = json.loads(text)["a"]
    assert x == again != y
    assert x.startswith("«redacted:string#") and number.startswith("«redacted:number#")
    assert (nothing, flag) == (None, "«boolean»")
