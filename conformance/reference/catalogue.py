"""The product catalogue: constant data, generated once, and its search (interface, Search parameters)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, JsonObject, Refusal, success
from conformance.reference.cursors import parameter_of

MERCHANTS = ("northwind", "harbour", "meadow")
EMPTY_MERCHANT = "vacant"
CATEGORIES = ("shirts", "shoes", "mugs", "lamps")
SORTS = ("relevance", "name", "price_asc", "price_desc")
LOCALES = ("en-US", "de-DE", "fr-FR")
MARKETS = ("US", "DE", "FR")
_STYLES = ("classic", "modern", "rustic", "minimal", "vintage")


@dataclass(frozen=True, slots=True)
class Product:
    id: str
    title: str
    merchant: str
    category: str
    price: float
    style: str

    def to_json(self) -> JsonObject:
        price = {"amount": self.price, "currency": "USD"}
        return {
            "id": self.id,
            "title": self.title,
            "merchant": self.merchant,
            "category": self.category,
            "price": price,
            "tags": [self.style, "gift"],
            "available": True,
        }


def _product(number: int) -> Product:
    merchant = MERCHANTS[number % len(MERCHANTS)]
    category = CATEGORIES[number // len(MERCHANTS) % len(CATEGORIES)]
    style = _STYLES[number % len(_STYLES)]
    title = f"{style.title()} {category[:-1]} {number:03d}"
    return Product(f"prod_{number:04d}", title, merchant, category, round(5 + number * 37 % 500 / 4, 2), style)


PRODUCTS = tuple(_product(number) for number in range(60))


@dataclass(frozen=True, slots=True)
class Stock:
    """The products of a service and its merchants, and what a search knows of them."""

    merchants: tuple[str, ...]
    categories: tuple[str, ...]
    orders: Mapping[str, tuple[Product, ...]]
    """By sort: all products in that order."""
    has_word: Callable[[Product, str], bool]
    """Whether a search for a word, in lower case, finds a product."""
    is_sold: Callable[[Product, str], bool] = lambda _product, _market: True
    """Whether a product is sold in a market."""

    @property
    def products(self) -> tuple[Product, ...]:
        return next(iter(self.orders.values()))


STOCK = Stock(
    merchants=(*MERCHANTS, EMPTY_MERCHANT),
    categories=CATEGORIES,
    orders={
        "relevance": PRODUCTS,
        "name": tuple(sorted(PRODUCTS, key=lambda product: (product.title, product.id))),
        "price_asc": tuple(sorted(PRODUCTS, key=lambda product: (product.price, product.id))),
        "price_desc": tuple(sorted(PRODUCTS, key=lambda product: (-product.price, product.id))),
    },
    has_word=lambda product, word: word in product.title.lower() or word in ("gift", product.style),
)


def strict_integer(_name: str, text: str) -> int | None:
    """Decimal digits with an optional minus sign; at most nine of them."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else None


def plain_window(page: int, size: int, _requested: int) -> slice:
    return slice(page * size, (page + 1) * size)


def _parameters(call: Call) -> Mapping[str, str]:
    try:
        pairs = parse_qsl(
            call.request.query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100
        )
    except (UnicodeDecodeError, ValueError):
        raise Refusal("invalid_query", "The query string cannot be read.") from None
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise Refusal("invalid_query", "A query parameter comes more than once.")
    return dict(pairs)


def _integer(call: Call, parameters: Mapping[str, str], name: str) -> int:
    number = call.policy.search.integer(name, parameters[name])
    if number is None:
        raise Refusal("invalid_query", f"{name} must be an integer.")
    return number


def _one_of(parameters: Mapping[str, str], name: str, allowed_values: tuple[str, ...], unlisted: str) -> str:
    """The value, or where others are ignored the first allowed one."""
    if parameters[name] in allowed_values:
        return parameters[name]
    if unlisted == "ignored":
        return allowed_values[0]
    raise Refusal("invalid_query", f"{name} is not one of the allowed values.")


def _size(call: Call, parameters: Mapping[str, str]) -> int:
    rules, size = call.policy.search, _integer(call, parameters, "pageSize")
    if rules.clamp:
        return min(max(size, rules.page_size_min), rules.page_size_max)
    if not rules.page_size_min <= size <= rules.page_size_max:
        raise Refusal("invalid_query", "pageSize is out of range.")
    return size


def _number_of_page(call: Call, parameters: Mapping[str, str]) -> int:
    page = _integer(call, parameters, "page")
    if page < call.policy.search.page_base:
        raise Refusal("invalid_query", "page is out of range.")
    return page


