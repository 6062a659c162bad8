"""Secrets and people's data in traffic that the suite did not send: patterns and names by which they are recognised.

Each value is replaced by a placeholder with its mark (`marks`), so that laws over several exchanges still see what is
equal.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from conformance.client.redaction.marks import Marks

_EMAIL: Final = re.compile(r"[A-Za-z0-9._+-]{1,64}(?:@|%40|\\u0040|&#64;)(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}")
_CARD: Final = re.compile(r"(?<![\d.])[2-6](?:(?:[ +-]|%20)?\d){12,18}(?![\d.])")
_CARD_RANGES: Final = re.compile(r"3[47]\d{13}|4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|6\d{15,18}")
_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b")
_PHONE: Final = re.compile(r"(?<![\w+-])(?:\+|%2B)\d{1,3}(?:(?:[ ()/-]|%20){0,2}\d{2,}){2,6}(?!\w)")
_AUTHORIZATION: Final = re.compile(r"(?i)\b(?:bearer|basic|dpop|apikey)(?: |%20|\+)+(?!«)[\w.~+/%=-]{6,}")
_USER_INFO: Final = re.compile(r"(?<=://)[^\s/@:]{1,100}:[^\s/@]{1,200}(?=@)")
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{0,8000}?(?:-----END [A-Z ]{0,30}-----|\Z)", re.DOTALL
)
_JWT: Final = re.compile(r"(?<![\w-])(?:(?!eyJ)[\w-])*eyJ[\w-]{6,}+(?:\.[\w-]{2,}+){1,4}")
"""From the start of a run of such characters, once: a run of `eyJeyJ...` takes no time squared."""
_PREFIXED: Final = re.compile(
    r"\b(?:(?:sk|pk|rk|whsec)_(?:live|test)?_?\w{8,}|gh[pousr]_\w{16,}|xox[abpr]-[\w-]{10,}|AKIA[A-Z0-9]{12,}|AIza[\w-]{20,})"
)
_TOKEN: Final = re.compile(r"[\w~+=-]{24,}", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MIN_DISTINCT: Final = 8
SECRET_NAMES: Final = re.compile(
    r"secret|token|passw|passphrase|authorization|api[_-]?key|private[_-]?key|ticket|verifier|credential|signature"
    r"|(?<![a-z])(?:otp|pin|cvv|cvc|cvc2|session|sid|cookie|jwt|proof|nonce)(?![a-z])",
    re.IGNORECASE,
)
_HARMLESS_NAMES: Final = re.compile(r"token_?type|expires|kind|status|method|id$|url$|uri$", re.IGNORECASE)
PERSONAL_NAMES: Final = re.compile(
    r"e[_-]?mail|phone|mobile|(?:first|last|full|family|given|middle|maiden|sur|user|nick|display|legal|holder)[_-]?name"
    r"|(?:customer|buyer|recipient|contact|owner|person|payer|cardholder|card[_-]?holder|shopper|guest)[_-]?name"
    r"|birth|passport|national[_-]?id|tax[_-]?id|iban|card[_-]?number|account[_-]?number|(?<![a-z])(?:pan|ssn|dob)(?![a-z])"
    r"|street|address[_-]?line|postal|post[_-]?code|zip",
    re.IGNORECASE,
)
PERSON_NAMES: Final = re.compile(
    r"(?:customer|buyer|recipient|contact|person|payer|cardholder|card_?holder|shopper|guest|consignee|addressee)"
    r"(?:_?info|_?details|_?data)?|.*address(?:es)?|(?<![a-z])user(?![a-z])",
    re.IGNORECASE,
)
"""Members whose object is about a person: every text in it is personal, `name` included."""
_SUSPECT_PARTS: Final = (
    *(
        "secret",
        "token",
        "passw",
        "passp",
        "authoriz",
        "key",
        "ticket",
        "verif",
        "credential",
        "signature",
        "otp",
        "pin",
    ),
    *("cvv", "cvc", "session", "sid", "cookie", "jwt", "proof", "nonce", "mail", "phone", "mobile", "name", "birth"),
    *(
        "national",
        "tax",
        "iban",
        "card",
        "account",
        "pan",
        "ssn",
        "dob",
        "street",
        "address",
        "post",
        "zip",
        "customer",
    ),
    *("buyer", "recip", "contact", "person", "payer", "shopper", "guest", "consignee", "user", "owner", "code", "eyj"),
    *("begin", "bearer", "basic", "dpop", "sk_", "pk_", "rk_", "whsec", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xox"),
    *("akia", "aiza"),
)
"""Parts of words, in lower case: a text without them, without these signs, long tokens and numbers, is harmless."""
_SUSPECT_SIGNS: Final = ("\\u", "@", "%40", "&#", "+", "%2b", "://")
_HARMLESS_WORDS: Final[set[bytes]] = set()
_MAX_WORDS: Final = 20_000
_LONG_TOKEN: Final = re.compile(r"[A-Za-z0-9_~+=-]{24}")
_DIGITS: Final = re.compile(r"\d(?:[ +-]|%20)?\d[\d +%-]{8}")
_ACCOUNT: Final = re.compile(r"\d\d[\dA-Z ]{9}")
_WORD_BYTES: Final = bytes(sign if chr(sign) in string.ascii_lowercase + "_" else ord(" ") for sign in range(256))
"""Leaves the words of a text in lower case."""
_TOKEN_BYTES: Final = bytes(
    ord("x") if chr(sign) in string.ascii_letters + string.digits + "_~+=-" else ord(" ") for sign in range(256)
)
_NUMBER_BYTES: Final = bytes(
    ord("x") if sign > 127 or chr(sign) in string.ascii_uppercase + string.digits + " +%-" else ord("_")
    for sign in range(256)
)
"""Translated by these, a run of the signs of a token or number is a run of `x`, which is found at once."""
_TOKEN_RUN: Final = b"x" * 24
_NUMBER_RUN: Final = b"x" * 10
_SCHEMES: Final = ("bearer", "basic", "dpop", "apikey")
_PREFIXES: Final = ("sk_", "pk_", "rk_", "whsec_", "gh", "xox", "AKIA", "AIza")
_SHORTEST: Final = 10
"""Shorter texts are only searched for addresses and phone numbers."""
_MAX_REMEMBERED: Final = 4_096
_LONGEST_REMEMBERED: Final = 200


@lru_cache(maxsize=4096)
def is_secret_member(name: str) -> bool:
    """Whether the name of a member, parameter or header marks its value as a secret."""
    return bool(SECRET_NAMES.search(name)) and not _HARMLESS_NAMES.search(name)


@lru_cache(maxsize=16)
def is_suspect(text: str) -> bool:
    """Whether a text needs a search: most do not. Cached for bodies, which are searched again when they are written."""
    lower, raw = text.lower(), text.encode("utf-8", "surrogatepass")
    words = lower.encode("utf-8", "surrogatepass").translate(_WORD_BYTES).split()
    return (
        any(map(lower.__contains__, _SUSPECT_SIGNS))
        or (not _HARMLESS_WORDS.issuperset(words) and any(map(_is_suspect_word, words)))
        or _TOKEN_RUN in raw.translate(_TOKEN_BYTES)
        or (_NUMBER_RUN in raw.translate(_NUMBER_BYTES) and _may_be_number(text))
    )


def _may_be_number(text: str) -> bool:
    return _DIGITS.search(text) is not None or _ACCOUNT.search(text) is not None


def _is_suspect_word(word: bytes) -> bool:
    if word in _HARMLESS_WORDS:
        return False
    text = word.decode()
    if any(part in text for part in _SUSPECT_PARTS):
        return True
    if len(_HARMLESS_WORDS) < _MAX_WORDS:
        _HARMLESS_WORDS.add(word)
    return False


def is_card(digits: str) -> bool:
    """Whether these are the digits of a payment card: a known range, and the check digit of ISO/IEC 7812-1 (Luhn)."""
    if not _CARD_RANGES.fullmatch(digits):
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (2 if place % 2 else 1)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


def is_iban(text: str) -> bool:
    """Whether the check digits of an IBAN fit (ISO 13616, mod 97)."""
    plain = text.replace(" ", "")
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _looks_random(text: str) -> bool:
    """Whether a text is a token rather than a word or a UUID: letters and digits, many of them different."""
    if _UUID.search(text) or len(set(text)) < _MIN_DISTINCT:
        return False
    return any(sign.isdigit() for sign in text) and any(sign.isalpha() for sign in text)


class PatternRedactor:
    """Replaces what well-known patterns recognise in a text of any form."""

    def __init__(self, marks: Marks) -> None:
        self._placeholder = marks.placeholder
        self._remembered: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        if len(text) < _SHORTEST and "@" not in text and "+" not in text:
            return text
        if (known := self._remembered.get(text)) is not None:
            return known
        clean = text
        for kind, is_possible, pattern, holds in _RULES:
            if is_possible(clean):
                clean = _outside_placeholders(pattern, self._replacement(kind, holds), clean)
        if len(text) <= _LONGEST_REMEMBERED and len(self._remembered) < _MAX_REMEMBERED:
            self._remembered[text] = clean
        return clean

    def _replacement(self, kind: str, holds: Callable[[str], bool]) -> Callable[[re.Match[str]], str]:
        return lambda match: self._placeholder(kind, match[0]) if holds(match[0]) else match[0]


def _accept_any(_: str) -> bool:
    return True


def _contains(*words: str) -> Callable[[str], bool]:
    return lambda text: any(word in text for word in words)


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.search(text) is not None


_Test = Callable[[str], bool]
_RULES: Final[tuple[tuple[str, _Test, re.Pattern[str], _Test], ...]] = (
    ("private-key", _contains("-----BEGIN"), _PRIVATE_KEY, _accept_any),
    ("jwt", _contains("eyJ"), _JWT, _accept_any),
    ("user-info", _contains("://"), _USER_INFO, _accept_any),
    ("authorization", lambda text: any(word in text.lower() for word in _SCHEMES), _AUTHORIZATION, _accept_any),
    ("key", _contains(*_PREFIXES), _PREFIXED, _accept_any),
    ("e-mail", _contains("@", "%40", "\\u0040", "&#64;"), _EMAIL, _accept_any),
    ("card", _matches(_DIGITS), _CARD, lambda text: is_card(re.sub(r"%20|\D", "", text))),
    ("iban", _matches(_ACCOUNT), _IBAN, is_iban),
    ("phone", _contains("+", "%2B"), _PHONE, _accept_any),
    ("token", _matches(_LONG_TOKEN), _TOKEN, _looks_random),
)
"""The kind, a fast test that excludes most texts, the pattern, and whether a match is one."""
_PLACEHOLDER: Final = re.compile(r"(«[^«»]{1,200}»)")


def _outside_placeholders(pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str], text: str) -> str:
    if "«" not in text:
        return pattern.sub(replacement, text)
    parts = _PLACEHOLDER.split(text)
    return "".join(part if number % 2 else pattern.sub(replacement, part) for number, part in enumerate(parts))


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object in their order, repeated names included."""


