"""Values that resemble known ones are judged by what they find, and stores by their slugs (SRCH-8)."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from conformance.checks.check_search_values import (
    a_listed_value_is_accepted,
    a_search_text_ends_at_the_stated_length,
    a_store_of_every_state_can_be_searched,
    a_value_that_resembles_another_one_is_unknown,
    an_unlisted_value_is_treated_as_stated,
    an_unusual_value_is_treated_as_stated,
)
from conformance.checks.support.search_filters import has_form_of, resembling_values, unknown_value
from conformance.checks.support.search_lists import unlisted_code
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Search
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

SEARCH = CONTRACT.operations["searchPublicProducts"]
QUERY = {"q": "a", "locale": "en", "market": "US", "sort": "name", "page": 1, "pageSize": 2}
ITEMS = [{"id": f"p{number}", "category": ("shoes", "sho")[number % 2]} for number in range(4)]
STATED: dict[str, Any] = {
    "query": QUERY, "page_base": 1, "item_id": "/id", "item_category": "/category", "category": "shoes",
    "stable_sort": True,
}  # fmt: skip


def asked(arrived: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}


@pytest.mark.parametrize(
    ("value", "resembling"),
    [
        ("shoes", ["sho", "sho%", "_hoes"]),
        ("Home/Lights", ["Home/Ligh", "Home/Ligh%", "_ome/Lights"]),
        ("hats & caps", ["hats & ca", "hats & ca%", "_ats & caps"]),
    ],
)
def test_a_word_is_cut_within_itself(value: str, resembling: list[str]) -> None:
    """A shorter word is none of the known values, and a pattern is none either."""
    assert resembling_values(value) == resembling


@pytest.mark.parametrize("value", ["G06F", "12.34", "mugs", "ABCDE", "shoes-1"])
def test_the_beginning_of_a_code_may_exist(value: str) -> None:
    """Codes of groups begin those of their members."""
    assert resembling_values(value) == []


@pytest.mark.parametrize("stated", ["7c9e6679-7425-40de-944b-e07fc1f91111", "1042", "cat_01HX2Z9K3M"])
def test_an_unknown_value_has_the_form_of_a_stated_id(stated: str) -> None:
    """Where values are ids, a text of another form is malformed, and may be refused."""
    unknown = unknown_value(stated)
    assert unknown != stated
    assert has_form_of(unknown, stated)
    assert not has_form_of("northwind", stated)
    assert has_form_of(stated, "northwind")


@pytest.mark.parametrize("treatment", ["empty", "refused", "not_found", "ignored"])
@pytest.mark.parametrize("finds", ["nothing", "its own", "those of the known one", "a refusal"])
def test_items_of_the_known_value_are_the_fault(judged: Any, answer: Any, treatment: str, finds: str) -> None:
    """A value that exists in spite of its looks has items of its own."""
    found = {"nothing": [], "its own": [ITEMS[1]], "those of the known one": [ITEMS[0]]}

    def script(arrived: Any) -> bytes:
        category = asked(arrived).get("category")
        if category is None:
            return bytes(answer(200, {"data": ITEMS}))
        if finds == "a refusal":
            return bytes(answer(404, {"code": "c"}))
        return bytes(answer(200, {"data": found[finds] if category == "sho" else []}))

    law = partial(a_value_that_resembles_another_one_is_unknown, name="category")
    result, _ = judged(script, law, SEARCH, search=Search(**STATED, unknown_category=treatment))
    is_fault = finds == "those of the known one"
    expected = Outcome.INAPPLICABLE if treatment == "ignored" else Outcome.FAILED if is_fault else Outcome.PASSED
    assert result.outcome is expected, result


@pytest.mark.parametrize("treatment", ["empty", "refused", "not_found", "ignored"])
@pytest.mark.parametrize("status", [200, 404])
def test_a_store_may_be_refused_where_merchants_are(judged: Any, answer: Any, treatment: str, status: int) -> None:
    """An index may know no store without products."""

    def script(arrived: Any) -> bytes:
        return bytes(answer(status if "merchant" in asked(arrived) else 200, {"data": [], "code": "c"}))

    stores = {state: Fixture("store", state, values=({"slug": state},), reusable=True) for state in ("full", "vacant")}
    facts = {"listPublicMerchantProducts": OperationFacts(path={"slug": "{store.slug}"})}
    law = partial(a_store_of_every_state_can_be_searched, state=("store", "vacant"))
    result, target = judged(
        script, law, SEARCH, search=Search(**STATED, unknown_merchant=treatment), fixtures={"store": stores},
        operations=facts,
    )  # fmt: skip
    is_bound = treatment in ("empty", "ignored")
    expected = Outcome.INAPPLICABLE if not is_bound else Outcome.PASSED if status == 200 else Outcome.FAILED
    assert result.outcome is expected, result
    if is_bound:
        assert "vacant" in [asked(arrived).get("merchant") for arrived in target.arrived]


@pytest.mark.parametrize(
    ("outcome", "pages"), [(Outcome.PASSED, "refused"), (Outcome.PASSED, "empty"), (Outcome.FAILED, "modulo")]
)
def test_a_page_beyond_every_counter_has_no_items(judged: Any, answer: Any, outcome: Outcome, pages: str) -> None:
    """It may be refused as too large a number."""

    def script(arrived: Any) -> bytes:
        page = int(asked(arrived)["page"])
        if page >= 2**32 and pages == "refused":
            return bytes(answer(400, {"code": "c"}))
        page = page % 2**32 if pages == "modulo" else page
        return bytes(answer(200, {"data": ITEMS if page == 1 else []}))

    law = partial(an_unusual_value_is_treated_as_stated, name="past-the-end")
    result, _ = judged(script, law, SEARCH, search=Search(**STATED, past_the_end="empty"))
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("outcome", "name"), [(Outcome.PASSED, "none"), (Outcome.FAILED, "limit")])
def test_a_parameter_of_other_interfaces_is_ignored(judged: Any, answer: Any, outcome: Outcome, name: str) -> None:
    """One that a service knows without saying so changes what is listed."""

    def script(arrived: Any) -> bytes:
        return bytes(answer(200, {"data": ITEMS[: int(asked(arrived).get(name, len(ITEMS)))]}))

    law = partial(an_unusual_value_is_treated_as_stated, name="unknown-parameter")
    result, _ = judged(script, law, SEARCH, search=Search(**STATED, unknown_parameter="ignored"))
    assert result.outcome is outcome, result


@pytest.mark.parametrize("pages", [2, 5_000_000])
@pytest.mark.parametrize("far", ["empty", "a page of the catalogue"])
def test_a_page_far_away_may_exist(judged: Any, answer: Any, pages: int, far: str) -> None:
    """A result may have thousands of pages; where a short one has the items of its last page there, it is a fault."""

    def script(arrived: Any) -> bytes:
        page = int(asked(arrived)["page"])
        shown = page if page <= pages or far == "empty" else pages
        items = [{"id": f"p{shown}-{number}"} for number in range(2)] if shown <= pages else []
        return bytes(answer(200, {"data": items}))

    law = partial(an_unusual_value_is_treated_as_stated, name="past-the-end")
    result, _ = judged(
        script,
        law,
        SEARCH,
        search=Search(**STATED, past_the_end="empty"),
        operations={SEARCH.id: OperationFacts()},
    )
    assert result.outcome is (Outcome.PASSED if far == "empty" else Outcome.FAILED), result


WINDOW = 10_000


@pytest.mark.parametrize("stated", ["empty", "not_found"])
@pytest.mark.parametrize(
    ("page_max", "refusal", "outcome"),
    [
        (None, 400, Outcome.PASSED),
        (5_000, 400, Outcome.PASSED),
        (5_001, 400, Outcome.FAILED),
        (2, 400, Outcome.PASSED),
        (1, 400, Outcome.INAPPLICABLE),
        (None, 403, Outcome.FAILED),
    ],
)
def test_a_page_beyond_the_window_of_an_index_may_be_refused(
    judged: Any, answer: Any, stated: str, page_max: int | None, refusal: int, outcome: Outcome
) -> None:
    """Pages of two items: the window holds 5,000 of them, of which the first two have items."""

    def script(arrived: Any) -> bytes:
        page, size = int(asked(arrived)["page"]), int(asked(arrived)["pageSize"])
        items = ITEMS[(page - 1) * size : page * size] if "category" not in asked(arrived) else []
        if page * size > WINDOW:
            return bytes(answer(refusal, {"code": "c"}))
        return bytes(answer(200 if items or stated == "empty" else 404, {"data": items, "code": "c"}))

    law = partial(an_unusual_value_is_treated_as_stated, name="past-the-end")
    result, _ = judged(script, law, SEARCH, search=Search(**STATED, past_the_end=stated, page_max=page_max))
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("outcome", "status"), [(Outcome.PASSED, 414), (Outcome.FAILED, 404)])
def test_a_gateway_may_refuse_a_line_that_is_far_too_long(
    judged: Any, answer: Any, outcome: Outcome, status: int
) -> None:
    """One character too many is the service's own to refuse."""

    def script(arrived: Any) -> bytes:
        length = len(asked(arrived)["q"])
        return bytes(answer(200 if length <= 50 else 400 if length < 100 else status, {"data": ITEMS, "code": "c"}))

    law = partial(a_search_text_ends_at_the_stated_length, characters=("é", "é"))
    result, _ = judged(script, law, SEARCH, search=Search(**STATED, q_max=50))
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [
        ("characters", Outcome.PASSED),
        ("characters of 16 bits alone", Outcome.PASSED),
        ("UTF-16 units", Outcome.FAILED),
        ("bytes", Outcome.FAILED),
    ],
)
def test_the_length_of_a_search_text_is_counted_in_characters(
    judged: Any, answer: Any, counts: str, outcome: Outcome
) -> None:
    """A service may refuse characters beyond 16 bits at any length."""
    encoding = {"UTF-16 units": ("utf-16-le", 2), "bytes": ("utf-8", 1)}.get(counts, ("utf-32-le", 4))

    def script(arrived: Any) -> bytes:
        text = asked(arrived)["q"]
        is_refused = "alone" in counts and max(text) > "\uffff"
        is_long = len(text.encode(encoding[0])) // encoding[1] > 50
        return bytes(answer(400 if is_refused or is_long else 200, {"data": ITEMS, "code": "c"}))

    law = partial(a_search_text_ends_at_the_stated_length, characters=("é", "\U0001f642"))
    result, _ = judged(script, law, SEARCH, search=Search(**STATED, q_max=50))
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("outcome", "is_excluded"), [(Outcome.PASSED, True), (Outcome.FAILED, False)])
def test_everything_in_an_empty_catalogue_is_nothing(
    judged: Any, answer: Any, outcome: Outcome, is_excluded: bool
) -> None:
    """The profile says with `item_id` that the catalogue is empty."""
    law = partial(an_unusual_value_is_treated_as_stated, name="empty-q")
    stated = {**STATED, "item_id": None} if is_excluded else STATED
    exclusions = {"search.item_id": "the catalogue is empty"} if is_excluded else {}
    result, _ = judged(
        lambda _: bytes(answer(200, {"data": []})), law, SEARCH, search=Search(**stated, empty_q="everything"),
        exclusions=exclusions,
    )  # fmt: skip
    assert result.outcome is outcome, result


