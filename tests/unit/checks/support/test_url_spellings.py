"""Another spelling of a URL is decoded to the same text."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from conformance.checks.support.url_spellings import percent_encode_all, percent_encode_first


def test_the_encoded_letters_are_those_of_the_text() -> None:
    """All of them, or the first one."""
    assert percent_encode_all("en-US") == "%65%6E%2D%55%53"
    assert percent_encode_first("cart_1/é") == "%63art_1%2F%C3%A9"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_is_decoded_to_itself(text: str) -> None:
    """And neither spelling is the usual one."""
    for spelling in (percent_encode_all(text), percent_encode_first(text)):
        assert unquote(spelling) == text
        assert spelling.startswith("%")