class DocumentRedactor:
    """Replaces secrets and people's data in JSON values, by the names of members and by patterns.

    `marked`: names of members that a schema marks with `x-sensitive`. `shape`: every value is replaced by its type.
    """

    def __init__(self, marks: Marks, *, marked: frozenset[str] = frozenset(), shape: bool = False) -> None:
        self._placeholder = marks.placeholder
        self._patterns = PatternRedactor(marks)
        self._marked = marked
        self._shape = shape
        self._kinds: dict[str, str] = {}

    def redact(self, text: str, replaced: dict[str, str]) -> str | None:
        """A JSON text without them; None where it is not JSON. `replaced` receives each value that was replaced."""
        try:
            value = json.loads(text, object_pairs_hook=_Pairs)
            return json.dumps(_plain(self._walk(value, "", replaced)), ensure_ascii=False, separators=(",", ":"))
        except (ValueError, RecursionError):
            return None

    def value(self, name: str, text: str, replaced: dict[str, str]) -> str:
        """One text under a name, such as a parameter of a query or form."""
        return str(self._leaf(text, self._kind(name), replaced))

    def _kind(self, name: str) -> str:
        """The kind of data that a name marks; empty for other names."""
        if (known := self._kinds.get(name)) is not None:
            return known
        kind = self._kind_of(name)
        if len(self._kinds) < _MAX_REMEMBERED:
            self._kinds[name] = kind
        return kind

    def _kind_of(self, name: str) -> str:
        if name in self._marked:
            return "sensitive"
        if name == "code_verifier" or is_secret_member(name):
            return "secret"
        return "personal" if PERSONAL_NAMES.search(name) or PERSON_NAMES.fullmatch(name) else ""

    def _walk(self, value: Any, kind: str, replaced: dict[str, str]) -> Any:
        if isinstance(value, _Pairs):
            return _Pairs((self._patterns(n), self._walk(v, self._kind(n) or kind, replaced)) for n, v in value)
        if isinstance(value, list):
            return [self._walk(item, kind, replaced) for item in value]
        return self._leaf(value, kind, replaced)

    def _leaf(self, value: Any, kind: str, replaced: dict[str, str]) -> Any:
        if value is None or isinstance(value, bool):
            return value if not self._shape or value is None else "«boolean»"
        text = value if isinstance(value, str) else json.dumps(value)
        if self._shape:
            return self._placeholder("string" if isinstance(value, str) else "number", text)
        if text.startswith("«") or not text:
            return value
        clean = self._placeholder(kind, text) if kind and self._is_hidden(value, kind) else self._patterns(text)
        if clean == text:
            return value
        replaced[text] = clean
        return clean

    def _is_hidden(self, value: Any, kind: str) -> bool:
        """Numbers under a secret or personal name are hidden where they are long enough to tell something."""
        return isinstance(value, str) or kind == "sensitive" or len(json.dumps(value)) >= 3


def _plain(value: Any) -> Any:
    """Pairs as an object: of a repeated name the last one."""
    if isinstance(value, _Pairs):
        return {name: _plain(item) for name, item in value}
    return [_plain(item) for item in value] if isinstance(value, list) else value