def search(call: Call, _db: Connection) -> Answer:
    rules = call.policy.search
    parameters = _valid_parameters(call)
    if by_cursor := parameter_of(rules) in parameters:
        start, size = _position(call, parameters), _size(call, parameters)
    else:
        requested, size = _number_of_page(call, parameters), _size(call, parameters)
    hits = _hits(rules.stock, parameters, [name for name in rules.filters if _filters(call, parameters, name)])
    if rules.empty_q == "nothing" and not parameters["q"].strip():
        hits = []
    if by_cursor:
        window, meta = slice(start, start + size), {}
    else:
        page, meta = requested - rules.page_base, {"page": requested}
        start, window = page * size, rules.window(page, size, requested)
        if page and start >= len(hits):
            _refuse(rules.past_the_end, "There is no such page.")
    items = [product.to_json() for product in hits[window]]
    answer = success(items, meta={**meta, "pageSize": size, "total": len(hits)})
    return rules.cursors.add_to(call, answer, start, size, len(hits)) if rules.cursors else answer


def _position(call: Call, parameters: Mapping[str, str]) -> int:
    """The position that a cursor names."""
    cursors = call.policy.search.cursors
    position = cursors.read(call, parameters[cursors.parameter]) if cursors else None
    if position is None or "page" in parameters:
        raise Refusal("invalid_query", "A cursor of an answer is needed, in place of page.")
    return position


def _valid_parameters(call: Call) -> dict[str, str]:
    """The parameters, with the defaults of those that are missing."""
    rules = call.policy.search
    query = _parameters(call)
    parameters = {**rules.defaults, **query}
    cursor = parameter_of(rules)
    for name in rules.required:
        is_blank = not parameters.get(name, "").strip()
        is_needed = name != "page" or cursor not in parameters
        if is_needed and (name not in parameters or (is_blank and (name != "q" or rules.empty_q == "refused"))):
            raise Refusal("invalid_query", f"The query parameter {name} is required.")
    if rules.q_max is not None and len(parameters["q"]) > rules.q_max:
        raise Refusal("invalid_query", "q is too long.")
    names = {"q", "locale", "market", "category", "merchant", "sort", "page", "pageSize", cursor}
    if rules.known_only and query.keys() - names:
        raise Refusal("invalid_query", "A query parameter is unknown.")
    for name, allowed_values in (("sort", rules.sorts), ("locale", rules.locales), ("market", rules.markets)):
        if name in parameters:
            parameters[name] = _one_of(parameters, name, allowed_values, rules.unlisted)
    return parameters


def _filters(call: Call, parameters: Mapping[str, str], name: str) -> bool:
    """Whether a filter is in force; refuses an unknown value where the policy says so."""
    rules = call.policy.search
    known_values = rules.stock.categories if name == "category" else rules.stock.merchants
    if name not in parameters or parameters[name] in known_values:
        return True
    treatment = rules.unknown_filter.get(name, "empty")
    _refuse(treatment, f"The {name} is unknown.")
    return treatment != "ignored"


def _refuse(treatment: str, message: str) -> None:
    """Ends the call with 400 or 404 where the treatment of an unusual value is such."""
    if treatment in ("refused", "not_found"):
        raise Refusal("invalid_query" if treatment == "refused" else "not_found", message)


def _hits(stock: Stock, parameters: Mapping[str, str], filters: Sequence[str]) -> list[Product]:
    words = parameters["q"].lower().split()
    return [
        product
        for product in stock.orders[parameters["sort"]]
        if all(stock.has_word(product, word) for word in words)
        and stock.is_sold(product, parameters.get("market", ""))
        and all(name not in parameters or getattr(product, name) == parameters[name] for name in filters)
    ]


def _merchant(call: Call) -> str:
    slug = call.path["slug"]
    if slug not in call.policy.search.stock.merchants:
        raise Refusal("unknown_merchant", "There is no such store.")
    return slug


def categories(call: Call, _db: Connection) -> Answer:
    slug, stock = _merchant(call), call.policy.search.stock
    counts = {name: sum(p.merchant == slug and p.category == name for p in stock.products) for name in stock.categories}
    items = [{"id": f"cat_{name}", "name": name, "products": count} for name, count in counts.items() if count]
    return success(items, meta={"total": len(items)})


def products(call: Call, _db: Connection) -> Answer:
    slug = _merchant(call)
    items = [product.to_json() for product in call.policy.search.stock.products if product.merchant == slug]
    return success(items, meta={"total": len(items)})


def runtime_config(call: Call, _db: Connection) -> Answer:
    flags, rules = {"hostedCheckout": True, "afterSales": True}, call.policy.search
    lists = {"locales": list(rules.locales), "markets": list(rules.markets)}
    return success({"environment": "reference", **lists, "features": flags})
