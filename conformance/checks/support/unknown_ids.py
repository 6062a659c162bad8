"""Unknown ids in the format of a known one."""

from __future__ import annotations

import re
import secrets
import unicodedata
from typing import Final

_NUMBERED: Final = re.compile(
    r"\D*((19|20)\d\d\D+)?\d{1,11}|([A-Za-z]{0,2}|[A-Za-z]{0,6}[-_./#])(\d{1,8}[-_./]){1,3}[A-Za-z]{0,3}\d{1,6}"
)
"""`ORD-1001`, `2026-000017`, `24-1001`, `S1-1001`, `20260517-0017`: each installation may count so for itself."""

_LONG_NUMBER: Final = re.compile("[1-9][0-9]{5,}")
_NUMBER: Final = re.compile("[0-9]+")
_LEADING_NUMBER: Final = re.compile(r"[^0-9a-z]*0*(\d+)")
_LONGEST_COUNT: Final = 9
"""Digits: no counter of resources has reached a greater number."""
_SHORT: Final = 5
_NUMBER_ALONE: Final = re.compile(r"\d+([-_.].*[g-zG-Z].*)?")
"""A number, or one with a title: hexadecimal groups are not titles."""
_TITLED_CODE: Final = re.compile(r"(.*\d[0-9A-Za-z]*)([-_.][A-Za-z]{2,}(?:[-_.](?:[A-Za-z]{2,}|\d{1,4}))*)")
"""A code, and words behind it, with numbers as that of a year (`cart-a8c6-summer`, `cart-a8c6-summer-2024`)."""


def has_number_alone(known: str) -> bool:
    """Whether an id is a number, or one with a title (`17-summer-cart`), of which a service may read the number."""
    return _NUMBER_ALONE.fullmatch(known) is not None


def may_be_read_in_part(known: str) -> bool:
    """Whether a service may read a part of an id alone.

    That of a number or a code without its title, or that of base64 up to its padding, where decoders may stop.
    """
    return has_number_alone(known) or bool(_title_of(known)) or known.endswith("=")


def _title_of(known: str) -> str:
    """The words behind a code, with the mark before them; hexadecimal groups are no words."""
    found = _TITLED_CODE.fullmatch(known)
    return found[2] if found and re.search("[g-zG-Z]", found[2]) else ""


def is_distinctive(known: str) -> bool:
    """Whether an id names one resource only: a short one, or a number, may be that of another installation's too.

    So may a number with a word, a date or the number of a store before it.
    """
    return len(known) > _SHORT and not known.isdecimal() and not _NUMBERED.fullmatch(known)


def is_long_number(known: str) -> bool:
    """Whether an id is a number that stands for something else by a rare chance only, where the place is the same."""
    return _LONG_NUMBER.fullmatch(known) is not None


def may_exist(generated: str, known: str) -> bool:
    """Whether a generated id may name a resource, since the known id is short or a number.

    Of an id that begins with a number a service may read the number alone, in any digits.
    """
    plain, real = (unicodedata.normalize("NFKC", text).casefold().strip() for text in (generated, known))
    if real in plain:
        return True
    if not is_distinctive(known):
        number = _LEADING_NUMBER.match(plain)
        return len(plain) <= max(len(real), _SHORT) or (number is not None and len(number[1]) <= _LONGEST_COUNT)
    return False


def unknown_id_like(known: str) -> str:
    """An unknown id in the same format: its last characters changed, each within its class.

    A number, also one between marks as in `#1001` and `12-345`, becomes one that has not been reached. A short id gets
    more characters: any other one of its length may exist. Words behind a code stay: a service may not read them.
    """
    if not any(c.isalpha() for c in known) and (numbers := list(_NUMBER.finditer(known))):
        start, end = numbers[-1].span()
        return f"{known[:start]}{int(known[start:end]) + 987_654_321}{known[end:]}"
    if len(known) <= _SHORT and known[-1:].isalnum():
        return known + "".join(secrets.choice(_alphabet(known[-1])) for _ in range(_LONGEST_COUNT))
    title = _title_of(known)
    characters = list(known.removesuffix(title))
    for index in [i for i, c in enumerate(characters) if c.isalnum()][-8:]:
        old = characters[index]
        characters[index] = secrets.choice([c for c in _alphabet(old) if c != old])
    return "".join(characters) + title


def _alphabet(character: str) -> str:
    """The characters that may stand in place of one: digits, or letters that are hexadecimal digits too."""
    if character.isdigit():
        return "0123456789"
    return "abcdef" if character.islower() else "ABCDEF"
