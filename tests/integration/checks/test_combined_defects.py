"""Defects that show only where two things come together, or now and then: the row that is theirs is the red one."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from conformance.checks.check_concurrency import duplicates_at_once_are_one_call
from conformance.checks.check_search import a_filter_narrows_the_result
from conformance.checks.support.case import Case
from conformance.checks.support.proof_defects import other_port, other_scheme
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Search
from tests.support.check_runs import CONTRACT

SEARCH = CONTRACT.operations["searchPublicProducts"]
ITEMS = [
    {"category": category, "merchant": merchant} for category in ("shoes", "hats") for merchant in ("north", "east")
]
FACTS = Search(
    query={"q": "gift", "locale": "en", "market": "US", "sort": "name", "page": 1, "pageSize": 9},
    item_category="/category",
    item_merchant="/merchant",
    category="shoes",
    merchant="north",
)


def searched(items: list[dict[str, str]], answer: Any, *, forgets: str = "") -> Any:
    """A search among items; the filter that it forgets is left out where there is another one."""

    def script(arrived: Any) -> bytes:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}
        wanted = {name: asked[name] for name in ("category", "merchant") if name in asked}
        if len(wanted) == 2:
            wanted.pop(forgets, None)
        return bytes(answer(200, {"data": [item for item in items if wanted.items() <= item.items()]}))

    return script


@pytest.mark.parametrize("names", [("category",), ("merchant",), ("category", "merchant")], ids="-".join)
@pytest.mark.parametrize("forgets", ["", "category", "merchant"])
def test_two_filters_narrow_together(judged: Any, answer: Any, names: tuple[str, ...], forgets: str) -> None:
    """Each alone may be right while one is forgotten as soon as there is another."""

    async def law(case: Case) -> None:
        await a_filter_narrows_the_result(case, names)

    result, _ = judged(searched(ITEMS, answer, forgets=forgets), law, SEARCH, search=FACTS)
    assert result.outcome is (Outcome.FAILED if forgets and len(names) == 2 else Outcome.PASSED), result


def test_that_no_item_has_both_says_nothing(judged: Any, answer: Any) -> None:
    async def law(case: Case) -> None:
        await a_filter_narrows_the_result(case, ("category", "merchant"))

    result, _ = judged(searched(ITEMS[1:3], answer), law, SEARCH, search=FACTS)
    assert result.outcome is Outcome.PASSED, result


@pytest.mark.parametrize("created", [201, 202, 500])
def test_another_success_among_duplicates_is_not_about_duplicates(judged: Any, answer: Any, created: int) -> None:
    """Which success a call is answered with is STA-2's question; a failure is this one's."""
    counted: list[str] = []

    def script(arrived: Any) -> bytes:
        counted.append("".join(arrived.all("idempotency-key")))
        return bytes(answer(created if counted.count(counted[-1]) == 4 else 200, {"data": {}}))

    async def law(case: Case) -> None:
        await duplicates_at_once_are_one_call(case, 1)

    result, _ = judged(script, law, CONTRACT.operations["quotePublicCart"])
    assert result.outcome is (Outcome.FAILED if created == 500 else Outcome.INCONCLUSIVE), result
    assert created == 500 or result.cause == "control:quotePublicCart"


@pytest.mark.parametrize(
    ("url", "port", "scheme"),
    [
        ("https://shop.example/v1/token", "https://shop.example:8443/v1/token", "http://shop.example/v1/token"),
        ("http://127.0.0.1:80/t", "http://127.0.0.1:81/t", "https://127.0.0.1:80/t"),
        ("http://[::1]:65535/t", "http://[::1]:1/t", "https://[::1]:65535/t"),
        ("http://[::1]/t", "http://[::1]:8443/t", "https://[::1]/t"),
    ],
)
def test_another_port_and_another_scheme_are_all_that_differs(url: str, port: str, scheme: str) -> None:
    assert other_port(url) == port
    assert other_scheme(url) == scheme
