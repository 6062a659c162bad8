"""Orders of values that a sort may mean, since the interface names no collation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import pairwise
from typing import Any, Final


def _number(value: Any) -> float:
    """A number, also as text; raises ValueError for any other text."""
    return float(value)


def _letters(value: Any) -> str:
    return "".join(character for character in str(value).casefold() if character.isalnum())


def _naturally(value: Any) -> list[tuple[int, str]]:
    """As people sort: letters without their accents, numbers within a text by their value."""
    plain = unicodedata.normalize("NFKD", str(value)).casefold()
    runs = re.findall(r"[0-9]+|[^\W\d_]+", "".join(c for c in plain if not unicodedata.combining(c)))
    return [(int(run), "") if run.isdecimal() else (_BEFORE_LETTERS, run) for run in runs]


def _instant(value: Any) -> float:
    """A time with any number of decimals and any offset; raises ValueError for any other text."""
    time = datetime.fromisoformat(str(value))
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


def _duration(value: Any) -> float:
    """Seconds of a duration (ISO 8601, 4.4.3); raises ValueError for any other text."""
    found = _DURATION.fullmatch(str(value))
    if found is None:
        raise ValueError(value)
    return sum(float((part or "0").replace(",", ".")) * unit for part, unit in zip(found.groups(), _UNITS, strict=True))


def _without_article(value: Any) -> list[tuple[int, str]]:
    """As libraries sort titles: `The Cup` under C."""
    return _naturally(_ARTICLE.sub("", str(value)))


def _amount(value: Any) -> int:
    """A price as people read it, in hundredths: with thousands apart, and a currency; raises ValueError for others."""
    found = _AMOUNT.fullmatch(str(value))
    if found is None:
        raise ValueError(value)
    return int(re.sub(r"\D", "", found["whole"])) * 100 + int((found["part"] or "0").ljust(2, "0"))


def _by_class(value: Any) -> list[tuple[int, str]]:
    """As the Unicode Collation Algorithm does: marks before digits before letters, without regard to case."""
    return [(1 if c.isdigit() else 2 if c.isalpha() else 0, c) for c in str(value).casefold()]


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
_AMOUNT: Final = re.compile(
    r"[^\d-]{0,5}(?P<whole>\d{1,3}([., '\u2019\u00a0\u202f]\d{3})+|\d+)([.,](?P<part>\d{1,2}))?\D{0,5}", re.ASCII
)
_CLOCK: Final = r"[ ,T]+(\d{1,2}):(\d\d)(?::(\d\d))?(?: ?(?P<half>[APap])\.?[Mm]\.?)?"
_DATE: Final = re.compile(rf"(\d{{1,2}})[./-] ?(\d{{1,2}})[./-] ?(\d{{4}}|\d\d)(?:{_CLOCK})?", re.ASCII)
_MONTHS: Final = 12
_DURATION: Final = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?", re.ASCII)
_UNITS: Final = (604_800, 86_400, 3_600, 60, 1)
_ARTICLE: Final = re.compile(
    r"(?:the|an?|der|die|das|eine?|les?|la|une?|el|l[ao]s|il|lo|gli|het|de|os?|as) |l['\u2019]", re.IGNORECASE
)
_NUMBERS: Final = (_number, _amount)
_TIMES: Final = (_instant, _http_date, _named_month, partial(_date, day=0), partial(_date, day=1), _duration)
_TEXTS: Final[tuple[Callable[[Any], Any], ...]] = (
    str,
    lambda text: str(text).casefold(),
    _letters,
    _naturally,
    _without_article,
    _by_class,
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
