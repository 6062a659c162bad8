"""Values of search parameters, as a document, its examples and answers of the target show them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Final

Values = Mapping[str, tuple[str, ...]]
"""Search parameter -> values, most likely first."""

_MEMBERS: Final = {
    "locale": re.compile(r"locale|lang(uage)?s?(code|tag)?s?$", re.IGNORECASE),
    "market": re.compile(r"market|(countr(y|ies)|regions?)[-_]?(code|id)?s?$", re.IGNORECASE),
    "sort": re.compile(
        r"^(default|search|product|allowed|supported)?[-_]?sort(s|ing|ings)?([-_]?(by|order|key|option)s?)?$",
        re.IGNORECASE,
    ),
    "pageSize": re.compile(r"page[-_]?size$|^per[-_]?page$", re.IGNORECASE),
    "q": re.compile(r"^(popular|suggest|trending|search[-_]?term|quer(y|ies))", re.IGNORECASE),
}
"""Search parameter -> the members of an answer that may show its values."""
_CODES: Final = re.compile(r"^(code|id|value|key|tag|name|slug)$", re.IGNORECASE)
_CODE: Final = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z]{2,4})?")
_TITLES: Final = re.compile(r"^(name|title|label)$", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]{3,20}")
_REGION: Final = re.compile(r"[-_]([A-Za-z]{2})$")
COMMON_WORDS: Final = ("a", "shirt", "e", "shoe", "gift", "test", "o", "s", "the")
COMMON_PAIRS: Final = (
    ("en-US", "US"),
    ("en", "US"),
    ("en-GB", "GB"),
    ("de-DE", "DE"),
    ("en_US", "US"),
    ("en", "us"),
    ("en-us", "us"),
    ("fr-FR", "FR"),
)
"""Common pairs of locale and market."""
COMMON_SORTS: Final = (
    "relevance",
    "name",
    "price",
    "newest",
    "price_asc",
    "default",
    "title",
    "popularity",
    "createdAt",
    "best",
)
_LARGER_PAGE_SIZE: Final = "10"
"""Where smaller ones are refused."""
PAGE_SIZE: Final = "2"
"""Small, so that a query has several pages."""
_ORDER: Final = ("q", "locale", "market", "sort", "page", "pageSize")
_OFTEN, _RARELY = 1, 4
"""How far back a value stands in the order of queries, for each place in its list."""
_MAX_VALUES: Final = 8
_MAX_DEPTH: Final = 8
_EXAMPLE_KEYWORDS: Final = ("example", "examples", "const", "enum", "default")


def merge(*parts: Values) -> dict[str, tuple[str, ...]]:
    """The values of each parameter in this order, each once."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: tuple(dict.fromkeys(value for part in parts for value in part.get(name, ())))[: 2 * _MAX_VALUES]
        for name in names
    }


def values_of_parameters(parameters: list[Any], resolve: Any) -> dict[str, tuple[str, ...]]:
    """Query parameter -> its examples, defaults and enumerated values."""
    found: dict[str, tuple[str, ...]] = {}
    for parameter in parameters:
        if not isinstance(parameter, Mapping) or parameter.get("in") != "query":
            continue
        examples = parameter.get("examples")
        examples = [resolve(item) for item in examples.values()] if isinstance(examples, Mapping) else []
        values = [parameter.get("example"), *(e.get("value") for e in examples if isinstance(e, Mapping))]
        values += list(_schema_values(parameter.get("schema"), resolve))
        if usable := tuple(dict.fromkeys(filter(None, map(_usable, values)))):
            found[str(parameter.get("name"))] = usable[:_MAX_VALUES]
    return found


def lists_of_parameters(parameters: list[Any], resolve: Any) -> dict[str, tuple[str, ...]]:
    """Query parameter -> the values of its enumeration, if it has one and all of them are texts."""
    found: dict[str, tuple[str, ...]] = {}
    for parameter in parameters:
        if isinstance(parameter, Mapping) and parameter.get("in") == "query":
            schema = resolve(parameter.get("schema"))
            values = schema.get("enum") if isinstance(schema, Mapping) else None
            if isinstance(values, list) and values and all(isinstance(value, str) and value for value in values):
                found[str(parameter.get("name"))] = tuple(dict.fromkeys(values))
    return found


def _schema_values(schema: Any, resolve: Any, depth: int = 3) -> Iterator[Any]:
    schema = resolve(schema)
    if not isinstance(schema, Mapping):
        return
    for name in _EXAMPLE_KEYWORDS:
        value = schema.get(name)
        yield from value if isinstance(value, list) else [value]
    for name in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(name, ()) if depth and isinstance(schema.get(name), list) else ():
            yield from _schema_values(part, resolve, depth - 1)


def example_of(schema: Any, resolve: Any, depth: int = _MAX_DEPTH) -> Any:
    """An example of a schema out of its examples, enumerations and defaults; None where it shows nothing.

    All values of an enumeration stand there, as a list.
    """
    schema = resolve(schema)
    if not isinstance(schema, Mapping) or not depth:
        return None
    for name in _EXAMPLE_KEYWORDS:
        if name in schema:
            return schema[name]
    hints: dict[str, Any] = {}
    for name in ("allOf", "anyOf", "oneOf"):
        for part in schema[name] if isinstance(schema.get(name), list) else ():
            example = example_of(part, resolve, depth - 1)
            hints |= example if isinstance(example, Mapping) else {}
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        if (example := example_of(part, resolve, depth - 1)) is not None:
            hints[str(name)] = example
    return hints or example_of(schema.get("items"), resolve, depth - 1)


