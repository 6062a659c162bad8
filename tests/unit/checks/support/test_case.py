"""Controls, negatives and what ends them: soundness and sharpness of the machinery, against a scripted target."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.context import Runtime, Settings
from conformance.checks.support.replays import are_alike, expect_same, replay
from conformance.checks.support.signals import Inapplicable, Violation
from conformance.client import sender as flow
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.core.errors import FixtureError, JournalError
from conformance.core.outcomes import Level, Outcome
from conformance.engine.open_context import open_context
from conformance.journal.journal import Journal
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.commands import journal_lines

CONTRACT = load_contract()
IDENTITY = CONTRACT.operations["getApiKeyIdentity"]
QUOTE = CONTRACT.operations["quotePublicCart"]
KEY = "key-0123456789"
Judge = Callable[[Case], Awaitable[None]]


async def absent_key(case: Case) -> None:
    """A negative as the suite's own are: a control, one defect."""
    request = await case.arrange()
    await case.negative(request, request.with_authorization(), [401], "no Authorization")


class Shop:
    """Answers by whether there is a key: `good` and `bad` are statuses, or None for hanging up; lists are used up."""

    def __init__(self, answer: Any, good: Any = 200, bad: Any = 401) -> None:
        self.answer, self.good, self.bad = answer, good, bad

    def __call__(self, arrived: Any) -> bytes | None:
        told = self.good if arrived.all("Authorization") else self.bad
        if isinstance(told, list):
            told = told.pop(0) if len(told) > 1 else told[0]
        if told is None:
            return None
        return bytes(self.answer(told, {"data": {}} if told == 200 else {"code": "c"}))


@pytest.mark.parametrize(
    ("good", "bad", "outcome", "cause"),
    [
        (200, 401, Outcome.PASSED, ""),
        (200, 200, Outcome.FAILED, ""),
        (200, 204, Outcome.FAILED, ""),
        (200, 400, Outcome.FAILED, ""),
        (200, 403, Outcome.FAILED, ""),
        (200, 500, Outcome.FAILED, ""),
        (200, 302, Outcome.FAILED, ""),
        (200, 422, Outcome.FAILED, ""),
        (200, 503, Outcome.FAILED, ""),
        (200, None, Outcome.FAILED, ""),
        (200, 429, Outcome.INCONCLUSIVE, "rate limit"),
        (200, [503, 503, 401], Outcome.PASSED, ""),
        (200, [429, 401], Outcome.PASSED, ""),
        (401, 401, Outcome.INCONCLUSIVE, "control:getApiKeyIdentity"),
        (500, 401, Outcome.INCONCLUSIVE, "control:getApiKeyIdentity"),
        (201, 401, Outcome.INCONCLUSIVE, "control:getApiKeyIdentity"),
        ([200, 401], 401, Outcome.INCONCLUSIVE, "control:getApiKeyIdentity"),
        ([200, 500], 400, Outcome.INCONCLUSIVE, "control:getApiKeyIdentity"),
        ([200, 401], 200, Outcome.FAILED, ""),
        ([200, 503], 401, Outcome.INCONCLUSIVE, "no answer"),
        ([200, 503], 503, Outcome.INCONCLUSIVE, "no answer"),
        ([200, None], None, Outcome.INCONCLUSIVE, "no answer"),
        ([200, 429], 401, Outcome.INCONCLUSIVE, "rate limit"),
        (429, 401, Outcome.INCONCLUSIVE, "control:getApiKeyIdentity"),
    ],
)
def test_what_a_negative_concludes(judged: Any, answer: Any, good: Any, bad: Any, outcome: Outcome, cause: str) -> None:
    """Failed only if the control holds and the defect got through or was refused wrongly; trouble if tied to it."""
    result, _ = judged(Shop(answer, good, bad), absent_key)
    assert (result.outcome, result.cause) == (outcome, cause), result.message
    assert result.message or outcome is Outcome.PASSED


def test_a_failure_says_expected_and_observed(judged: Any, answer: Any) -> None:
    """What was sent, what must have come, what came; the exchanges, the decisive one last; how to run it again."""
    result, _ = judged(Shop(answer, 200, 403), absent_key)
    assert (result.expected, result.observed) == ("401", "403")
    assert result.message == "getApiKeyIdentity with no Authorization was not answered 401"
    assert result.reproduce == "run --only 'a_law[getApiKeyIdentity-case]'"
    assert result.exchanges
    assert result.level is Level.REQUIRED


