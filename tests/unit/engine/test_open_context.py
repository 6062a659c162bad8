"""What the composition root opens, and how its loop treats exceptions that nobody awaits."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from conformance.checks.support.signals import Inconclusive, Violation
from conformance.client.request_builder import MissingFact
from conformance.client.send_errors import BudgetExhausted, TargetSilent
from conformance.core.errors import ConformanceError
from conformance.engine.open_context import bounds_of_pace, ignore_endings
from conformance.profile.behavior import HttpCall, RateLimit


def logged(error: Exception, caplog: pytest.LogCaptureFixture) -> list[str]:
    """First lines of what asyncio logs of a task that raised `error` and that nobody awaited."""

    async def fail() -> None:
        raise error

    async def abandon() -> None:
        asyncio.get_running_loop().set_exception_handler(ignore_endings)
        task = asyncio.ensure_future(fail())
        await asyncio.sleep(0)
        del task
        gc.collect()

    with caplog.at_level(logging.ERROR, logger="asyncio"):
        asyncio.run(abandon())
    return [message.splitlines()[0] for message in caplog.messages]


@pytest.mark.parametrize(
    "error",
    [
        BudgetExhausted("max_requests = 400"),
        TargetSilent("60 requests without an answer"),
        Inconclusive("no control"),
        Violation("answered 500"),
        MissingFact("idempotency", "no carrier"),
        ConformanceError("no journal"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_ends_a_check_is_not_printed_by_asyncio(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """A task that checks share may end when all of them were cancelled; the run reports why it ended."""
    assert logged(error, caplog) == []


def test_an_error_of_the_suite_is_printed(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(ZeroDivisionError("a defect"), caplog) == ["Task exception was never retrieved"]


@pytest.mark.parametrize(
    ("facts", "bounds"),
    [
        (RateLimit(), (0, None)),
        (RateLimit(limit=100), (0, None)),
        (RateLimit(limit=100, window_s=2, per="key"), (25, 47.5)),
        (RateLimit(limit=100, window_s=2, per="address"), (25, 47.5)),
        (RateLimit(limit=100, window_s=2, per="operation"), (25, None)),
        (RateLimit(limit=100, window_s=2), (25, None)),
        (RateLimit(limit=5, window_s=1, per="key", prepare=HttpCall(url="http://127.0.0.1/")), (0, None)),
        (
            RateLimit(limit=5, window_s=1, per="key", prepare=HttpCall("/"), run_limit=600, run_window_s=60),
            (5, 9.5),
        ),
    ],
)
def test_a_stated_limit_bounds_the_pace(facts: RateLimit, bounds: tuple[float, float | None]) -> None:
    """Only the limit that is in force during a run; and no upper bound for what is counted for each operation."""
    assert bounds_of_pace(facts) == bounds
