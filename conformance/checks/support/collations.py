"""Orders of values that a sort may mean, since the interface names no collation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import pairwise
from typing import Any, Final


def _number(value: Any) -> float:
    """A number, also as text; raises ValueError for any other text."""
    return float(value)


def _letters(value: Any) -> str:
    return "".join(character for character in str(value).casefold() if character.isalnum())


def _without_accents(value: Any) -> str:
    plain = unicodedata.normalize("NFKD", str(value)).casefold()
    return "".join(character for character in plain if not unicodedata.combining(character))


def _naturally(value: Any) -> list[tuple[int, str]]:
    """As people sort: letters without their accents, numbers within a text by their value."""
    runs = re.findall(r"[0-9]+|[^\W\d_]+", _without_accents(value))
    return [(int(run), "") if run.isdecimal() else (_BEFORE_LETTERS, run) for run in runs]


def _instant(value: Any) -> float:
    """A time with any number of decimals and any offset, a day, a month or a year; raises ValueError for others."""
    text = str(value)
    time = datetime.fromisoformat(text + _FIRST_DAY[len(text) :] if _MONTH.fullmatch(text) else text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _http_date(value: Any) -> float:
    """A time as in HTTP, which some frameworks write in JSON too; raises ValueError for any other text."""
    return parsedate_to_datetime(str(value)).timestamp()


def _named_month(value: Any) -> float:
    """`27 Jan 2026` or `January 27, 2026`; raises ValueError for any other text."""
    return _http_date(f"{value} 00:00:00")


def _date(value: Any, day: int) -> tuple[int, ...]:
    """A date in figures, its year last, with or without a time; raises ValueError for any other text."""
    found = _DATE.fullmatch(str(value))
    if found is None or int(found[2 - day]) > _MONTHS:
        raise ValueError(value)
    parts = [int(part or 0) for part in found.groups()[:6]]
    hour = parts[3] % 12 + 12 * (found["half"] in ("P", "p")) if found["half"] else parts[3]
    return parts[2], parts[1 - day], parts[day], hour, *parts[4:]


def _clock_time(value: Any, is_clock: bool) -> tuple[float, ...]:
    """`9:30 PM` or `01:30:00`: a time of day, or a length, whose last part is seconds; raises ValueError for others."""
    found = _CLOCK_TIME.fullmatch(str(value))
    if found is None:
        raise ValueError(value)
    first, *others = [float(part.replace(",", ".")) for part in found["time"].split(":")]
    if found["half"]:
        first = first % 12 + 12 * (found["half"] in ("P", "p"))
    return (first, *others) if is_clock or len(others) > 1 else (0, first, *others)


def _duration(value: Any, month: float, year: float) -> float:
    """Days of a duration (ISO 8601, 4.4.3), with these days of a month and a year; raises ValueError for others."""
    found = _DURATION.fullmatch(str(value))
    if found is None:
        raise ValueError(value)
    units = (year, month, 7, 1, 1 / 24, 1 / 1_440, 1 / 86_400)
    return sum(float((part or "0").replace(",", ".")) * unit for part, unit in zip(found.groups(), units, strict=True))


def _without_article(value: Any) -> list[tuple[int, str]]:
    """As libraries sort titles: `The Cup` under C."""
    return _naturally(_ARTICLE.sub("", str(value)))


def _amount(value: Any, form: re.Pattern[str]) -> Decimal:
    """An amount as people read it: with thousands apart, and a currency or unit; raises ValueError for others."""
    found = form.fullmatch(str(value))
    if found is None:
        raise ValueError(value)
    number = Decimal(re.sub(r"\D", "", found["whole"]) + "." + (found["part"] or "0"))
    return -number if found["sign"] else number


def _by_class(value: Any) -> list[tuple[int, str]]:
    """As the Unicode Collation Algorithm does: marks before digits before letters, without regard to case."""
    return [(1 if c.isdigit() else 2 if c.isalpha() else 0, c) for c in str(value).casefold()]


def _by_root_collation(value: Any, is_numeric: bool) -> list[tuple[int, int, str]]:
    """As the root collation of CLDR does: marks in an order of their own, digits, letters; accents do not count.

    With its option kn (`is_numeric`) digits in a row are a number.
    """
    parts = re.findall(r"[0-9]+|." if is_numeric else ".", _without_accents(value), re.DOTALL)
    return [
        (1, int(part), "") if part.isdecimal() else (2, 0, part) if part.isalpha() else (0, _MARKS.find(part), "")
        for part in parts
    ]


_MARKS: Final = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
"""In the order of CLDR's root collation. White space, and what is not in ASCII, comes before them."""

_TAILORINGS: Final[tuple[Mapping[str, str], ...]] = (
    {"ch": "h\uffff"},  # cs, sk
    {"aa": "z\uffff"},  # da, nb, fo
    {"z": "s\uffff"},  # et
    {"dzs": "d\ufffe\uffff", "cs": "c\uffff", "dz": "d\ufffe", "gy": "g\uffff", "ly": "l\uffff", "ny": "n\uffff",
     "sz": "s\uffff", "ty": "t\uffff", "zs": "z\uffff"},  # hu
    {"lj": "l\uffff", "nj": "n\uffff"},  # hr, bs
    {"y": "i\uffff"},  # lt, lv
)  # fmt: skip
"""Letters of ASCII that languages place otherwise (CLDR)."""


