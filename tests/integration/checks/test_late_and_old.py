"""What a target shows late, and what it forgets soon: keys, codes, tickets."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks import check_hosted
from conformance.checks.check_hosted import a_ticket_ends_when_stated
from conformance.checks.check_rate_limit import _expect_lifetime
from conformance.checks.support.case import Case
from conformance.checks.support.races import expect_overlap, send_together
from conformance.checks.support.signals import Inapplicable
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Effect, Hosted, Idempotency
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT, key_of
from tests.support.values import replace

QUOTE = CONTRACT.operations["quotePublicCart"]
CREATE, UPDATE = CONTRACT.operations["createInstallationWebhook"], CONTRACT.operations["updateInstallationWebhook"]
CONSUME = CONTRACT.operations["consumeHostedCheckoutBrowserTicket"]
_RETENTION_S = 0.2


@pytest.mark.parametrize(
    ("slow_attempts", "outcome"), [(0, Outcome.PASSED), (1, Outcome.PASSED), (9, Outcome.INCONCLUSIVE)]
)
def test_a_key_that_was_too_old_is_tried_again_with_another_one(
    judged: Any, answer: Any, slow_attempts: int, outcome: Outcome
) -> None:
    """A check that waited for its turn longer than a key is kept has shown nothing; the next attempt may be in time."""
    attempts = 0
    known: dict[str, float] = {}

    def script(arrived: Any) -> bytes:
        first_s = known.setdefault(key_of(arrived), time.monotonic())
        is_known = time.monotonic() - first_s < _RETENTION_S
        return bytes(answer(409 if is_known and time.monotonic() > first_s + 0.001 else 200, {"data": {}}))

    async def law(case: Case) -> None:
        nonlocal attempts
        attempts += 1
        first = await case.control(await case.arrange())
        # the loop's own clock: the fixture of these tests shortens asyncio.sleep
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        loop.call_later(2 * _RETENTION_S if attempts <= slow_attempts else 0.01, turn.set_result, None)
        await turn
        repeat = await case.send(first.request, "the same key")
        if repeat.status != 409:
            raise case.violation("a used key was used again", first, repeat)

    idempotency = Idempotency("header", name="Idempotency-Key", retention_s=_RETENTION_S)
    result, _ = judged(script, law, QUOTE, idempotency=idempotency)
    assert result.outcome is outcome, result
    assert attempts == (slow_attempts + 1 if outcome is Outcome.PASSED else 3)


@pytest.mark.parametrize("is_stated", [True, False])
def test_a_fixture_that_a_call_has_made_is_used_when_it_must_be_visible(
    judged: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, *, is_stated: bool
) -> None:
    """Its first control shows that it was not there yet; without a stated time, that is the target's refusal."""
    made: dict[str, float] = {}
    within_s, clock_s, sleep = 4.25, 0.0, asyncio.sleep

    async def pass_time(seconds: float) -> None:
        """Only the pause for this fact counts: whatever else sleeps meanwhile, does so more often on a slow machine."""
        nonlocal clock_s
        if seconds == within_s:
            clock_s += seconds
        await sleep(0 if seconds == within_s else seconds)

    monkeypatch.setattr(asyncio, "sleep", pass_time)

    def script(arrived: Any) -> bytes:
        name = f"w-{len(made)}"
        if arrived.method == "POST":
            made[name] = clock_s
            return bytes(answer(200, {"data": {"id": name}}))
        is_visible = clock_s >= made[arrived.target.rpartition("/")[2]] + 3
        return bytes(answer(200 if is_visible else 404, {"data": {}}))

    async def law(case: Case) -> None:
        await case.runtime.controls.prove(case.operation)
        await case.control(await case.arrange())

    facts = {
        CREATE.id: OperationFacts(body={"url": "https://client.example/{unique}"}),
        UPDATE.id: OperationFacts(body={"events": []}, path={"id": "{webhook.id}"}),
    }
    fixtures = {"webhook": {"active": Fixture("webhook", "active", call=CREATE.id, members={"id": "/data/id"})}}
    changes: dict[str, Any] = {
        "operations": facts,
        "fixtures": fixtures,
        "effects": {CREATE.id: (Effect("/count", within_s=within_s),)} if is_stated else {},
        "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({UPDATE.scope, CREATE.scope}))},
    }
    result, _ = judged(script, law, UPDATE, **changes)
    assert result.outcome is (Outcome.PASSED if is_stated else Outcome.INCONCLUSIVE), result


