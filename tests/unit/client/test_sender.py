"""The one way out: what is waited out, repeated, recorded, refused and bounded. Against a scripted target."""

from __future__ import annotations

import asyncio
import email.utils
import time
from typing import Any

import pytest

from conformance.client import sender as module
from conformance.client.fixtures import NotSent
from conformance.client.redaction.secrets import Secrets
from conformance.client.response import Answer
from conformance.client.send_errors import BudgetExhausted
from conformance.client.sender import Sender
from conformance.profile.model import Limits
from tests.support.senders import CREATE, IDENTITY, one
from tests.support.values import replace


def test_as_many_in_flight_as_allowed(through: Any, answer: Any) -> None:
    """The target itself sees the limit reached, and never exceeded."""

    async def script(arrived: Any) -> bytes:
        await asyncio.sleep(0.03)
        return answer()

    async def work(flow: Sender) -> None:
        await asyncio.gather(*(flow.send(IDENTITY) for _ in range(40)))

    _, target, flow, exchanges = through(script, work, concurrency=8)
    assert (target.most_in_flight, flow.limiter.most_in_flight) == (8, 8)
    assert len(exchanges) == flow.requests == 40
    assert len({exchange["id"] for exchange in exchanges}) == 40


def test_a_waiting_request_goes_out_before_the_previous_answer_is_judged(through: Any, answer: Any) -> None:
    """Judging takes longer than writing a request; meanwhile the target would have one request less."""
    events: list[str] = []

    async def work(flow: Sender) -> None:
        send, record = flow.transport.send, flow._recorder.record

        async def note_send(wire: Any, **options: Any) -> Any:
            events.append("sent")
            return await send(wire, **options)

        def note_record(*arguments: Any) -> Any:
            events.append("judged")
            return record(*arguments)

        flow.transport.send, flow._recorder.record = note_send, note_record  # type: ignore[method-assign]
        await asyncio.gather(*(flow.send(IDENTITY) for _ in range(3)))

    through(lambda arrived: answer(), work, concurrency=1)
    assert events == ["sent", "sent", "judged", "sent", "judged", "judged"]


def test_a_429_is_waited_out(through: Any, answer: Any) -> None:
    """The answer that counts is the one after it; both are recorded, the second as the repeat of the first."""
    answers = iter([answer(429), answer(429), answer(200)])
    given, target, flow, exchanges = through(lambda arrived: next(answers), one())
    assert (given.status, len(target.arrived)) == (200, 3)
    assert [exchange["status"] for exchange in exchanges] == [429, 429, 200]
    assert [exchange["retry_of"] for exchange in exchanges] == ["", "x1", "x1"]
    assert flow.waited_s > 0


@pytest.mark.parametrize("status", [429, 503])
def test_a_status_that_is_asked_for_is_taken(through: Any, answer: Any, status: int) -> None:
    """A check of rate limits gets its 429 at once, a check of trouble its 503."""
    given, target, _, _ = through(lambda arrived: answer(status), one(accept_statuses=frozenset({429, 503})))
    assert (given.status, len(target.arrived)) == (status, 1)


def test_patience_has_an_end(through: Any, answer: Any) -> None:
    """A 429 that persists is returned when the next wait would go beyond the patience."""
    given, target, flow, _ = through(lambda arrived: answer(429), one(), patience_s=0.3)
    assert given.status == 429
    assert 2 <= len(target.arrived) <= 6
    assert flow.waited_s <= 0.3


def test_patience_can_be_given_by_call(through: Any, answer: Any) -> None:
    """No patience, no second try."""
    _, target, _, _ = through(lambda arrived: answer(429), one(patience_s=0.0))
    assert len(target.arrived) == 1


def test_retry_after_zero_is_no_invitation_to_hammer(through: Any, answer: Any) -> None:
    """`Retry-After: 0` shortens no wait: the own back-off stays."""
    _, target, _, _ = through(lambda arrived: answer(429, Retry_After="0"), one(), patience_s=0.4)
    assert len(target.arrived) <= 6


def test_retry_after_in_seconds_is_honoured(through: Any, answer: Any) -> None:
    """The wait is at least what the target asked for."""
    answers = iter([answer(429, Retry_After="1"), answer(200)])
    started = time.perf_counter()
    given, _, flow, _ = through(lambda arrived: next(answers), one())
    assert given.status == 200
    assert 1.0 <= flow.waited_s < 1.3  # what was meant to be waited, not what it took
    assert time.perf_counter() - started >= 1.0


def test_a_retry_after_beyond_patience_is_not_waited_for(through: Any, answer: Any) -> None:
    """A day is more than anybody waits: the 429 is returned at once."""
    started = time.perf_counter()
    given, target, _, _ = through(lambda arrived: answer(429, Retry_After="86400"), one(), patience_s=5)
    assert (given.status, len(target.arrived)) == (429, 1)
    assert time.perf_counter() - started < 4