LISTED: dict[str, Any] = {"locales": ("en", "fr-FR", "de-DE"), "markets": ("US", "FR", "DE", "AT")}


@pytest.mark.parametrize(
    ("accepted", "markets", "outcome", "attempts"),
    [
        ({"US": "en", "DE": "de-DE"}, LISTED["markets"], Outcome.PASSED, ["US", "DE"]),
        ({"US": "en", "AT": "de-DE"}, LISTED["markets"], Outcome.PASSED, ["US", "DE", "FR", "AT"]),
        ({"US": "en"}, LISTED["markets"], Outcome.FAILED, ["US", "DE", "FR", "AT"]),
        ({"US": "en", "M29": "de-DE"}, ("US", *(f"M{n}" for n in range(30))), Outcome.INCONCLUSIVE, None),
        ({"US": "en", "DE": "de-DE"}, (), Outcome.INCONCLUSIVE, ["US"]),
    ],
)
def test_a_locale_may_be_allowed_in_some_markets_only(
    judged: Any, answer: Any, accepted: Any, markets: Any, outcome: Outcome, attempts: list[str] | None
) -> None:
    """The market of the stated query may be none of them; the locale's own country is tried first."""

    def script(arrived: Any) -> bytes:
        query = asked(arrived)
        is_good = query["locale"] == accepted.get(query["market"])
        return bytes(answer(200, {"data": ITEMS}) if is_good else answer(400, {"code": "c"}))

    search = Search(**STATED, locales=LISTED["locales"], markets=markets)
    result, target = judged(
        script, partial(a_listed_value_is_accepted, listed=("locale", "de-DE")), SEARCH, search=search
    )
    assert result.outcome is outcome, result
    asked_for = [asked(one)["market"] for one in target.arrived if asked(one)["locale"] == "de-DE"]
    assert asked_for == attempts or (attempts is None and len(asked_for) == 13)


