"""Limits that do not end: who is suspected, what is asked in silence, and what is then sent no more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from conformance.client import limit_watch as module
from conformance.client.limit_watch import LimitWatch
from conformance.client.recorder import Recorder
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import Request
from conformance.client.send_errors import LimitPersists
from conformance.client.sender import Sender
from conformance.client.transport import Transport
from conformance.contract import load_contract
from conformance.journal.journal import Journal
from conformance.profile.behavior import Authorization, Idempotency, RateLimit
from conformance.profile.model import Credential, Limits, Profile, SecretSource
from tests.support.values import replace

OPERATIONS = load_contract().operations
CONFIG = Request(OPERATIONS["getPublicRuntimeConfig"])
IDENTITY = Request(OPERATIONS["getApiKeyIdentity"], authorization=("Bearer a",), credential="full")
CREATE = replace(
    IDENTITY,
    operation=OPERATIONS["createInstallationWebhook"],
    body={},
    key="k1",
    idempotency=Idempotency("header", name="Idempotency-Key"),
)
PROFILE = Profile(
    "p",
    "http://127.0.0.1:1",
    Authorization("Bearer {key}"),
    limits=Limits(patience_s=20),
    credentials={"full": Credential("full", SecretSource(env="X"))},
    rate_limit=RateLimit(recovery_s=0.3),
)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suspicion takes tenths of seconds."""
    monkeypatch.setattr(module, "_SUSPECT_AFTER_S", 0.3)
    monkeypatch.setattr(module, "_GIVE_UP_AFTER_S", 0.1)
    monkeypatch.setattr(module, "_UNSTATED_RECOVERY_S", 0.3)


@pytest.fixture
def watched(scripted: Any, tmp_path: Path, quick: None) -> Callable[..., Any]:
    """`watched(script, work, profile)`: what work gave, the target, the flow."""

    def run(script: Any, work: Any, profile: Profile = PROFILE, ends_in_s: float | None = None) -> Any:
        async def main() -> Any:
            journal, secrets = Journal(tmp_path / "journal.ndjson"), Secrets()
            recorder = Recorder(journal, secrets, lambda answer: ((), ()))
            async with scripted(script) as target, Transport(target.url, timeout_s=2) as transport:
                watch = LimitWatch(profile, ends_at=None if ends_in_s is None else time.monotonic() + ends_in_s)
                flow = Sender(transport, recorder, secrets, profile.limits, concurrency=8, limit_watch=watch)
                try:
                    return await work(flow), target, flow
                finally:
                    journal.close()

        return asyncio.run(main())

    return run


async def raised(flow: Sender, request: Request) -> LimitPersists:
    with pytest.raises(LimitPersists) as error:
        await flow.send(request)
    return error.value


def test_a_caller_that_gets_nothing_but_429_is_given_up(watched: Any, answer: Any) -> None:
    """After the declared recovery, in which nothing is sent; what comes later is refused without being sent."""

    async def work(flow: Sender) -> tuple[LimitPersists, int]:
        first = await raised(flow, IDENTITY)
        sent = flow.requests
        await raised(flow, IDENTITY)
        return first, flow.requests - sent

    (error, more), _, flow = watched(lambda arrived: answer(429), work)
    assert (error.limit.requirement, error.limit.key_used_up, more) == ("RATE-3", False, 0)
    assert error.limit.waited_s >= 0.3
    assert flow.limit_watch.violation("getApiKeyIdentity", "RATE-3") == error.limit
    assert flow.limit_watch.violation("getApiKeyIdentity", "IDEM-8") is None


def test_others_are_silent_meanwhile_and_go_on_after_it(watched: Any, answer: Any) -> None:
    """A public operation is answered all the time, but not while the key is left alone."""
    times: list[float] = []

    def script(arrived: Any) -> bytes:
        if "identity" in arrived.target:
            return answer(429)
        times.append(time.monotonic())
        return answer(200)

    async def work(flow: Sender) -> None:
        async def others() -> None:
            while flow.limit_watch.violation("getApiKeyIdentity", "RATE-3") is None:
                await flow.send(CONFIG)
                await asyncio.sleep(0.01)
            await flow.send(CONFIG)

        await asyncio.gather(raised(flow, IDENTITY), others())

    watched(script, work)
    assert max(later - earlier for earlier, later in pairwise(times)) >= 0.3