def values_in(value: Any) -> dict[str, tuple[str, ...]]:
    """Search parameter -> the values in a JSON value, by the names of members: `{"markets": [{"code": "NL"}]}`."""
    found: dict[str, list[str]] = {}
    for name, content in _members(value, _MAX_DEPTH):
        for parameter, pattern in _MEMBERS.items():
            if pattern.search(name):
                found.setdefault(parameter, []).extend(_scalars(content))
        if _TITLES.search(name) and isinstance(content, str):
            found.setdefault("q", []).extend(word.lower() for word in _WORD.findall(content)[:2])
    usable = {name: tuple(dict.fromkeys(filter(None, map(_usable, values)))) for name, values in found.items()}
    return {name: values[:_MAX_VALUES] for name, values in usable.items() if values}


def _members(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """All members of all objects, outer ones first."""
    if not depth:
        return
    if isinstance(value, Mapping):
        yield from ((str(name), item) for name, item in value.items())
    for item in value.values() if isinstance(value, Mapping) else value[:50] if isinstance(value, list) else ():
        yield from _members(item, depth - 1)


def _scalars(value: Any) -> Iterator[Any]:
    """A scalar, the elements of a list, the code of an object, or its names where they look like codes."""
    if isinstance(value, list):
        for item in value[:50]:
            yield from _scalars(item) if not isinstance(item, list) else ()
    elif isinstance(value, Mapping):
        codes = [item for name, item in value.items() if _CODES.search(str(name)) and isinstance(item, str)]
        names = [name for name in value if _CODE.fullmatch(str(name)) and not _CODES.search(str(name))]
        yield from codes[:1] or (names if len(names) == len(value) else ())
    else:
        yield value


def _usable(value: Any) -> str:
    """The text of a value that a query can hold; else empty."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return ""
    text = str(value)
    return text if 0 < len(text) <= 80 and not re.search(r"[{}\x00-\x1f]", text) else ""


def candidate_queries(known: Mapping[str, str], hints: Values) -> Iterator[dict[str, str]]:
    """Queries, most likely first: stated values, then shown ones, then common ones.

    A locale and a market vary as a pair. What rarely decides whether a query is answered varies last.
    """

    def choices(name: str, values: Iterable[str]) -> list[dict[str, str]]:
        return [{name: value} for value in dict.fromkeys([known[name]] if name in known else values)]

    dimensions = [
        (_OFTEN, choices("sort", [*hints.get("sort", ()), *COMMON_SORTS])),
        (_OFTEN, [{"locale": locale, "market": market} for locale, market in _pairs(known, hints)]),
        (_RARELY, choices("q", [*hints.get("q", ())[:2], *COMMON_WORDS[:2]])),
        (_RARELY, choices("page", [*hints.get("page", ())[:1], "1"])),
        (_RARELY, choices("pageSize", [PAGE_SIZE, *hints.get("pageSize", ())[:1]])),
    ]
    ranked = [[(weight * n, choice) for n, choice in enumerate(options)] for weight, options in dimensions]
    combinations = sorted(product(*ranked), key=lambda options: sum(rank for rank, _ in options))
    for number, combination in enumerate(combinations):
        query = {name: value for _, choice in combination for name, value in choice.items()}
        yield {**{name: query[name] for name in _ORDER}, **known}
        if not number and "pageSize" not in known:
            yield {**{name: query[name] for name in _ORDER}, "pageSize": _LARGER_PAGE_SIZE, **known}


def _pairs(known: Mapping[str, str], hints: Values) -> dict[tuple[str, str], None]:
    """Pairs of locale and market: of shown ones, those of one region first; then common ones."""
    locales = (known["locale"],) if "locale" in known else hints.get("locale", ())
    markets = (known["market"],) if "market" in known else hints.get("market", ())
    pairs = [(locale, market) for locale in locales for market in markets or _markets_of(locale)]
    pairs += [(locale, market) for market in (() if locales else markets) for locale in _locales_of(market)]
    pairs.sort(key=lambda pair: not _is_of_region(*pair))
    common = [(known.get("locale", locale), known.get("market", market)) for locale, market in COMMON_PAIRS]
    return dict.fromkeys([*pairs, *common])


def _markets_of(locale: str) -> list[str]:
    region = _REGION.search(locale)
    return [*([region[1]] if region else []), *dict.fromkeys(market for _, market in COMMON_PAIRS)]


def _locales_of(market: str) -> list[str]:
    return [f"{language}-{market.upper()}" for language in (market.lower(), "en")] + [
        locale for locale, _ in COMMON_PAIRS
    ]


def _is_of_region(locale: str, market: str) -> bool:
    region = _REGION.search(locale)
    return region is None or region[1].lower() == market.lower()
