"""No secret survives in any spelling; what is not a secret does; and it costs little."""

from __future__ import annotations

import base64
import html
import json
import random
import string
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.client.redaction.secrets import MIN_LENGTH, Secrets, forms
from conformance.reports.shaping.text import clean as text_of_report

few = settings(max_examples=30)
secret_texts = st.text(string.ascii_letters + string.digits + "/+=-_.~:!@$ é\"\\&<'%{}", min_size=12, max_size=60)
_KEY_CHARACTERS = string.ascii_letters + string.digits + "/+=-_."
around = st.text('abc XYZ019/+=-_.:"{}&?\n', max_size=20)

SPELLINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "url": lambda s: quote(s, safe=""),
    "url, slashes kept": quote,
    "url, lower case": lambda s: "".join(c if c.isascii() and c.isalnum() else quote(c, safe="").lower() for c in s),
    "form": quote_plus,
    "json": lambda s: json.dumps(s)[1:-1],
    "json, not ascii": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "json, slashes escaped": lambda s: json.dumps(s, ensure_ascii=False)[1:-1].replace("/", "\\/"),
    "html": html.escape,
    "hex": lambda s: s.encode().hex(),
    "HEX": lambda s: s.encode().hex().upper(),
}


WIDE: dict[str, Callable[[str], str]] = {
    "UTF-16": lambda s: s.encode("utf-16-le").decode("latin-1"),
    "UTF-16 in JSON": lambda s: json.dumps(s.encode("utf-16-be").decode("latin-1"))[1:-1],
    "UTF-16, escaped twice": lambda s: json.dumps(json.dumps("\0".join(s))),
    "UTF-32": lambda s: s.encode("utf-32-le").decode("latin-1"),
}


def _known(secret: str, *, lasting: bool) -> Secrets:
    secrets = Secrets()
    if lasting:
        secrets.add_credential("full", secret)
    else:
        secrets.add_ephemeral_secrets("code", [secret])
    return secrets


@pytest.mark.parametrize("lasting", [True, False], ids=["lasting", "passing"])
@pytest.mark.parametrize("spelling", SPELLINGS)
@given(secret=secret_texts, before=around, after=around)
@few
def test_no_spelling_survives(spelling: str, lasting: bool, secret: str, before: str, after: str) -> None:
    """A secret is taken out of any text, however it is escaped there and whatever stands around it."""
    shown = SPELLINGS[spelling](secret)
    cleaned = _known(secret, lasting=lasting).clean(before + shown + after)
    assert shown not in cleaned or shown in (before + after)
    assert "«" in cleaned


@pytest.mark.parametrize("lasting", [True, False])
@pytest.mark.parametrize("sign", ["\u200b", "\xad", "\ufeff", "\x1b[0m", "\x1b]8;;x\x07", "\x9b1m", "\x07", "\u202e"])
@few
@given(secret=st.text(_KEY_CHARACTERS, min_size=12, max_size=60), rest=around)
def test_no_secret_survives_between_what_reports_leave_out(lasting: bool, sign: str, secret: str, rest: str) -> None:
    """A report shows a text without invisible characters: the secret would be whole there, escaped before or not."""
    for written in (sign.join(secret), json.dumps(sign.join(secret))):
        text = f"<{rest}>{written}<end>"
        clean = _known(secret, lasting=lasting).clean(text)
        assert secret not in text_of_report(clean) and clean.endswith("<end>")
        assert _known(secret, lasting=lasting).cleaner([text])(text) == clean


@pytest.mark.parametrize("lasting", [True, False])
@pytest.mark.parametrize("spelling", WIDE)
@few
@given(secret=st.text(_KEY_CHARACTERS, min_size=12, max_size=60), rest=around)
def test_no_secret_survives_between_nuls(lasting: bool, spelling: str, secret: str, rest: str) -> None:
    """An answer in UTF-16 is read as single bytes; what stands around the secret is kept."""
    written = WIDE[spelling](secret)
    clean = _known(secret, lasting=lasting).clean(f"<{rest}>{written}<end>")
    assert written not in clean
    assert secret not in clean.replace("\0", "").replace("\\u0000", "")
    assert clean.endswith("<end>")
    assert _known(secret, lasting=lasting).cleaner([f"<{rest}>{written}<end>"])(f"<{rest}>{written}<end>") == clean