def test_each_negative_is_its_control_plus_one_defect(judged: Any, answer: Any, tmp_path: Path) -> None:
    """The control goes before and after, and differs from the negative in the defect alone."""
    _, target = judged(Shop(answer), absent_key)
    control, negative, again = target.arrived
    drop = lambda arrived: [pair for pair in arrived.headers if pair[0].lower() != "authorization"]
    assert drop(control) == drop(negative) == drop(again)
    assert (negative.all("Authorization"), again.all("Authorization")) == ([], [f"Bearer {KEY}"])
    purposes = [line["purpose"] for line in journal_lines(tmp_path, "exchange")]
    assert purposes == ["control", "no Authorization", "control again"]


def test_the_signature_survives_other_ids(judged: Any, answer: Any) -> None:
    """The same failure has the same signature in another run, another failure has another one."""
    signatures = [judged(Shop(answer, 200, bad), absent_key)[0].signature for bad in (403, 403, 400)]
    assert signatures[0] == signatures[1] != signatures[2]
    assert all(signatures)


@pytest.mark.parametrize(
    "observed",
    [
        "product-name-with-a-counter-12 costs 1234-5678 of 0123456789abcdef",
        f"{'a-' * 50}7 costs 999{'x' * 99}5 of {'0' * 3000}",
    ],
)
def test_the_signature_of_an_ordinary_text_stays(judged: Any, answer: Any, observed: str) -> None:
    """Waivers of earlier versions hold it: the bounds of what is left out of it change nothing there."""
    result, _ = judged(Shop(answer), _raises(Violation("m", observed=observed)))
    text = "check_a::a_law|getApiKeyIdentity|case||# costs # of #"
    assert result.signature == hashlib.sha256(text.encode()).hexdigest()[:12]