_TARGET_TIME = 1_700_000_000
"""By the target's clock, which is years behind."""


def _in(seconds: float) -> str:
    """A date so long after the answer, by the target's clock."""
    return email.utils.formatdate(_TARGET_TIME + seconds, usegmt=True)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (None, 0.05, 0.1),
        ("7", 7, 7.1),
        (" 7 ", 7, 7.1),
        ("0", 0.05, 0.1),
        ("86400", 30, 30.1),
        ("9" * 5000, 30, 30.1),
        ("-5", 0.05, 0.1),
        ("1.5", 0.05, 0.1),
        ("soon", 0.05, 0.1),
        ("", 0.05, 0.1),
        ("٣", 0.05, 0.1),
        (_in(12), 12, 12.1),
        (_in(-3600), 0.05, 0.1),
        (_in(86400), 30, 30.1),
        ("Wed, 99 Foo 2099 99:99:99 GMT", 0.05, 0.1),
        ("Wed, 21 Oct 99999999999 07:28:00 GMT", 0.05, 30.1),
    ],
)
def test_how_long_a_429_is_waited_out(value: Any, low: float, high: float) -> None:
    """Seconds, and dates by the target's clock, are followed within bounds; otherwise the own back-off is."""
    headers = (("Date", _in(0)), *(() if value is None else (("Retry-After", value),)))
    told = Answer("x1", IDENTITY, "u", (), b"", 429, headers)
    flow = Sender(None, None, Secrets(), Limits(), concurrency=1)  # type: ignore[arg-type]
    assert low <= flow._back_off(told, 1) <= high


def test_the_own_back_off_grows_and_is_bounded() -> None:
    """Twice as long each time, with jitter, up to a few seconds."""
    flow = Sender(None, None, Secrets(), Limits(), concurrency=1)  # type: ignore[arg-type]
    told = Answer("x1", IDENTITY, "u", (), b"", 429)
    waits = [flow._back_off(told, attempt) for attempt in range(1, 40)]
    assert all(wait <= module._LONGEST_WAIT_S for wait in waits)
    assert min(waits[10:]) >= module._LONGEST_WAIT_S / 2


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gateway trouble is repeated without the pauses."""
    real = asyncio.sleep
    monkeypatch.setattr(module.asyncio, "sleep", lambda seconds: real(min(seconds, 0.01)))


@pytest.mark.parametrize("trouble", [502, 503, 504, None])
def test_gateway_trouble_is_repeated_and_recorded(through: Any, answer: Any, quick: None, trouble: int | None) -> None:
    """502, 503, 504 and no answer at all are tried again; every try is in the journal."""
    answers = iter([answer(trouble) if trouble else None] * 2 + [answer(200)])
    given, _, _, exchanges = through(lambda arrived: next(answers), one())
    assert given.status == 200
    assert [exchange["status"] for exchange in exchanges] == [trouble, trouble, 200]
    assert [exchange["retry_of"] for exchange in exchanges] == ["", "x1", "x1"]
    assert all(exchange["purpose"] == "why" for exchange in exchanges)


def test_gateway_trouble_that_stays_is_returned(through: Any, answer: Any, quick: None) -> None:
    """After the last try the trouble itself is the answer."""
    given, target, _, _ = through(lambda arrived: answer(503), one())
    assert (given.status, len(target.arrived)) == (503, module.GATEWAY_ATTEMPTS)


@pytest.mark.parametrize("trouble", [502, 503, 504, None])
def test_a_write_that_met_trouble_may_have_been_applied(
    through: Any, answer: Any, quick: None, trouble: int | None
) -> None:
    """A gateway may answer 504 after the work was done: the answer to a repeat of a keyless call is not evidence."""
    answers = iter([answer(trouble) if trouble else None, answer(400)])
    given, *_ = through(lambda arrived: next(answers), one(CREATE))
    assert (given.status, given.possibly_applied, given.follows_loss) == (400, True, True)


@pytest.mark.parametrize("request_", [IDENTITY, replace(CREATE, key="k")], ids=["read", "with a key"])
def test_a_repeatable_call_leaves_no_doubt(through: Any, answer: Any, quick: None, request_: Any) -> None:
    """A read and a call that its key protects may be repeated."""
    answers = iter([answer(504), answer(400)])
    given, *_ = through(lambda arrived: next(answers), one(request_))
    assert (given.possibly_applied, given.follows_loss) == (False, True)


def test_trouble_that_stays_is_evidence(through: Any, answer: Any, quick: None) -> None:
    """Where each attempt gets 503, that is the answer, and it may be tied to the request."""
    given, *_ = through(lambda arrived: answer(503), one(CREATE))
    assert (given.status, given.possibly_applied) == (503, False)


@pytest.mark.parametrize("status", [200, 201, 400, 401, 404, 409, 418, 500, 501, 505])
def test_any_other_answer_is_final(through: Any, answer: Any, status: int) -> None:
    """500 is the target's own word: it is not asked twice."""
    given, target, _, _ = through(lambda arrived: answer(status), one())
    assert (given.status, len(target.arrived)) == (status, 1)


