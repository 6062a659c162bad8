"""The questions of `init`: what each answer states is a valid part of a profile, and what it enables exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.contract import load_contract
from conformance.core.errors import ConformanceError
from conformance.profile.loader import profile_from_document
from conformance.setup.questionnaire.questions import (
    QUESTIONS,
    Question,
    describe_enabled,
    key_options,
    open_questions,
    stated_facts,
)

CONTRACT = load_contract()
ANSWERS = {
    "read_only": "no",
    "revocation": "60",
    "idempotency": "header:X-Call-Id",
    "search": "q=007&locale=de-AT&market=AT&sort=best&page=0&pageSize=5",
    "merchants": "acme, lamps",
    "carts": "c1 c2,c3",
    "orders": "o1",
    "tickets_single_use": "yes",
    "client_id": "shop",
    "redirect_uri": "https://client.example/back",
    "provoke": "n",
}


def _question(name: str) -> Question:
    return next(question for question in QUESTIONS if question.name == name)


def _profile(facts: dict[str, object]) -> None:
    base = {"name": "p", "base_url": "http://127.0.0.1:9", "authorization": {"format": "{key}"}}
    profile_from_document({**base, **facts}, directory=Path())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_what_an_answer_enables_exists(question: Question) -> None:
    """And only questions about the run itself enable nothing."""
    assert set(question.requirement_ids(CONTRACT)) <= set(CONTRACT.requirements)
    assert bool(describe_enabled(question, CONTRACT)) == (question.name not in ("base_url", "read_only"))


def test_all_answers_together_are_a_valid_part_of_a_profile() -> None:
    facts = stated_facts(ANSWERS)
    _profile(facts)
    assert facts["fixtures"]["cart"] == {"open": {"values": [{"id": "c1"}, {"id": "c2"}, {"id": "c3"}]}}
    assert facts["fixtures"]["merchant"]["stocked"]["reusable"] is True
    assert facts["idempotency"] == {"carrier": "header", "name": "X-Call-Id"}
    assert (facts["search"]["query"]["pageSize"], facts["search"]["query"]["q"]) == (5, "007")
    assert facts["limits"] == {"read_only": True}
    assert facts["rate_limit"] == {"provoke": False}
    assert {question.name for question in QUESTIONS if question.key} == set(ANSWERS)


@pytest.mark.parametrize("name", [question.name for question in QUESTIONS if question.excludes])
def test_what_does_not_exist_is_excluded_with_its_reason(name: str) -> None:
    """A table, or a kind of key; the reason is the person's own."""
    facts = stated_facts({name: "none: not in staging"})
    _profile(facts)
    assert "'none': 'not in staging'" in str(facts)
    assert key_options({name: "none: not in staging"}) == ()


def test_an_answer_left_open_states_nothing() -> None:
    assert stated_facts(dict.fromkeys(ANSWERS, "")) == {}
    assert stated_facts({"read_only": "yes"}) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("base_url", "shop.example"),
        ("base_url", "http://shop.example/api/v1"),
        ("base_url", "none: there is none"),
        ("key.full", "sk_live_51Habc"),
        ("key.revoked", "none:"),
        ("openapi", "no/such/file.yaml"),
        ("fixtures", "no/such/file.toml"),
        ("read_only", "maybe"),
        ("revocation", "-1"),
        ("revocation", "soon"),
        ("client_id", "{env.HOME}"),
        ("client_id", "two words"),
        ("carts", "c1\x1b[31m"),
        ("merchants", "a" * 3000),
    ],
)
def test_a_wrong_answer_is_refused(name: str, text: str) -> None:
    """And a possible secret is not repeated."""
    with pytest.raises(ConformanceError) as refused:
        _question(name).value(text)
    assert "51Habc" not in str(refused.value)


def test_a_source_of_a_key_is_an_option_of_the_probe() -> None:
    assert key_options({"key.full": "env:A", "key.revoked": "file:b", "key.none": ""}) == (
        "full=env:A",
        "revoked=file:b",
    )


def test_what_a_fragment_states_is_not_asked() -> None:
    """Nor what is answered, nor the redirect URI of a client that is not known."""
    fragment = {"fixtures": {"cart": {"quoted": {}}, "order": {"none": "no orders"}}, "hosted": {"none": "not here"}}
    names = [question.name for question in open_questions({"base_url": "http://a", "client_id": ""}, fragment)]
    assert not {"base_url", "carts", "orders", "tickets_single_use", "client_id", "redirect_uri"} & set(names)
    assert {"merchants", "provoke", "key.full"} <= set(names)
    assert "redirect_uri" in [question.name for question in open_questions({"client_id": "shop"}, {})]
    assert "redirect_uri" not in [question.name for question in open_questions({"client_id": "none: no OAuth"}, {})]