def test_a_limit_that_ends_in_silence_is_none(watched: Any, answer: Any) -> None:
    """Where asking keeps the limit up, silence ends it, and the request is answered."""
    asked: list[float] = []

    def script(arrived: Any) -> bytes:
        asked.append(time.monotonic())
        left_alone = len(asked) > 1 and asked[-1] - asked[-2] > 1.0
        return answer(200 if left_alone else 429)

    profile = replace(PROFILE, rate_limit=RateLimit(recovery_s=1.1))
    given, _, flow = watched(script, lambda flow: flow.send(IDENTITY, patience_s=60), profile)
    assert flow.limit_watch.violation("getApiKeyIdentity", "RATE-3") is None
    assert given.request is IDENTITY


UNSTATED = replace(PROFILE, rate_limit=RateLimit())


def test_a_window_that_nobody_stated_is_waited_out(watched: Any, answer: Any) -> None:
    """Where no recovery is stated, a first silence proves nothing: longer ones follow, up to the patience.

    Refused requests count here, so that only a silence of 1.1 s ends the limit.
    """
    arrivals: list[float] = []

    def script(arrived: Any) -> bytes:
        arrivals.append(time.monotonic())
        return answer(200 if len(arrivals) > 1 and arrivals[-1] - arrivals[-2] > 1.1 else 429)

    given, _, flow = watched(script, lambda flow: flow.send(IDENTITY), UNSTATED)
    silences = [later - earlier for earlier, later in pairwise(arrivals) if later - earlier > 0.25]
    assert given.status == 200 or silences[-1] > 1.1
    assert flow.limit_watch.violation("getApiKeyIdentity", "RATE-3") is None
    assert flow.limit_watch.lasting_limit(IDENTITY) is None


def test_once_a_limit_outlasts_the_patience_the_next_gets_one_pause(watched: Any, answer: Any) -> None:
    """A target that never recovers costs the patience once for genuine callers, and once for guessed keys.

    A guard against guessed keys says nothing about a limit of others.
    """
    profile = replace(UNSTATED, limits=Limits(patience_s=2))
    guessed = replace(IDENTITY, credential="")

    async def work(flow: Sender) -> list[float]:
        requests = guessed, IDENTITY, replace(CREATE, key=None, idempotency=None)
        return [(await raised(flow, request)).limit.waited_s for request in requests]

    waited, _, _ = watched(lambda arrived: answer(429), work, profile)
    assert waited[:2] == pytest.approx([2.2, 2.2], abs=0.2)
    assert waited[2] <= 0.3


def test_a_key_in_another_form_is_a_guess(watched: Any, answer: Any) -> None:
    """What is limited then may be failed authentications alone: it violates nothing, and the stated form is sent."""
    form = "Token «credential:full»"
    other = CREATE.with_authorization("Token a", credential="full", evidence=(form,))
    stated = CREATE.with_authorization("Bearer a", credential="full", evidence=(form.replace("Token", "Bearer"),))

    async def work(flow: Sender) -> int | None:
        await raised(flow, other)
        return (await flow.send(stated)).status

    status, _, flow = watched(lambda a: answer(429 if a.all("Authorization") == ["Token a"] else 200), work)
    assert status == 200
    assert not any(flow.limit_watch.violation(CREATE.operation.id, name) for name in ("RATE-3", "IDEM-8"))


def test_a_key_that_is_used_up_gets_one_pause(watched: Any, answer: Any) -> None:
    """Its caller is answered under another key, so that it is not a window that has to pass."""

    async def work(flow: Sender) -> LimitPersists:
        await flow.send(CREATE.with_key("k0"))
        return await raised(flow, CREATE)

    error, _, _ = watched(lambda a: answer(429 if a.all("Idempotency-Key") == ["k1"] else 200), work, UNSTATED)
    assert error.limit.waited_s == pytest.approx(0.3)


def test_a_silence_is_a_wait_that_the_progress_names(watched: Any, answer: Any) -> None:
    async def work(flow: Sender) -> str:
        limited = asyncio.create_task(raised(flow, IDENTITY))
        while not flow.limit_watch.is_silent:
            await asyncio.sleep(0.01)
        other = asyncio.create_task(flow.send(CONFIG))
        await asyncio.sleep(0.05)
        description = flow.wait_stats.description
        await asyncio.gather(limited, other)
        return description

    given, _, _ = watched(lambda arrived: answer(429 if "identity" in arrived.target else 200), work)
    assert "recovers" in given


