"""Keys that a target writes in another case, width or grouping: reports do not show them."""

from __future__ import annotations

import codecs
import json
import unicodedata
from collections.abc import Callable

import pytest

from conformance.client.redaction.secrets import Secrets

KEY = "sk_64C5CfEa-91bD07"


@pytest.fixture
def secrets() -> Secrets:
    known = Secrets()
    known.add_credential("full", KEY)
    return known


def _in_groups(size: int, sign: str) -> str:
    return sign.join(KEY[at : at + size] for at in range(0, len(KEY), size))


@pytest.mark.parametrize(
    "shown",
    [
        KEY.swapcase(),
        "sK" + KEY[2:],
        _in_groups(6, " "),
        _in_groups(11, "-"),
        _in_groups(3, '", "'),
        _in_groups(1, ":"),
        _in_groups(1, "\ufe0f"),
        _in_groups(1, "\u0301"),
        "".join(chr(ord(character) + 0xFEE0) for character in KEY),
        " ".join(KEY.encode().hex()[at : at + 4] for at in range(0, 2 * len(KEY), 4)),
        " ".join(f"{byte:03o}" for byte in KEY.encode()),
        KEY[::-1].swapcase(),
        codecs.encode(KEY, "rot13"),
    ],
    ids=[
        "case",
        "first case",
        "six",
        "eleven",
        "json",
        "colons",
        "selectors",
        "accents",
        "wide",
        "dump",
        "octal",
        "back",
        "rot13",
    ],
)
@pytest.mark.parametrize("clean", [Secrets.clean, lambda known, text: known.cleaner([text])(text)], ids=["one", "all"])
def test_a_key_is_not_shown_in_any_spelling_of_its_letters(
    secrets: Secrets, shown: str, clean: Callable[[Secrets, str], str]
) -> None:
    """What stands around it stays."""
    text = json.dumps({"message": f"bad key {shown} here"}, ensure_ascii=False)
    found = clean(secrets, text)
    assert found == json.dumps({"message": "bad key «credential:full» here"}, ensure_ascii=False)


@pytest.mark.parametrize("sign", ["", "\u0301", "\u200b", " "], ids=["wide", "accents", "invisible", "spaces"])
def test_nor_with_letters_that_json_escapes(secrets: Secrets, sign: str) -> None:
    """Many services escape all characters beyond ASCII."""
    shown = sign.join(KEY) if sign else "".join(chr(ord(character) + 0xFEE0) for character in KEY)
    text = json.dumps({"message": f"bad key {shown} here"}, ensure_ascii=True)
    expected = json.dumps({"message": "bad key «credential:full» here"}, ensure_ascii=False)
    assert secrets.clean(text).replace("\\u0301", "") == expected
    assert secrets.cleaner([text])(text) == secrets.clean(text)


@pytest.mark.parametrize("key", ["integration-test-key-full", "short-key-1"])
def test_words_and_short_keys_are_looked_for_as_they_are(key: str) -> None:
    """A title with the same words is no key."""
    known = Secrets()
    known.add_credential("full", key)
    title = key.replace("-", " ").title()
    assert known.clean(f"the {title} of all") == f"the {title} of all"
    assert key not in known.clean(f"the {key}")


def test_a_text_without_keys_is_unchanged(secrets: Secrets) -> None:
    text = unicodedata.normalize("NFD", "Crème brûlée, ｗｉｄｅ, 64C5CfEa")
    assert secrets.clean(text) == text