@pytest.mark.parametrize("word", ["a-", "-", "a-1a", "9"])
def test_a_long_word_does_not_hold_up_the_run(judged: Any, answer: Any, word: str) -> None:
    """The signature of a megabyte of one word takes no longer than that of a line."""
    started = time.process_time()
    result, _ = judged(Shop(answer), _raises(Violation("m", observed=word * (1_000_000 // len(word)))))
    assert result.signature
    assert time.process_time() - started < 3


def test_any_refusal_lets_an_undeclared_4xx_pass(judged: Any, answer: Any) -> None:
    """Where the statement is only that it is refused, a 422 refuses; a 404, declared for another meaning, does not."""

    async def check(case: Case) -> None:
        request = await case.arrange()
        await case.negative(request, request.with_authorization(), [401], "x", any_refusal=True)

    outcomes = {bad: judged(Shop(answer, 200, bad), check)[0].outcome for bad in (401, 422, 404, 200, 500)}
    assert outcomes == {401: "passed", 422: "passed", 404: "failed", 200: "failed", 500: "failed"}


def test_another_level_makes_a_warning(judged: Any, answer: Any) -> None:
    """What only a standard says warns; it never fails."""

    async def check(case: Case) -> None:
        request = await case.arrange()
        await case.negative(request, request.with_authorization(), [401], "x", level=Level.RECOMMENDED)

    result, _ = judged(Shop(answer, 200, 403), check)
    assert (result.outcome, result.level) == (Outcome.WARNED, Level.RECOMMENDED)


# How a check ends


async def _sends_nothing(case: Case) -> None:
    await case.arrange(prove_control=False)


async def _warns(case: Case) -> None:
    answer = await case.control(await case.arrange())
    case.warn("odd", answer)
    case.note("seen")


async def _passes(case: Case) -> None:
    await case.control(await case.arrange())
    case.note("seen")


def _raises(error: Exception) -> Judge:
    async def check(case: Case) -> None:
        raise error

    return check


@pytest.mark.parametrize(
    ("check", "outcome", "message", "cause"),
    [
        (_passes, Outcome.PASSED, "", ""),
        (_warns, Outcome.WARNED, "odd", ""),
        (_sends_nothing, Outcome.UNTESTED, "nothing was sent", ""),
        (_raises(Violation("wrong")), Outcome.FAILED, "wrong", ""),
        (
            _raises(MissingFact("oauth", "it needs a client")),
            Outcome.UNSTATED,
            "it needs a client: state oauth",
            "",
        ),
        (_raises(Inapplicable("no path")), Outcome.INAPPLICABLE, "no path", ""),
        (_raises(Inapplicable("no text", further=True)), Outcome.INAPPLICABLE, "an optional case: no text", ""),
        (
            _raises(FixtureError("gone", where="fixtures.cart.open")),
            Outcome.INCONCLUSIVE,
            "gone",
            "fixture:fixtures.cart.open",
        ),
        (_raises(FixtureError("no", where="control:x")), Outcome.INCONCLUSIVE, "no", "control:x"),
        (
            _raises(flow.BudgetExhausted("max_requests = 1")),
            Outcome.INCONCLUSIVE,
            "not finished",
            "budget:max_requests = 1",
        ),
        (_raises(KeyError("data")), Outcome.BROKEN, "the suite erred: KeyError", ""),
        (_raises(AssertionError()), Outcome.BROKEN, "the suite erred: AssertionError", ""),
    ],
)
def test_every_end_of_a_check_is_one_outcome(
    judged: Any, answer: Any, tmp_path: Path, check: Judge, outcome: Outcome, message: str, cause: str
) -> None:
    """However a check ends there is one result, in the journal too; the suite's own error is never the target's."""
    result, _ = judged(Shop(answer), check)
    assert (result.outcome, result.cause) == (outcome, cause)
    assert message in result.message
    (line,) = journal_lines(tmp_path, "result")
    assert (line["outcome"], line["message"], line["case"]) == (outcome.value, result.message, "case")
    assert (result.fact == "oauth") == (outcome is Outcome.UNSTATED)
    assert (result.notes == ("seen",)) == (check in (_passes, _warns))


def test_a_journal_that_cannot_be_written_is_raised(judged: Any, answer: Any) -> None:
    """Then nothing more can be believed: it is not an outcome."""
    with pytest.raises(JournalError):
        judged(Shop(answer), _raises(JournalError("full")))


def test_results_hold_no_secret(judged: Any, answer: Any, tmp_path: Path) -> None:
    """Neither message nor observation carries the key into the journal."""
    judged(Shop(answer), _raises(Violation(f"it said {KEY}", observed=KEY)))
    assert KEY not in (tmp_path / "journal.ndjson").read_text()


# Controls and fixtures


def test_a_control_is_proven_once_for_all(scripted: Any, answer: Any, judged: Any) -> None:
    """Many checks that rest on one control send it once."""

    async def check(case: Case) -> None:
        await asyncio.gather(*(case.runtime.controls.prove(IDENTITY) for _ in range(20)))
        await case.control(await case.arrange())

    _, target = judged(Shop(answer), check)
    assert len(target.arrived) == 2


def test_a_control_gets_a_second_chance(judged: Any, answer: Any) -> None:
    """Once more on new fixtures: the first may have met a spoilt one."""
    result, target = judged(Shop(answer, [409, 200]), absent_key)
    assert result.outcome is Outcome.PASSED
    assert len(target.arrived) == 4


def test_what_is_used_up_is_inconclusive(judged: Any, answer: Any) -> None:
    """A static list that ran out names the fixture and how many are needed: no verdict on the target."""
    few = {"cart": {"open": Fixture("cart", "open", values=({"id": "c0"},))}}

    async def check(case: Case) -> None:
        for _ in range(3):
            await case.control(await case.arrange(prove_control=False))

    result, _ = judged(Shop(answer), check, QUOTE, fixtures=few)
    assert (result.outcome, result.cause) == (Outcome.INCONCLUSIVE, "fixture:fixtures.cart.open")
    assert "at least 2 are needed" in result.message


def test_a_fixture_by_an_operation_rests_on_its_control(judged: Any, answer: Any, profile_of: Any) -> None:
    """Where the operation that should make a fixture does not answer 200, that control is the cause."""
    made = {"cart": {"open": Fixture("cart", "open", call="createInstallationWebhook", members={"id": "/data/id"})}}
    facts = {**profile_of("").operations, "createInstallationWebhook": OperationFacts(body={"url": "u"})}
    keys = {"full": Credential("full", SecretSource(env="X"), frozenset({"catalog:read", "webhooks:write"}))}
    script = lambda arrived: answer(500 if "webhooks" in arrived.target else 200)
    result, _ = judged(script, _passes, QUOTE, fixtures=made, operations=facts, credentials=keys)
    assert (result.outcome, result.cause) == (Outcome.INCONCLUSIVE, "control:createInstallationWebhook")


def test_members_of_a_fixture_can_be_asked_for(judged: Any, answer: Any) -> None:
    """A check may look at the cart that its request was made with."""

    async def check(case: Case) -> None:
        request = await case.arrange(prove_control=False)
        assert case.fixture_of(request, "cart") == {"id": "c0"}
        assert case.fixture_of(request, "order") == {}
        await case.control(request)

    assert judged(Shop(answer), check, QUOTE)[0].outcome is Outcome.PASSED


# Replays


def _answer(value: Any, status: int = 200) -> Answer:
    import json

    return Answer("x1", Request(QUOTE), "u", (), b"", status, (), json.dumps(value).encode())


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"data": {"a": 1}}, {"data": {"a": 1.0}}, True),
        ({"data": {"a": 1, "b": 2}}, {"data": {"b": 2, "a": 1}}, True),
        ({"data": {"at": 1}}, {"data": {"at": 2}}, True),
        ({"data": {"lines": [{"at": 1, "x": 1}]}}, {"data": {"lines": [{"at": 2, "x": 1}]}}, True),
        ({"data": {"lines": [{"at": 1, "x": 1}]}}, {"data": {"lines": [{"at": 2, "x": 2}]}}, False),
        ({"data": {"a": 1}}, {"data": {"a": True}}, False),
        ({"data": {"a": 1}}, {"data": {}}, False),
        ({"data": {"a": None}}, {"data": {}}, False),
    ],
)
def test_a_replay_is_compared_by_value(judged: Any, answer: Any, first: Any, second: Any, same: bool) -> None:
    """JSON equality without what the profile says may differ; never bytes."""

    async def check(case: Case) -> None:
        assert are_alike(case, _answer(first), _answer(second)) is same
        assert not are_alike(case, _answer(first), _answer(first, 409))
        expect_same(case, _answer(first), _answer(second))

    result, _ = judged(Shop(answer), check, QUOTE)
    assert result.outcome is (Outcome.UNTESTED if same else Outcome.FAILED), result.message