@pytest.mark.parametrize(("status", "value"), [(400, "en"), (500, "de-DE")])
def test_a_pair_explains_no_other_refusal(judged: Any, answer: Any, status: int, value: str) -> None:
    """The pair of the stated query is accepted, and no pair explains a 500."""

    def script(arrived: Any) -> bytes:
        is_good = "locale=en&" in f"{arrived.target}&" or asked(arrived)["market"] != "US"
        return bytes(answer(200, {"data": ITEMS}) if is_good else answer(status, {"code": "c"}))

    law = partial(a_listed_value_is_accepted, listed=("locale", value))
    result, _ = judged(script, law, SEARCH, search=Search(**STATED, **LISTED))
    assert result.outcome is Outcome.FAILED, result


@pytest.mark.parametrize(("outcome", "empty"), [(Outcome.PASSED, "fr-FR"), (Outcome.FAILED, "none")])
def test_an_ignored_value_is_compared_with_those_that_are_accepted(
    judged: Any, answer: Any, outcome: Outcome, empty: str
) -> None:
    """A listed locale that is refused in this market says nothing of them."""

    def script(arrived: Any) -> bytes:
        locale = asked(arrived)["locale"]
        if locale == "de-DE":
            return bytes(answer(400, {"code": "c"}))
        return bytes(answer(200, {"data": ITEMS if locale in ("en", "fr-FR") and locale != empty else []}))

    law = partial(an_unlisted_value_is_treated_as_stated, fact="locales")
    search = Search(**STATED, **{**LISTED, "locales": ("en", "de-DE", "fr-FR")}, unlisted="ignored")
    result, _ = judged(script, law, SEARCH, search=search)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("name", "values", "code"),
    [
        ("locale", ("en-US", "de-DE"), "pt-BR"),
        ("locale", ("en_GB", "pt_PT"), "ja_JP"),
        ("locale", ("en-us",), "pt-br"),
        ("locale", ("en", "pt", "fr"), "ja"),
        ("locale", ("pt", "ja", "it", "nl", "sv"), ""),
        ("locale", ("zh-Hant-TW",), ""),
        ("market", ("US", "BR"), "JP"),
        ("market", ("us",), "br"),
        ("market", ("europe",), ""),
        ("sort", ("id",), ""),
    ],
)
def test_an_unlisted_code_has_the_form_of_the_listed_ones(name: str, values: tuple[str, ...], code: str) -> None:
    """It shares neither language nor country with them: these may be matched by a range."""
    assert unlisted_code(name, values) == code


@pytest.mark.parametrize(
    ("accepts", "outcome"), [("^(en|de-DE)$", Outcome.PASSED), ("^[a-z]{2}$|^de-DE$", Outcome.FAILED)]
)
def test_a_form_is_no_list(judged: Any, answer: Any, accepts: str, outcome: Outcome) -> None:
    """A service that looks at the form of a locale alone is found, where others are refused, as stated."""

    def script(arrived: Any) -> bytes:
        is_good = re.search(accepts, asked(arrived).get("locale", ""))
        return bytes(answer(200, {"data": ITEMS}) if is_good else answer(400, {"code": "c"}))

    law = partial(an_unlisted_value_is_treated_as_stated, fact="locales")
    search = Search(**STATED, **{**LISTED, "locales": ("en", "de-DE")}, unlisted="refused")
    result, _ = judged(script, law, SEARCH, search=search)
    assert result.outcome is outcome, result
