"""How long keys are kept is not shown: where a profile states it, what came later is nobody's violation."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from conformance.checks.check_idempotency import a_replay_outlives_other_calls, the_same_call_is_answered_the_same
from conformance.checks.support.answer_times import is_time
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Idempotency
from conformance.profile.model import Limits
from tests.support.check_runs import CONTRACT

KEPT_S = 0.3


@pytest.mark.parametrize(
    ("stated_s", "answers_s", "outcome"),
    [
        (KEPT_S, 0.4, Outcome.INCONCLUSIVE),
        (KEPT_S, 0.0, Outcome.FAILED),
        (60, 0.4, Outcome.FAILED),
        (None, 0.4, Outcome.FAILED),
    ],
    ids=["too late", "in time", "kept for longer", "not stated"],
)
def test_a_key_that_was_forgotten_is_held_against_nobody_who_said_so(
    judged: Any, answer: Any, stated_s: float | None, answers_s: float, outcome: Outcome
) -> None:
    """A target that forgets at once, and may take its time to answer, so that a replay comes late."""
    counted: list[int] = []

    def script(arrived: Any) -> bytes:
        counted.append(1)
        time.sleep(answers_s)
        return bytes(answer(200, {"data": {"number": len(counted)}}))

    async def law(case: Case) -> None:
        await the_same_call_is_answered_the_same(case)

    idempotency = Idempotency("header", name="Idempotency-Key", retention_s=stated_s)
    result, _ = judged(script, law, CONTRACT.operations["quotePublicCart"], idempotency=idempotency)
    assert result.outcome is outcome, result
    assert outcome is Outcome.FAILED or "is kept for 0.3 s" in result.message


@pytest.mark.parametrize("moment", ["abandoned", "answered"])
def test_a_late_use_of_a_key_counts_whoever_reads_its_answer(judged: Any, answer: Any, moment: str) -> None:
    """What a call did after its key may have been forgotten is held against no target (IDEM-7)."""

    async def law(case: Case) -> None:
        request = await case.arrange()
        if moment == "abandoned":
            await case.runtime.sender.abandon(request, "after-last-byte")
        else:
            await case.send(request, "the first call")
        time.sleep(0.15)  # the fixture `quick` cuts the pauses of asyncio
        raise case.violation("two effects", await case.send(request, "the same call again"))

    idempotency = Idempotency("header", name="Idempotency-Key", retention_s=0.1)
    result, _ = judged(
        lambda _: answer(200, {"data": {}}), law, CONTRACT.operations["quotePublicCart"], idempotency=idempotency
    )
    assert result.outcome is Outcome.INCONCLUSIVE, result


@pytest.mark.parametrize(
    ("retention_s", "depth", "pause_s"),
    [
        (30.0, "standard", 29.5),
        (30.0, "quick", 1.5),
        (4.0, "quick", 3.5),
        (86_400.0, "quick", 1.5),
        (86_400.0, "standard", 5.5),
        (86_400.0, "deep", 31.0),
        (None, "deep", 1.5),
    ],
)
def test_a_stated_retention_of_up_to_a_minute_is_waited_for(
    judged: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, retention_s: float | None, depth: str, pause_s: float
) -> None:
    """A key that is forgotten before the stated time would not be found by a replay after a second. Quick runs wait
    five seconds at most. Where the end of the stated time is too far away, a usual run waits for some seconds."""
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", note)
    idempotency = Idempotency("header", name="Idempotency-Key", retention_s=retention_s)
    result, _ = judged(
        lambda _: answer(200, {"data": {}}),
        a_replay_outlives_other_calls,
        CONTRACT.operations["quotePublicCart"],
        idempotency=idempotency,
        limits=Limits(timeout_s=2, patience_s=0.2, depth=depth),
    )
    assert result.outcome is Outcome.PASSED, result
    assert pause_s - 1 < max(pauses) <= pause_s


@pytest.mark.parametrize(
    ("volatile", "differing", "outcome"),
    [
        (None, "a time", Outcome.UNSTATED),
        (None, "a number of a time", Outcome.UNSTATED),
        (None, "a member beside data", Outcome.UNSTATED),
        (None, "a text", Outcome.FAILED),
        (None, "a time and a text", Outcome.FAILED),
        (None, "an absent time", Outcome.FAILED),
        (None, "many times and a text", Outcome.FAILED),
        ((), "a time", Outcome.FAILED),
        (("/data/version",), "a time", Outcome.FAILED),
        (("/data/at",), "a time", Outcome.PASSED),
    ],
)
def test_a_replay_may_show_its_time_where_nothing_is_stated(
    judged: Any, answer: Any, volatile: tuple[str, ...] | None, differing: str, outcome: Outcome
) -> None:
    """Whether it may differ is a fact that the profile could state; an empty list says that nothing may."""
    counted: list[int] = []

    def script(_: Any) -> bytes:
        counted.append(1)
        number = len(counted)
        members = {
            "a time": {"at": f"2026-11-29T22:00:{number:02}Z"},
            "a number of a time": {"at": int(time.time() * 1000) + number},
            "a text": {"id": f"id-{number}"},
            "a time and a text": {"at": f"2026-11-29T22:00:{number:02}Z", "id": f"id-{number}"},
            "many times and a text": {
                **{f"at{place}": f"2026-11-29T22:00:{number:02}Z" for place in range(20)},
                "id": f"id-{number}",
            },
            "an absent time": {} if number % 2 else {"at": "2026-11-29T22:00:00Z"},
        }
        beside = {"servedBy": f"host-{number}"} if differing == "a member beside data" else {}
        return bytes(answer(200, {"data": members.get(differing, {}), **beside}))

    async def law(case: Case) -> None:
        await the_same_call_is_answered_the_same(case)

    idempotency = Idempotency("header", name="Idempotency-Key", volatile=volatile)
    result, _ = judged(script, law, CONTRACT.operations["quotePublicCart"], idempotency=idempotency)
    assert result.outcome is outcome, result
    assert outcome is not Outcome.UNSTATED or "idempotency.volatile" in result.message


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("2026-11-29T22:00:00Z", True),
        ("2026-11-29 22:00:00.123+00:00", True),
        ("Sun, 29 Nov 2026 22:53:26 GMT", True),
        ("ord_20261129220000123", False),
        ("2026-11-29", False),
        (12345, False),
        (True, False),
        (10**400, False),
        (float("nan"), False),
        (None, False),
    ],
)
def test_what_is_a_time(value: Any, is_one: bool) -> None:
    """A number of one is near the present."""
    assert is_time(value) is is_one
    assert is_time(time.time()) and is_time(int(time.time() * 1e6))
