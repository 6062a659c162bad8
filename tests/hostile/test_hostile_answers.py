"""The places where a hostile answer enters: each is bounded in time and memory by itself, whatever the rest does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from conformance.client import memory_budget as room
from conformance.client.memory_budget import MemoryBudget
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.core import strict_json as strictjson
from conformance.core.model import Finding
from conformance.engine.scheduler import Engine, EngineShutdown, Job
from conformance.judge.invariants import Invariants
from conformance.judge.leaks import find_leaks
from conformance.judge.validators import Validators
from conformance.profile.loader import load_profile
from conformance.profile.model import Schemas
from tests.support.commands import REFERENCE, shared_reference

MB4 = 4_000_000
SOON_S = 3.0
"""What these take is under half a second; what they took without a bound, minutes."""


def took(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


@pytest.mark.parametrize(
    "piece",
    ["\n", " ", "\t", "SELECT ", "SELECT" + " " * 50, "UPDATE\t", 'File "', " /usr/a", "at a.a(", "at ", "goroutine 1"],
)
def test_looking_for_leaks_costs_no_square(piece: str) -> None:
    """4 MB of what begins like a leak are looked at as fast as anything else."""
    assert took(lambda: find_leaks(piece * (MB4 // len(piece)))) < SOON_S


@pytest.mark.parametrize("reader", [strictjson.parse, strictjson.parse_leniently])
@pytest.mark.parametrize("piece", [b"[],", b"1,", b'{"a":1},', b'["",', b"[", b'"a",'])
def test_more_values_than_a_reader_takes_are_not_read(reader: Callable[[bytes], Any], piece: bytes) -> None:
    """Nothing is known of such a text (RFC 8259 section 9), and that is known at once."""

    def refused() -> None:
        with pytest.raises(strictjson.JsonLimitError):
            reader(b"[" + piece * (MB4 // len(piece)) + b"1]")

    assert took(refused) < SOON_S


def test_commas_in_strings_are_no_values() -> None:
    """A long text is read, whatever it consists of."""
    assert strictjson.parse(b'["' + b",[{" * 1_000_000 + b'"]') == [",[{" * 1_000_000]


@pytest.mark.parametrize("item", [[], {"id": 1}, "x"])
def test_the_first_problem_of_many_is_found_at_once(item: Any) -> None:
    """A validator that looked for all 300,000 of them would take 10 s and 1 GB."""
    schema = {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "null"}}}}
    validators = Validators(Schemas(by_name={"S": schema}))
    assert took(lambda: validators.problem("S", [item] * 300_000)) < SOON_S
    assert validators.problem("S", [item]).startswith("/0")


def test_a_surrogate_by_itself_is_a_character_to_a_schema() -> None:
    """JSON allows it (RFC 8259 section 8.2): it breaks no schema but one that its character breaks."""
    validators = Validators(Schemas(by_name={"S": {"items": {"type": "string", "maxLength": 3}}}))
    assert validators.problem("S", ["\ud800ab"]) == ""
    assert validators.problem("S", ["\ud800abc"]) != ""


def answer(body: bytes, status: int = 200, operation: str = "getPublicRuntimeConfig", **more: Any) -> Answer:
    request = Request(load_contract().operations[operation])
    headers = (("Content-Type", "application/json"),)
    return Answer("x1", request, "http://t/", (), b"", status, headers, body, **more)


@pytest.fixture
def invariants(monkeypatch: pytest.MonkeyPatch) -> Invariants:
    for name, key in shared_reference().environment.items():
        monkeypatch.setenv(name, key)
    profile = load_profile(REFERENCE)
    return Invariants(profile, Validators(profile.schemas))


DEEP = b"[" * 2_000_000
WIDE = b"[" + b"[]," * 1_000_000 + b"[]]"


def _of_bodies(findings: Sequence[Finding]) -> list[str]:
    """The requirements of findings about bodies: none of these answers has the header that the profile states."""
    return [finding.requirement for finding in findings if finding.requirement != "ANS-1"]


@pytest.mark.parametrize("inside", [DEEP, WIDE], ids=["deep", "wide"])
@pytest.mark.parametrize("status", [200, 404])
def test_a_body_that_was_not_read_is_judged_by_nothing_but_its_beginning(
    invariants: Invariants, inside: bytes, status: int
) -> None:
    """Neither passed nor failed, where it may be right; violated, where it begins as no object."""
    judged, findings = invariants.judge(answer(b'{"data":{"a":' + inside + b"}}", status))
    assert not _of_bodies(findings)
    assert not {"ENV-1", "ENV-2", "ENV-4", "ERR-1"} & set(judged)
    _, findings = invariants.judge(answer(b" " + inside, status))
    assert _of_bodies(findings) == ["ENV-2" if status == 200 else "ERR-1"]


def test_large_answers_wait_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is let in when another is dropped; what finds no room in time is told so; a small one never waits."""
    monkeypatch.setattr(room, "PATIENCE_S", 0.2)
    large = b'"' + b"x" * 1_000_000 + b'"'

    async def main() -> None:
        full = MemoryBudget(3_000_000)
        held = [answer(large)]
        assert await full.admit(held[0])
        assert not await full.admit(answer(large))
        assert await full.admit(answer(b"{}"))
        asyncio.get_running_loop().call_later(0.05, held.clear)
        assert await full.admit(answer(large))
        assert await MemoryBudget(10).admit(answer(large)), "an answer by itself is always taken"

    asyncio.run(main())


def test_a_loop_that_is_busy_does_not_keep_a_run_beyond_its_deadline() -> None:
    """Whoever waits is told at the deadline, though the lane that is busy never looks at the clock."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[None]:
        yield None

    async def stuck(_: None) -> None:
        time.sleep(2.5)

    engine: Engine[None, None] = Engine(opened, workers=1, deadline_s=0.2)
    engine.start()
    engine.submit([Job("stuck", stuck), Job("next", stuck)])
    started = time.monotonic()
    for key in ("stuck", "next"):
        with pytest.raises(EngineShutdown, match=r"deadline of 0.2 s"):
            engine.result(key)
    engine.stop()
    assert time.monotonic() - started < 2
    assert engine.stop_reason == "the deadline of 0.2 s"
    busy = [thread for thread in threading.enumerate() if thread.name == "engine"]
    for thread in busy:
        thread.join(10)
    assert engine.failure is None