def test_an_answer_now_and_then_is_no_suspicion(watched: Any, answer: Any) -> None:
    """A shared limit of few requests a second: no silence, nothing refused."""
    count = iter(range(10_000))

    async def work(flow: Sender) -> list[int | None]:
        return [(await flow.send(IDENTITY)).status for _ in range(6)]

    given, _, flow = watched(lambda arrived: answer(200 if next(count) % 4 == 3 else 429), work)
    assert given == [200] * 6
    assert not flow.limit_watch.is_suspect("getApiKeyIdentity", "RATE-3")


@pytest.mark.parametrize(
    ("profile", "ends_in_s"),
    [
        (replace(PROFILE, rate_limit=RateLimit(), limits=Limits(patience_s=2.5)), None),
        (
            replace(
                PROFILE,
                rate_limit=RateLimit(recovery_s=0.3, run_limit=9, run_window_s=300),
                limits=Limits(patience_s=2.5),
            ),
            None,
        ),
        (replace(PROFILE, rate_limit=RateLimit(recovery_s=300), limits=Limits(patience_s=2.5)), None),
        (replace(PROFILE, rate_limit=RateLimit(recovery_s=300)), 2.9),
        (replace(PROFILE, credentials={"full": Credential("full", SecretSource(env="X"), status="revoked")}), None),
    ],
    ids=["no bound stated", "the window of the run", "beyond the patience", "beyond the deadline", "a revoked key"],
)
def test_without_a_whole_recovery_nothing_is_violated(
    watched: Any, answer: Any, profile: Profile, ends_in_s: float | None
) -> None:
    """The caller is given up all the same, and soon."""
    started = time.monotonic()
    error, _, _ = watched(lambda arrived: answer(429), lambda flow: raised(flow, IDENTITY), profile, ends_in_s)
    assert error.limit.requirement == ""
    assert time.monotonic() - started < 8


def test_a_key_that_a_429_has_used_up(watched: Any, answer: Any) -> None:
    """Its caller is answered under other keys: that is IDEM-8, and other keys still go."""

    async def work(flow: Sender) -> tuple[LimitPersists, int | None]:
        await flow.send(CREATE.with_key("k0"))
        error = await raised(flow, CREATE)
        return error, (await flow.send(CREATE.with_key("k2"))).status

    def script(arrived: Any) -> bytes:
        return answer(429 if arrived.all("Idempotency-Key") == ["k1"] else 200)

    (error, other), _, flow = watched(script, work)
    assert (error.limit.requirement, error.limit.key_used_up, other) == ("IDEM-8", True, 200)
    assert flow.limit_watch.violation("createInstallationWebhook", "RATE-3") is None


def test_a_resource_that_is_locked_has_no_key_that_is_used_up(watched: Any, answer: Any) -> None:
    """A guard may lock one session with 429: its caller is answered on others, and no fresh key helps (IDEM-8)."""
    consume = OPERATIONS["consumeHostedCheckoutBrowserTicket"]
    sessions = {name: replace(CREATE, operation=consume, path={"sessionId": name}, key=f"k-{name}") for name in "ab"}

    async def work(flow: Sender) -> int | None:
        await flow.send(sessions["b"])
        return (await flow.send(sessions["a"])).status

    status, _, flow = watched(
        lambda a: answer(429 if "/a/" in a.target else 200), work, replace(PROFILE, limits=Limits(patience_s=4))
    )
    assert status == 429
    assert not any(flow.limit_watch.violation(consume.id, name) for name in ("RATE-3", "IDEM-8"))


SLOW = replace(
    PROFILE,
    credentials={name: Credential(name, SecretSource(env="X")) for name in ("full", "second")},
    rate_limit=RateLimit(recovery_s=1.5),
)
"""A silence would be noticed; and two keys of the same rights."""
SECOND = replace(CREATE, credential="second", authorization=("Bearer b",))


