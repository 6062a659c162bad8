"""What a profile does not state is ranked, and each fact comes with lines that a profile can take."""

from __future__ import annotations

import tomllib

import pytest

from conformance.core.model import Result
from conformance.core.outcomes import Level, Outcome
from conformance.judge.missing_facts import missing_facts
from conformance.profile.documentation import all_facts
from conformance.profile.statements import exclusion_of_fact, statement_of_fact


def unstated(fact: str, requirement: str, level: Level = Level.DECLARED, message: str = "it is needed") -> Result:
    return Result("c::d", requirement, "quotePublicCart", "", Outcome.UNSTATED, message, fact=fact, level=level)


def test_what_keeps_the_verdict_open_comes_first_and_then_what_decides_most() -> None:
    """A fact of one required result stands before one of three declared results, and that before one of one."""
    results = [
        unstated("search.q_max", "SRCH-8"),
        *(unstated("search.sorts", "SRCH-9") for _ in range(3)),
        unstated("idempotency", "IDEM-1", Level.REQUIRED),
    ]
    found = missing_facts(results)
    assert [(fact.key, fact.results, fact.keeps_open) for fact in found] == [
        ("idempotency", 1, True),
        ("search.sorts", 3, False),
        ("search.q_max", 1, False),
    ]
    assert found[2].requirements == ("SRCH-8",)


def test_only_unstated_results_name_a_missing_fact() -> None:
    """A result that passed misses nothing."""
    assert missing_facts([Result("c::d", "ENV-1", "", "", Outcome.PASSED, fact="search.sorts")]) == ()


def test_a_key_with_a_value_is_the_same_fact() -> None:
    """`rate_limit.provoke = true` and `rate_limit.provoke` are one fact, with the sentences of all its checks."""
    results = [
        unstated("rate_limit.provoke", "RATE-2", message="no 429 was seen"),
        *(unstated("rate_limit.provoke = true", "RATE-1", message="a burst is needed") for _ in range(2)),
    ]
    (fact,) = missing_facts(results)
    assert (fact.key, fact.results, fact.requirements) == ("rate_limit.provoke = true", 3, ("RATE-2", "RATE-1"))
    assert fact.reasons == ("a burst is needed", "no 429 was seen")
    assert fact.reason == "a burst is needed, and 1 of the results for other reasons"


FORMS = (
    "transitions.quotePublicCart",
    "transitions.quotePublicCart.single_winner",
    "credentials",
    "effects",
    "effects.quotePublicCart",
    "transitions.quotePublicCart.leads_to",
    "fixtures.cart.open (with revision)",
    "operations.quotePublicCart.body (from a fixture)",
    "search.stable_sort = true",
    "fixtures.webhook.foreign",
    "fixtures.session.open.values",
)
"""The forms that checks give a key besides a plain one."""


@pytest.mark.parametrize("key", [*(fact.key for fact in all_facts() if "NAME" not in fact.key), *FORMS])
def test_the_lines_to_add_are_toml(key: str) -> None:
    """The statement and the exclusion of every fact can be parsed, and name its last part or its table."""
    statement, exclusion = tomllib.loads(statement_of_fact(key)), tomllib.loads(exclusion_of_fact(key))
    assert key.split(".")[0].split(" ")[0] in statement
    assert "none = " in exclusion_of_fact(key)
    assert exclusion


def test_a_fact_of_a_few_words_shows_them_all() -> None:
    """The example is one of the words, the others stand beside it."""
    assert statement_of_fact("search.empty_q") == '[search]\nempty_q = "refused"  # or everything, nothing'
    assert exclusion_of_fact("search.empty_q").splitlines()[1].startswith("empty_q = { none = ")


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (("the profile allows an hour", "the profile allows an hour"), "the profile allows an hour"),
        (("quotePublicCart needs a client: state oauth",), "the operation needs a client: state oauth"),
        (("one", "another", "one"), "one, and 1 of the results for other reasons"),
        (("",), "the profile does not state oauth"),
    ],
)
def test_the_reason_is_in_the_words_of_the_checks(messages: tuple[str, ...], reason: str) -> None:
    """A key may be stated, and still not hold what a check needs: no reason says then that it is not stated."""
    (found,) = missing_facts([unstated("oauth", "TEN-1", message=message) for message in messages])
    assert found.reason == reason
