"""Answers that never come: tied to the request they are a violation of STA-1, and otherwise nobody's fault."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.model import Limits
from conformance.profile.resources import Fixture
from tests.support.check_runs import CONTRACT, key_of

QUOTE = CONTRACT.operations["quotePublicCart"]
CARTS = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(60)))}}


async def _two_payloads(case: Case) -> None:
    first = await case.control(await case.arrange())
    await case.send(first.request.with_body({"reason": "another"}), "another payload")


async def _attack(case: Case) -> None:
    first = await case.control(await case.arrange())
    await case.send(first.request.with_body({"reason": "<script>"}), "another payload")


async def _without_key(case: Case) -> None:
    request = await case.arrange()
    await case.control(request)
    await case.send(request.with_key(None), "no key")


async def _with_header(case: Case) -> None:
    first = await case.control(await case.arrange())
    await case.send(first.request.with_header("Expect", "100-continue").with_body({"reason": "x"}), "an expectation")


@pytest.mark.parametrize(
    ("service", "law", "is_violated"),
    [
        ("drops conflicts", _two_payloads, True),
        ("hangs at conflicts", _two_payloads, True),
        ("drops some", _two_payloads, False),
        ("drops for a time", _two_payloads, False),
        ("is gone", _two_payloads, False),
        ("drops conflicts", _attack, False),
        ("drops conflicts", _with_header, False),
        ("drops conflicts", _without_key, False),
    ],
)
def test_a_call_that_is_never_answered_is_a_violation_while_its_control_is_answered(
    judged: Any, answer: Any, tmp_path: Path, service: str, law: Any, is_violated: bool
) -> None:
    """Not behind a gateway that loses some, nor on a target that is down; and a firewall may drop what it minds."""
    seen: dict[str, bytes] = {}
    numbers, losses = itertools.count(), itertools.count()

    async def script(arrived: Any) -> bytes | None:
        is_conflict = seen.setdefault(key_of(arrived), arrived.body) != arrived.body or not key_of(arrived)
        number = next(numbers)
        if service == "drops some" and number % 2:
            return None
        if is_conflict and service == "hangs at conflicts":
            await asyncio.Event().wait()
        if service == "is gone" and (is_conflict or "gone" in seen):
            seen["gone"] = b""
            return None
        if is_conflict and (service == "drops conflicts" or (service == "drops for a time" and next(losses) < 5)):
            return None
        return bytes(answer(409, {"error": "conflict"}) if is_conflict else answer(200, {"data": {}}))

    limits = Limits(timeout_s=0.2, patience_s=0.2, depth="deep")
    result, target = judged(script, law, QUOTE, fixtures=CARTS, limits=limits)
    is_answered = service == "drops some"
    assert result.outcome is (Outcome.PASSED if is_answered else Outcome.INCONCLUSIVE), result
    assert ('"no-answer"' in (tmp_path / "journal.ndjson").read_text()) is is_violated
    assert len(target.arrived) < 60