@few
@given(secret=secret_texts, before=st.binary(max_size=6), after=st.binary(max_size=6), lower=st.booleans())
def test_no_base32_of_a_credential_survives(secret: str, before: bytes, after: bytes, lower: bool) -> None:
    """At whatever offset of what was encoded, in either case."""
    written = base64.b32encode(before + secret.encode() + after).decode()
    clean = _known(secret, lasting=True).clean(written.lower() if lower else written)
    assert "«credential" in clean
    assert len(clean.partition("«")[0]) <= len(before) * 8 // 5 + 2


@pytest.mark.parametrize("size", [1, 4, 5, 8])
@pytest.mark.parametrize("sign", ["", " ", "-", ".", ",", "_", "\n", '", "'])
@few
@given(secret=st.text(_KEY_CHARACTERS, min_size=12, max_size=60), before=around, after=around)
def test_no_credential_survives_backwards_or_spelt_out(
    size: int, sign: str, secret: str, before: str, after: str
) -> None:
    """With a sign between its characters or groups of them, or, without one, in reverse order; in JSON too."""
    groups = [secret[at : at + size] for at in range(0, len(secret), size)]
    written = sign.join(groups) if sign else secret[::-1]
    for text in (written, json.dumps(written)):
        cleaned = _known(secret, lasting=True).clean(before + text + after)
        assert written not in cleaned.replace(before, "").replace(after, "")
        assert "«credential" in cleaned


@pytest.mark.parametrize("encode", [base64.b85encode, base64.a85encode])
@few
@given(
    secret=st.text(_KEY_CHARACTERS, min_size=12, max_size=60), before=st.binary(max_size=6), after=st.binary(max_size=6)
)
def test_no_base85_of_a_credential_survives(
    encode: Callable[[bytes], bytes], secret: str, before: bytes, after: bytes
) -> None:
    """At whatever offset of what was encoded, but for at most three bytes at either end; in JSON too."""
    written = encode(before + secret.encode() + after).decode()
    for text in (written, json.dumps({"k": written})):
        assert "«credential" in _known(secret, lasting=True).clean(text)


_BYTE_NOTATIONS: dict[str, Callable[[bytes], str]] = {
    "octal escapes": lambda raw: "".join(f"\\{byte:03o}" for byte in raw),
    "quoted-printable": lambda raw: "".join(f"={byte:02X}" for byte in raw),
    "quoted-printable in lower case": lambda raw: "".join(f"={byte:02x}" for byte in raw),
    "hexadecimal of UTF-16": lambda raw: raw.decode().encode("utf-16-le").hex(),
    "base64 of base64": lambda raw: base64.b64encode(base64.b64encode(raw)).decode(),
    "base64 of UTF-16": lambda raw: base64.b64encode(raw.decode().encode("utf-16-le")).decode(),
}


@pytest.mark.parametrize("name", _BYTE_NOTATIONS)
@few
@given(secret=st.text(_KEY_CHARACTERS, min_size=12, max_size=60))
def test_no_credential_survives_as_bytes_of_other_tools(name: str, secret: str) -> None:
    """As shells, mail programs and PowerShell write bytes; in JSON too."""
    written = _BYTE_NOTATIONS[name](secret.encode())
    for text in (f"x {written} y", json.dumps(written)):
        cleaned = _known(secret, lasting=True).clean(text)
        assert "«credential" in cleaned
        assert written[4:-4] not in cleaned


@pytest.mark.parametrize("lasting", [True, False], ids=["lasting", "passing"])
@given(secret=secret_texts, before=st.binary(max_size=8), after=st.binary(max_size=8), urlsafe=st.booleans())
@few
def test_no_base64_survives(lasting: bool, secret: str, before: bytes, after: bytes, urlsafe: bool) -> None:
    """Nor in base64, at whatever offset of what was encoded, in either alphabet, padded or not."""
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    shown = encode(before + secret.encode() + after).decode()
    cleaned = _known(secret, lasting=lasting).clean(f'{{"k":"{shown}"}}')
    left = cleaned.replace('{"k":"', "").replace('"}', "")
    pieces = left.replace("«credential:full»", " ").replace("«redacted:code»", " ").split()
    assert "«" in left
    assert sum(map(len, pieces)) <= len(shown) - len(secret.encode()) * 8 // 6 + 2