def test_a_replay_that_differs_shows_both_values(judged: Any, answer: Any) -> None:
    """Expected and observed are the differing members with the first answer's values and the replay's.

    The signature names the first place only: values may differ from run to run.
    """

    def run(*ids: str) -> Any:
        values = [{"data": {"at": 1, "id": name, "a": 1, **({"b": 2} if name == ids[1] else {})}} for name in ids]

        async def check(case: Case) -> None:
            expect_same(case, *map(_answer, values))

        return judged(Shop(answer), check, QUOTE)[0]

    result = run("e1", "e2")
    assert result.expected == '/data/id: "e1"\n/data/b: absent'
    assert result.observed == '/data/id: "e2"\n/data/b: 2'
    unnamed = ", which idempotency.volatile does not name"
    assert result.message == f"the replay differs from the first answer at /data/id{unnamed}"
    assert result.signature == run("x", "y").signature != ""


def test_a_409_of_a_replay_is_given_a_moment(judged: Any, answer: Any) -> None:
    """A key may be in use for an instant after it was answered; one that stays stuck is the answer."""
    statuses = iter([200, 409, 409, 200])

    async def check(case: Case) -> None:
        request = await case.arrange(prove_control=False)
        await case.control(request)
        assert (await replay(case, request)).ok

    result, target = judged(lambda arrived: answer(next(statuses)), check, QUOTE)
    assert result.outcome is Outcome.PASSED
    assert len({arrived.all("Idempotency-Key")[0] for arrived in target.arrived}) == 1


def test_the_runtime_closes_what_it_opened(scripted: Any, tmp_path: Path, profile_of: Any) -> None:
    """Leaving the context ends every connection and task of the run."""

    async def main() -> Runtime:
        journal = Journal(tmp_path / "journal.ndjson")
        async with scripted() as target:
            settings = Settings(profile_of(target.url), CONTRACT, {"full": KEY}, journal, Secrets(), "run1", 8)
            async with open_context(settings) as runtime:
                await runtime.controls.prove(IDENTITY)
            before = asyncio.all_tasks()
            await asyncio.sleep(0.02)
            assert len(before) <= 2
        journal.close()
        return runtime

    assert asyncio.run(main()).sender.requests == 1