def used(arrived: Any) -> bool:
    """Whether a call has one of the idempotency keys that are used up."""
    return any(key.startswith("used") for key in arrived.all("Idempotency-Key"))


async def first_used_up(flow: Sender) -> None:
    """A violation of IDEM-8 is found, with the silence that takes."""
    await flow.send(CREATE.with_key("good"))
    assert (await raised(flow, CREATE.with_key("used-0"))).limit.requirement == "IDEM-8"


@pytest.mark.parametrize("request_", [CREATE, SECOND], ids=["the same caller", "one that was never answered"])
def test_once_a_429_uses_keys_up_the_next_such_key_needs_no_silence(watched: Any, answer: Any, request_: Any) -> None:
    """It is given up after a few answers; other keys of its caller still go, and nobody else is suspected."""

    async def work(flow: Sender) -> tuple[LimitPersists, float, int | None]:
        await first_used_up(flow)
        began = time.monotonic()
        error = await raised(flow, request_.with_key("used-1"))
        took = time.monotonic() - began
        return error, took, (await flow.send(request_.with_key("good"))).status

    (error, took, other), _, flow = watched(lambda a: answer(429 if used(a) else 200), work, SLOW)
    assert (error.limit.key_used_up, error.limit.waited_s, other) == (True, 0.0, 200)
    assert error.limit.count <= 4
    assert took < 1.5
    assert not flow.limit_watch.is_suspect("createInstallationWebhook", "RATE-3")
    assert flow.limit_watch.violation("createInstallationWebhook", "RATE-3") is None


def test_a_caller_that_is_limited_for_good_is_found_beside_keys_that_are_used_up(watched: Any, answer: Any) -> None:
    """It is not answered under another key either: its limit is looked at in silence, and violates RATE-3."""

    async def work(flow: Sender) -> LimitPersists:
        await first_used_up(flow)
        return await raised(flow, SECOND.with_key("k1"))

    def script(arrived: Any) -> bytes:
        return answer(429 if used(arrived) or arrived.all("Authorization") == ["Bearer b"] else 200)

    error, _, flow = watched(script, work, SLOW)
    assert (error.limit.requirement, error.limit.key_used_up) == ("RATE-3", False)
    assert flow.limit_watch.violation("createInstallationWebhook", "RATE-3") == error.limit


def test_a_key_that_is_limited_by_chance_is_not_given_up_at_once(watched: Any, answer: Any) -> None:
    """Before a 429 was found to use keys up, some 429s under one key are waited out, though its caller is answered."""
    left = iter([429] * 4)

    async def work(flow: Sender) -> tuple[int | None, int | None]:
        other = asyncio.create_task(flow.send(CREATE.with_key("limited")))
        known = [(await flow.send(CREATE.with_key(f"good-{number}"))).status for number in range(20)]
        return known[-1], (await other).status

    def script(arrived: Any) -> bytes:
        return answer(next(left, 200) if arrived.all("Idempotency-Key") == ["limited"] else 200)

    given, _, flow = watched(script, work, replace(SLOW, rate_limit=RateLimit(recovery_s=0.3)))
    assert given == (200, 200)
    assert flow.limit_watch.violation("createInstallationWebhook", "IDEM-8") is None


@pytest.mark.parametrize(("requirement", "suspect"), [("RATE-3", False), ("IDEM-8", True)])
def test_a_key_alone_is_no_suspicion_against_its_caller(
    watched: Any, answer: Any, requirement: str, suspect: bool
) -> None:
    """RATE-3 asks about callers; a key that was limited twice, while its caller was answered, is IDEM-8's."""

    async def work(flow: Sender) -> None:
        await flow.send(CREATE.with_key("good"))
        await flow.send(CREATE.with_key("used"), patience_s=0.2)
        await flow.send(CREATE.with_key("good"))

    _, _, flow = watched(lambda a: answer(429 if used(a) else 200), work)
    assert flow.limit_watch.is_suspect("createInstallationWebhook", requirement) is suspect


def test_without_a_profile_nothing_is_suspected(watched: Any, answer: Any) -> None:
    """A probe has its own patience."""

    async def work(flow: Sender) -> int | None:
        flow.limit_watch = LimitWatch(None)
        return (await flow.send(IDENTITY, patience_s=1.5)).status

    assert watched(lambda arrived: answer(429), work)[0] == 429
