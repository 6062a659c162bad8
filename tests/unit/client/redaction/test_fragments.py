"""Twelve characters in a row of a key are taken out of any text; what only looks like a part of one is not."""

from __future__ import annotations

import base64
import html
import json
import random
import string
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.client.recorder import BODY_LIMIT
from conformance.client.redaction.fragments import (
    LENGTH,
    MIN_COVERED,
    blocks_of,
    covering_blocks,
    truncate_for_redaction,
)
from conformance.client.redaction.secrets import Secrets

KEY = "sk_7f3a91c0/+=&\"<%~'q7d2e8b6a4Zx05wQ"
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "URL": lambda s: quote(s, safe=""),
    "URL, every character": lambda s: "".join(f"%{ord(c):02x}" for c in s),
    "JSON": lambda s: json.dumps(s)[1:-1],
    "JSON, every character": lambda s: "".join(f"\\u{ord(c):04x}" for c in s),
    "HTML": html.escape,
    "HTML in JSON in a URL": lambda s: quote(json.dumps(html.escape(s)), safe=""),
    "hex": lambda s: s.encode().hex(),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64 behind one": lambda s: base64.b64encode(b"u" + s.encode()).decode(),
    "base64url behind two": lambda s: base64.urlsafe_b64encode(b"u:" + s.encode()).decode(),
    "capital letters": str.upper,
}
few = settings(max_examples=25)
keys = st.text(string.ascii_letters + string.digits + "_-./+=~", min_size=24, max_size=60)


def _known(key: str = KEY, public: str = "") -> Secrets:
    secrets = Secrets(public)
    secrets.add_credential("full", key)
    return secrets


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("at", [0, 1, 5, len(KEY) - LENGTH])
def test_no_part_of_a_key_survives(spelling: str, at: int) -> None:
    """From 12 characters on, wherever it was cut off and however it is spelled."""
    spell = SPELLINGS[spelling]
    for length in (LENGTH, LENGTH + 5):
        part = spell(KEY[at : at + length])
        for before, behind in (("", ""), ("said: ", " and more"), ('{"a": "', '"}'), ("xyz", "xyz")):
            cleaned = _known().clean(before + part + behind)
            assert part not in cleaned
            assert "«redacted:part of full»" in cleaned or "«credential:full»" in cleaned


@given(key=keys, cut=st.tuples(st.integers(0, 20), st.integers(LENGTH, 40)), before=st.text(max_size=30))
@few
def test_no_window_is_left_of_any_key(key: str, cut: tuple[int, int], before: str) -> None:
    """Of a part that is longer, no 12 characters are left either; a row of few different characters is not a part."""
    part = key[cut[0] : cut[0] + cut[1]]
    cleaned = _known(key).clean(f"{before} {part} ")
    left = {part[at : at + LENGTH] for at in range(len(part) - LENGTH + 1)}
    assert not [window for window in left if len(set(window)) >= 5 and window in cleaned.removeprefix(before)]


def test_a_shorter_part_and_the_rest_of_the_text_stay() -> None:
    """What stands around it is as it was; 11 characters tell too little."""
    text = f"A key begins with sk_; {KEY[:11]}|{KEY[5:16]} is not all of it"
    assert _known().clean(text) == text
    assert _known().clean(f"behold {KEY[:20]}, cut") == "behold «redacted:part of full», cut"


def test_what_is_public_is_no_part_of_a_key() -> None:
    """A key that begins like the target's name does not hide that name; the whole key is hidden all the same."""
    key, url = "shop.example.test-key-4711-abcdef", "https://shop.example.test/commerce"
    secrets = _known(key, public=url)
    assert secrets.clean(f"{url}/api") == f"{url}/api"
    assert secrets.clean(f"{key} at {url}") == f"«credential:full» at {url}"
    assert "4711" not in secrets.clean("test-key-4711-abc")


def test_rows_of_the_same_characters_are_no_part_of_a_key() -> None:
    """A nil UUID, or a line of dashes, stays."""
    text = f"00000000-0000-0000-0000-000000000000 {'-' * 30} AAAAAAAAAAAAAAAA"
    assert _known("k-000000000000-------------AAAAAAAAAAAAAA-x").clean(text) == text


def test_a_library_that_cut_off_a_passing_secret() -> None:
    """A ticket that was cut in its words is not known as one: its part is found by what it was sent as."""
    secrets = _known()
    secrets.add_ephemeral_secrets("ticket", ["tk_93ba77d1c05e4f2288aa10"])
    text = "Got more than 65536 bytes when reading: b'X-Echo: tk_93ba77d1c05e4f22'"
    assert secrets.clean_truncated(text) == "Got more than 65536 bytes when reading: b'X-Echo: «redacted:part»'"


@pytest.mark.parametrize("cut", range(1, len("tk_93ba77d1c05e4f2288aa10"), 4))
@pytest.mark.parametrize("limit", [40, 2048, BODY_LIMIT])
def test_an_excerpt_is_cleaned_before_it_is_shortened(limit: int, cut: int) -> None:
    """Wherever the limit falls, and wherever the margin behind it ends, no part of a secret is left."""
    ticket = "tk_93ba77d1c05e4f2288aa10"
    secrets = _known()
    secrets.add_ephemeral_secrets("ticket", [ticket])
    for end in (limit, limit + secrets.margin):
        text = "x " * ((end - cut) // 2) + " " * ((end - cut) % 2) + ticket * 3 + "y" * 3 * secrets.margin
        told = secrets.excerpt(text, limit)
        assert len(told) <= limit
        assert ticket[:4] not in told


def test_the_beginning_of_a_text_ends_before_what_would_be_torn() -> None:
    """A token at the limit is left out whole; a text that fits is as it was."""
    assert truncate_for_redaction("short", 10) == "short"
    assert truncate_for_redaction('{"a":"token-1234567890"}', 15) == '{"a":"'
    assert truncate_for_redaction("several words that fit", 12) == "several "


def test_looking_for_parts_costs_little() -> None:
    """20 keys, and 2 MB of bodies that hold none: a few hundredths of a second for each of them."""
    chance = random.Random(7)
    secrets = Secrets()
    for number in range(20):
        secrets.add_credential(f"k{number}", "sk_" + chance.randbytes(24).hex())
    texts = [
        json.dumps({"id": chance.randbytes(8).hex(), "n": [chance.random() for _ in range(90)]}) for _ in range(999)
    ]
    started = time.process_time()
    assert all(secrets.cleaner([text])(text) == text for text in texts)
    assert time.process_time() - started < 2


@given(before=st.text(max_size=40), part=st.text(min_size=1, max_size=40), behind=st.text(max_size=20))
def test_a_text_has_a_block_of_each_part_that_is_long_enough(before: str, part: str, behind: str) -> None:
    """Wherever the part begins: else a secret in a text would not be looked for."""
    if len(part.encode("utf-8", "surrogatepass")) >= MIN_COVERED:
        assert blocks_of(before + part + behind) & covering_blocks(part)


def test_a_text_that_is_shorter_than_a_block_has_none() -> None:
    """And each longer one has those at every fourth byte that are complete."""
    lengths = {length: len(blocks_of(string.ascii_letters[:length])) for length in (0, 1, 7, 8, 11, 12, 16, 20)}
    assert lengths == {0: 0, 1: 0, 7: 0, 8: 1, 11: 1, 12: 2, 16: 3, 20: 4}