def test_labels_name_the_credential() -> None:
    """What was taken out is named, so that a reader knows what stood there."""
    secrets = _known("sk_live_0123456789", lasting=True)
    secrets.add_ephemeral_secrets("session.ticket", ["tk-abcdefghijkl"])
    assert secrets.clean("Bearer sk_live_0123456789!") == "Bearer «credential:full»!"
    assert secrets.clean("ticket=tk-abcdefghijkl&x") == "ticket=«redacted:session.ticket»&x"


def test_the_longer_secret_goes_first() -> None:
    """Where one secret contains another, nothing of either stays."""
    secrets = Secrets()
    secrets.add_credential("short", "sk_live_01")
    secrets.add_credential("long", "sk_live_0123456789")
    secrets.add_ephemeral_secrets("a", ["code-0123456789", "code-0123456789-and-more"])
    assert secrets.clean("sk_live_0123456789 sk_live_01") == "«credential:long» «credential:short»"
    assert secrets.clean("code-0123456789-and-more code-0123456789") == "«redacted:a» «redacted:a»"


@pytest.mark.parametrize(
    "text",
    [
        "proof=a.b.c",
        "x-PASSING-y",
        "PASSINGPASSING",
        "/PASSING/",
        "%PASSING%",
        '"PASSING"',
        "code:PASSING",
        "=PASSING=",
    ],
)
def test_a_passing_secret_is_found_inside_longer_text(text: str) -> None:
    """Neither neighbours nor separators hide it."""
    secret = "a.b/c+d=e:f g%h_12345"
    assert secret not in _known(secret, lasting=False).clean(text.replace("PASSING", secret))


def test_short_passing_secrets_are_whole_words() -> None:
    """A short one is taken out where it stands alone, not out of the middle of another word."""
    secrets = _known("ticket7", lasting=False)
    assert secrets.clean('{"t":"ticket7"} ticket71 myticket7 ticket7.') == (
        '{"t":"«redacted:code»"} ticket71 myticket7 «redacted:code».'
    )


