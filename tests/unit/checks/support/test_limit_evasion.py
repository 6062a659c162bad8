"""The forms in which a limited caller repeats its request, each of which its limit counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.support.authorization_forms import other_spellings
from conformance.checks.support.bursts import measure
from conformance.checks.support.case import Case
from conformance.checks.support.limit_evasion import forms_of, observe_evasion
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Authorization, RateLimit
from conformance.profile.model import Limits
from tests.support.check_runs import CONTRACT

IDENTITY = CONTRACT.operations["getApiKeyIdentity"]
CLIENTS, QUERIES, SPELLINGS = (
    "as from other addresses and clients",
    "with other queries, from other pages",
    "in other spellings of its scheme",
)


@pytest.mark.parametrize(
    ("stated", "spellings"),
    [
        (Authorization("Key {key}", scheme_case="any"), {"key", "kEy", "KEY", "keY", "KEy", "KeY", "kEY"}),
        (Authorization("{key}", scheme_case="any"), set()),
        (Authorization("Bearer {key}"), set()),
    ],
)
def test_the_spellings_of_a_scheme_are_all_different(stated: Authorization, spellings: set[str]) -> None:
    """Only where its case is stated not to matter, and where there is one."""
    assert set(other_spellings(stated, 20)) == {f"{spelling} {{key}}" for spelling in spellings}


@pytest.mark.parametrize(
    ("per", "depth", "scheme_case", "names"),
    [
        ("key", "standard", "any", [SPELLINGS, CLIENTS, QUERIES]),
        ("installation", "standard", "exact", [CLIENTS, QUERIES]),
        ("key", "quick", "any", [CLIENTS]),
        ("operation", "standard", "any", []),
        ("", "standard", "any", []),
    ],
)
def test_the_forms_of_a_limited_request(
    judged: Any, answer: Any, per: Any, depth: Any, scheme_case: Any, names: list[str]
) -> None:
    """None where the limit does not count by caller: another address may have a limit of its own then."""

    async def law(case: Case) -> None:
        answer = await case.good_answer()
        assert list(forms_of(case, answer.request)) == names

    result, _ = judged(
        lambda _: answer(200, {"data": {}}),
        law,
        IDENTITY,
        rate_limit=RateLimit(per=per),
        limits=replace(Limits(timeout_s=2), depth=depth),
        authorization=Authorization("Bearer {key}", scheme_case=scheme_case),
    )
    assert result.outcome is Outcome.PASSED, result.message


@pytest.mark.parametrize(
    ("limit", "max_requests", "count"), [(None, 200, 10), (5, 200, 11), (40, 200, 76), (500, 200, 100), (40, 50, 50)]
)
def test_a_form_exceeds_the_stated_limit(
    judged: Any, answer: Any, limit: int | None, max_requests: int, count: int
) -> None:
    """So that a budget of its own shows; a hundred requests are the most, and what the profile allows."""

    async def law(case: Case) -> None:
        forms = forms_of(case, (await case.good_answer()).request)
        assert {len(requests) for requests in forms.values()} == {count}

    facts = RateLimit(per="key", limit=limit, window_s=1.0, tolerance=1.5, max_requests=max_requests)
    result, _ = judged(lambda _: answer(200, {"data": {}}), law, IDENTITY, rate_limit=facts)
    assert result.outcome is Outcome.PASSED, result.message


def test_each_request_of_a_form_differs(judged: Any, answer: Any) -> None:
    """A bucket for each value of a header, or of the query, would let all of them pass."""

    async def law(case: Case) -> None:
        forms = forms_of(case, (await case.good_answer()).request)
        for name in ("User-Agent", "Accept-Language", "X-Forwarded-For", "X-Real-IP", "Forwarded"):
            assert len({dict(request.headers)[name] for request in forms[CLIENTS]}) == 10
        assert len({request.query for request in forms[QUERIES]}) == 10
        assert len({request.authorization for request in forms[SPELLINGS]}) == 20

    stated = {"rate_limit": RateLimit(per="key"), "authorization": Authorization("Bearer {key}", scheme_case="any")}
    result, _ = judged(lambda _: answer(200, {"data": {}}), law, IDENTITY, **stated)
    assert result.outcome is Outcome.PASSED, result.message


def test_a_short_scheme_has_few_spellings_and_each_is_sent_several_times(judged: Any, answer: Any) -> None:
    """A bucket for each of seven spellings would let all of them pass, too."""

    async def law(case: Case) -> None:
        spelled = forms_of(case, (await case.good_answer()).request)[SPELLINGS]
        assert len(spelled) == 20
        assert len({request.authorization for request in spelled}) == 7

    stated = {"rate_limit": RateLimit(per="key"), "authorization": Authorization("Key {key}", scheme_case="any")}
    result, _ = judged(lambda _: answer(200, {"data": {}}), law, IDENTITY, **stated)
    assert result.outcome is Outcome.PASSED, result.message


@pytest.mark.parametrize(("status", "count"), [(429, 5), (403, 5), (200, 10)])
def test_a_form_ends_where_none_of_its_first_requests_passes(judged: Any, answer: Any, status: int, count: int) -> None:
    """A form with a bucket of its own lets its first requests pass; where these are limited, the others would be."""
    sent = 0

    def serve(request: Any) -> Any:
        nonlocal sent
        is_form = "x-real-ip" in {name.lower() for name, _ in request.headers}
        sent += is_form
        return answer(status if is_form else 200, {"data": {}})

    async def law(case: Case) -> None:
        known = await case.good_answer()
        forms = {CLIENTS: forms_of(case, known.request)[CLIENTS]}
        found = await observe_evasion(case, measure([known]), forms)
        assert found[CLIENTS].request_count == 1 + count

    judged(serve, law, IDENTITY, rate_limit=RateLimit(per="key"))
    assert sent == count