@pytest.mark.parametrize(("lifetime_s", "has_ended"), [(1.0, True), (30.0, False), (None, False)])
def test_a_ticket_that_ends_before_the_limit_does_shows_nothing(
    judged: Any, answer: Any, lifetime_s: float | None, *, has_ended: bool
) -> None:
    """By what the profile states, a call that was limited can then not be repeated on this target."""

    async def law(case: Case) -> None:
        await case.send(await case.arrange(CONSUME), "a good call")
        old = await case.runtime.sender.send(
            replace(await case.arrange(CONSUME), arranged_at=time.monotonic() - 5.0), "limited"
        )
        case_of_ticket = Case(case.runtime, CONSUME)
        if has_ended:
            with pytest.raises(Inapplicable, match="lives for 1 s, and was 5"):
                _expect_lifetime(case_of_ticket, old, old)
        else:
            _expect_lifetime(case_of_ticket, old, old)

    facts = OperationFacts(body={"ticket": "{session.ticket}"}, path={"sessionId": "{session.id}"})
    sessions = tuple({"id": f"s{number}", "ticket": f"t{number}"} for number in range(9))
    fixtures = {"session": {"open": Fixture("session", "open", values=sessions)}}
    result, _ = judged(
        lambda arrived: answer(200, {"data": {}}),
        law,
        CONSUME,
        operations={CONSUME.id: facts},
        fixtures=fixtures,
        hosted=Hosted(ticket_lifetime_s=lifetime_s),
    )
    assert result.outcome is Outcome.PASSED, result


@pytest.mark.parametrize(("is_old", "outcome"), [(True, Outcome.FAILED), (False, Outcome.PASSED)])
def test_a_ticket_from_a_slow_source_is_not_taken_for_an_old_one(
    judged: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_old: bool, outcome: Outcome
) -> None:
    """One that must have ended is waited for from its arrival, one that must not have from when it was asked for."""
    pauses: list[float] = []

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)

    async def law(case: Case) -> None:
        await a_ticket_ends_when_stated(case, is_old)

    source = "import time\n\n\ndef make(*, context):\n    time.sleep(0.3)\n    return {'id': 's1', 'ticket': 't1'}\n"
    (tmp_path / "sessions.py").write_text(source)
    monkeypatch.setattr(check_hosted, "age_at_end", lambda _lifetime_s, *, is_old: 0.25)
    monkeypatch.setattr(check_hosted, "asyncio", SimpleNamespace(sleep=sleep))
    facts = OperationFacts(body={"ticket": "{session.ticket}"}, path={"sessionId": "{session.id}"})
    result, _ = judged(
        lambda _arrived: answer(200, {"data": {}}),
        law,
        CONSUME,
        operations={CONSUME.id: facts},
        fixtures={"session": {"open": Fixture("session", "open", python=f"{tmp_path / 'sessions.py'}:make")}},
        hosted=Hosted(ticket_lifetime_s=9.0),
    )
    assert result.outcome is outcome, result
    assert [pause_s > 0.2 for pause_s in pauses] == [is_old]


@pytest.mark.parametrize(("limited_bursts", "outcome"), [(1, Outcome.PASSED), (9, Outcome.INCONCLUSIVE)])
def test_calls_at_once_that_were_limited_are_sent_again(
    judged: Any, answer: Any, limited_bursts: int, outcome: Outcome
) -> None:
    """Of one call that passes a limit nothing is known of a race; after a pause the limit may let several through."""
    bursts = 0
    calls = 0

    async def script(arrived: Any) -> bytes:
        nonlocal calls
        calls += 1
        is_first = calls % 4 == 1
        await asyncio.sleep(0.02)
        return bytes(answer(200 if is_first or bursts > limited_bursts else 429, {"data": {}}))

    async def law(case: Case) -> None:
        nonlocal bursts
        bursts += 1
        requests = [await case.arrange() for _ in range(4)]
        expect_overlap(case, await send_together(case, requests, "rivals"))

    result, _ = judged(script, law, QUOTE)
    assert result.outcome is outcome, result
    assert bursts == (limited_bursts + 1 if outcome is Outcome.PASSED else 3)