@pytest.mark.parametrize(
    "secret",
    ["a" * 40, "abcdef" * 6, "tk-0001-0001-0001-0001", "aaaaaa"],
    ids=["one letter", "pieces", "parts", "short"],
)
def test_an_old_passing_secret_is_known_as_it_was_sent(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many, the older are known only as they are, even those that repeat themselves or are much like others."""
    monkeypatch.setattr("conformance.client.redaction.secrets._MAX_RECENT", 3)
    secrets = _known(secret, lasting=False)
    secrets.add_ephemeral_secrets("code", [f"{secret}{number}" for number in range(20)])
    secrets.add_ephemeral_secrets("code", [f"another-{number:020}" for number in range(20)])
    assert secrets.clean(f"<{secret}>") == "<«redacted:code»>"
    assert secrets.clean(f"<{secret}7>") == "<«redacted:code»>"
    assert secrets.clean(f"<{secret.encode().hex()}>") == f"<{secret.encode().hex()}>"
    newest = f"another-{19:020}"
    assert newest.encode().hex() not in secrets.clean(newest.encode().hex())


@given(st.text(max_size=200))
@few
def test_what_holds_no_secret_stays(text: str) -> None:
    """Texts without secrets, and without members that tell of one, are written as they came."""
    secrets = _known("sk_live_0123456789", lasting=True)
    secrets.add_ephemeral_secrets("code", ["code-0123456789abc"])
    assert secrets.clean(text) == text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ('{"access_token":"abcdefgh.ijk"}', '{"access_token":"«redacted»"}'),
        ('{"clientSecret" : "s3cr3t-s3cr3t"}', '{"clientSecret" : "«redacted»"}'),
        ('{"a":"x","apiKey":"0123456789","b":1}', '{"a":"x","apiKey":"«redacted»","b":1}'),
        ('{"api_key":"with \\" quotes \\\\"}', '{"api_key":"«redacted»"}'),
        ('["a","password","b"]', '["a","password","b"]'),
        ('["x" , {"password":"12345678"}]', '["x" , {"password":"«redacted»"}]'),
        ('{"token_type":"DPoP-bound-token"}', '{"token_type":"DPoP-bound-token"}'),
        ('{"ticketKind":"single-use"}', '{"ticketKind":"single-use"}'),
        ('{"token":"short"}', '{"token":"short"}'),
        ('{"message":"the token is wrong"}', '{"message":"the token is wrong"}'),
        ('{"refresh_token":"cut off in the mid', '{"refresh_token":"«redacted»'),
        ('{"refresh_token":"cut off after \\', '{"refresh_token":"«redacted»'),
        ('{"token":"«credential:full»"}', '{"token":"«credential:full»"}'),
    ],
)
def test_members_that_tell_of_a_secret(text: str, cleaned: str) -> None:
    """A member whose name says that it holds a secret is emptied, even where nobody knew the value."""
    assert Secrets().clean(text) == cleaned


def test_deep_reaches_every_string() -> None:
    """Names of members, nested values: all are cleaned; what is not a string stays."""
    secrets = _known("sk_live_0123456789", lasting=True)
    deep = secrets.redact_json({"sk_live_0123456789": ["sk_live_0123456789", 1, None, {"a": "sk_live_0123456789"}]})
    assert "sk_live" not in json.dumps(deep)
    assert deep["«credential:full»"][1:3] == [1, None]


def test_a_secret_too_short_to_be_one_is_left() -> None:
    """Below MIN_LENGTH a text is not a secret: taking it out would make every report unreadable."""
    secrets = Secrets()
    secrets.add_ephemeral_secrets("code", ["a" * (MIN_LENGTH - 1), ""])
    assert secrets.clean("aaaaa bbbbb") == "aaaaa bbbbb"
    assert all(len(form) >= MIN_LENGTH for form in forms("abcdefg"))


def test_cleaning_is_fast() -> None:
    """2,000 texts of 1 KB, with 1,000 passing secrets and 10 lasting ones, take less than a second."""
    source = random.Random(1)
    letters = string.ascii_letters + string.digits
    texts = ["".join(source.choices(letters + '{}":, ', k=1024)) for _ in range(200)]
    secrets = Secrets()
    secrets.add_ephemeral_secrets("code", ("".join(source.choices(letters, k=32)) for _ in range(1000)))
    for number in range(10):
        secrets.add_credential(f"c{number}", "".join(source.choices(letters, k=40)))
    best = min(_seconds(secrets, texts) for _ in range(3))
    assert best * 10 < 1


def _seconds(secrets: Secrets, texts: list[str]) -> float:
    started = time.process_time()
    for text in texts:
        secrets.clean(text)
    return time.process_time() - started


@pytest.mark.parametrize("text", ["{}", "a {} b", "session-{}", '"{} {}"', "{}" + "-" * 9])
def test_any_token_in_the_form_of_a_jwt_is_removed(text: str) -> None:
    """Of any origin; what stands before it in the same word stays."""
    token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0"
    cleaned = Secrets().clean(text.replace("{}", token))
    assert "eyJ" not in cleaned and "«redacted:jwt" in cleaned
    assert cleaned.startswith(text.partition("{")[0])


@pytest.mark.parametrize(
    "text",
    [
        *('"' + "secret" * 20_000, '"secret"' * 20_000, '"secret":"' * 20_000, '"a\\' * 40_000),
        *("eyJ" * 21_000, "eyJ." * 16_000, "eyJ" + "a" * 60_000 + "." + "eyJ" * 20_000),
    ],
)
def test_hostile_text_costs_little(text: str) -> None:
    """A text made to be searched for ever is cleaned in a moment."""
    started = time.process_time()
    Secrets().clean(text)
    assert time.process_time() - started < 1


def test_of_very_many_the_last_are_known_in_every_spelling() -> None:
    """A run of any length fits into the memory; how they were sent is known of all, and lasting ones stay."""
    secrets = Secrets()
    secrets.add_credential("full", "sk_lasting_0123456789")
    values = [f"token-{number:06d}-abcdefgh" for number in range(2_100)]
    for value in values:
        secrets.add_ephemeral_secrets("token", [value])
    for value in (values[0], values[-1], values[1_000]):
        assert value not in secrets.clean(f"it said {value}, and no more")
    assert values[-1].encode().hex() not in secrets.clean(values[-1].encode().hex())
    assert values[700].encode().hex() not in secrets.clean(f"x{values[700].encode().hex()}x")
    assert b"sk_lasting_0123456789".hex() not in secrets.clean(b"sk_lasting_0123456789".hex())
    assert len(secrets._other_spellings) == 1_500