def test_a_repeat_is_the_same_request(through: Any, answer: Any, quick: None) -> None:
    """Same key, same body: a repeat after trouble is what a careful client would send."""
    answers = iter([None, answer(429), answer(200)])
    _, target, _, _ = through(lambda arrived: next(answers), one(CREATE.with_header("Idempotency-Key", "k")))
    assert {(arrived.body, *arrived.all("Idempotency-Key")) for arrived in target.arrived} == {(b'{"url":"u"}', "k")}


# Budget


def test_max_requests_is_a_bound(through: Any, answer: Any) -> None:
    """Not one request more, however many are sent at once; the flow remembers what was exhausted."""

    async def work(flow: Sender) -> list[Any]:
        return await asyncio.gather(*(flow.send(IDENTITY) for _ in range(30)), return_exceptions=True)

    given, target, flow, _ = through(lambda arrived: answer(), work, max_requests=11)
    assert len(target.arrived) == 11
    assert sum(isinstance(item, BudgetExhausted) for item in given) == 19
    assert flow.limit_reached == "max_requests = 11"


def test_repeats_count_too(through: Any, answer: Any) -> None:
    """A target that only limits uses up the budget, not more."""

    async def work(flow: Sender) -> None:
        with pytest.raises(BudgetExhausted):
            await flow.send(IDENTITY)

    _, target, _, _ = through(lambda arrived: answer(429), work, max_requests=3)
    assert len(target.arrived) == 3


def test_a_dead_target_ends_the_run(through: Any, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many exchanges in a row without an answer nothing more is sent."""
    monkeypatch.setattr(module, "_DEAD_AFTER", 10)

    async def work(flow: Sender) -> None:
        with pytest.raises(BudgetExhausted, match="stopped answering"):
            while True:
                await flow.send(IDENTITY)

    _, target, flow, _ = through(lambda arrived: None, work)
    assert 10 <= len(target.arrived) <= 12
    assert flow.limit_reached.startswith("the target stopped answering: ")


def test_an_answer_now_and_then_is_a_living_target(
    through: Any, answer: Any, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only silence in a row counts."""
    monkeypatch.setattr(module, "_DEAD_AFTER", 3)
    answers = iter([None, None, answer(200)] * 5)

    async def work(flow: Sender) -> list[Answer]:
        return [await flow.send(IDENTITY) for _ in range(5)]

    given, _, _, _ = through(lambda arrived: next(answers), work)
    assert {item.status for item in given} == {200}


def test_no_other_request_ends_a_run_while_the_target_is_asked_whether_it_answers(
    through: Any, answer: Any, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that lose their answers tell nothing about a read that was answered before."""
    monkeypatch.setattr(module, "_DEAD_AFTER", 3)

    async def script(arrived: Any) -> bytes | None:
        await asyncio.sleep(0.2 if arrived.method == "GET" else 0)
        return answer(200) if arrived.method == "GET" else None

    async def work(flow: Sender) -> list[Answer]:
        await flow.send(IDENTITY)
        return await asyncio.gather(*(flow.send(CREATE) for _ in range(6)))

    given, _, flow, exchanges = through(script, work)
    assert {item.status for item in given} == {None}
    assert flow.limit_reached == ""
    assert "whether the target still answers" in {exchange["purpose"] for exchange in exchanges}


def test_read_only_sends_reads_only(through: Any, answer: Any) -> None:
    """Whatever may change state is refused before it is sent; another method on a read too."""

    async def work(flow: Sender) -> None:
        for request in (CREATE, replace(IDENTITY, method="POST")):
            with pytest.raises(NotSent, match="read-only"):
                await flow.send(request)
        await flow.send(IDENTITY)

    _, target, _, _ = through(lambda arrived: answer(), work, read_only=True)
    assert [arrived.method for arrived in target.arrived] == ["GET"]


def test_the_rate_is_kept(through: Any, answer: Any) -> None:
    """`rate` bounds how fast requests follow each other, whoever sends them; the waiting is counted."""

    async def work(flow: Sender) -> float:
        started = time.perf_counter()
        await asyncio.gather(*(flow.send(IDENTITY) for _ in range(9)))
        return time.perf_counter() - started

    took, _, flow, _ = through(lambda arrived: answer(), work, rate=40)
    assert took >= 0.195
    assert flow.waited_s == pytest.approx(sum(range(9)) / 40, rel=0.4)