def _tailoring_key(letters: Mapping[str, str]) -> Callable[[Any], str]:
    form = re.compile("|".join(letters))
    return lambda value: form.sub(lambda match: letters[match[0]], str(value).casefold())


_BEFORE_LETTERS: Final = 10**40
_WHOLE: Final = (
    r"(?:(?:[^\d-]{0,4}[^\w-])?(?P<sign>[-\u2212]))?[^\d-]{0,5}"
    r"(?P<whole>\d{1,3}(?:[., '\u2019\u00a0\u202f]\d{2,3})*[., '\u2019\u00a0\u202f]\d{3}|\d+)"
)
"""A group of digits has three, or two in India but for the last one. A sign with a letter before it is a hyphen."""
_AMOUNT: Final = re.compile(_WHOLE + r"(?:[.,](?P<part>\d+))?\D*", re.ASCII)
_AMOUNT_OF_THOUSANDTHS: Final = re.compile(_WHOLE + r"[.,](?P<part>\d{3})\D*", re.ASCII)
"""As of a currency whose smallest unit is a thousandth: `1.250 KWD`."""
_CLOCK: Final = r"[ ,T]+(\d{1,2}):(\d\d)(?::(\d\d))?(?: ?(?P<half>[APap])\.?[Mm]\.?)?"
_DATE: Final = re.compile(rf"(\d{{1,2}})[./-] ?(\d{{1,2}})[./-] ?(\d{{4}}|\d\d)(?:{_CLOCK})?", re.ASCII)
_MONTHS: Final = 12
_MONTH: Final = re.compile(r"\d{4}(-\d\d)?", re.ASCII)
_FIRST_DAY: Final = "YYYY-01-01"
_CLOCK_TIME: Final = re.compile(
    r"(?P<time>\d{1,3}:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?)(?: ?(?P<half>[APap])\.?[Mm]\.?)?", re.ASCII
)
_PART: Final = r"(\d+(?:[.,]\d+)?)"
_DURATION: Final = re.compile(
    f"P(?:{_PART}Y)?(?:{_PART}M)?(?:{_PART}W)?(?:{_PART}D)?(?:T(?:{_PART}H)?(?:{_PART}M)?(?:{_PART}S)?)?", re.ASCII
)
_MONTHS_AND_YEARS: Final = ((30.436875, 365.2425), (30, 365), (28, 365), (31, 366))
"""In days, as a service may take them."""
_ARTICLE: Final = re.compile(
    r"(?:the|an?|der|die|das|eine?|les?|la|une?|el|l[ao]s|il|lo|gli|het|de|os?|as) |l['\u2019]", re.IGNORECASE
)
_NUMBERS: Final = (_number, partial(_amount, form=_AMOUNT), partial(_amount, form=_AMOUNT_OF_THOUSANDTHS))
_TIMES: Final[tuple[Callable[[Any], Any], ...]] = (
    _instant,
    _number,  # seconds since 1970
    _http_date,
    _named_month,
    partial(_date, day=0),
    partial(_date, day=1),
    partial(_clock_time, is_clock=True),
    partial(_clock_time, is_clock=False),
    *(partial(_duration, month=month, year=year) for month, year in _MONTHS_AND_YEARS),
)
_TEXTS: Final[tuple[Callable[[Any], Any], ...]] = (
    str,
    lambda text: str(text).casefold(),
    _letters,
    _naturally,
    _without_article,
    _by_class,
    partial(_by_root_collation, is_numeric=False),
    partial(_by_root_collation, is_numeric=True),
    *map(_tailoring_key, _TAILORINGS),
)
_COLLATIONS: Final[Mapping[str, tuple[Callable[[Any], Any], ...]]] = {
    "": (*_NUMBERS, *_TEXTS, *_TIMES),
    "numbers": _NUMBERS,
    "times": _TIMES,
}
"""By what the profile states of the values. The interface names no collation: an order is as stated if it is one of
these."""


def is_ordered(values: list[Any], kind: str = "") -> bool:
    """Whether values are ascending by one of the collations, JSON numbers by their value. Nulls may stand anywhere.

    `kind`: what texts stand for, `numbers` or `times`; by default any order of texts will do, too. Of texts that are
    out of every order, those in ASCII alone count: languages place other letters differently.
    """
    present = [value for value in values if value is not None]
    if all(isinstance(value, int | float) for value in present):
        return all(first <= second for first, second in pairwise(present))
    plain = [value for value in present if str(value).isascii()]
    return any(_is_ascending(part, key) for part in (present, plain) for key in _COLLATIONS[kind])


def _is_ascending(values: list[Any], key: Callable[[Any], Any]) -> bool:
    try:
        keys = [key(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        return False
    return all(first <= second for first, second in pairwise(keys))


def first_decrease(values: list[Any], kind: str = "") -> tuple[Any, Any] | None:
    """The first two neighbours, nulls left out, that are not ascending by any collation themselves."""
    present = [value for value in values if value is not None]
    return next((pair for pair in pairwise(present) if not is_ordered(list(pair), kind)), None)
