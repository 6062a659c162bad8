"""How long a new endpoint may be unknown to updates."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks.support import new_endpoints
from conformance.checks.support.new_endpoints import expect_no_lag
from conformance.checks.support.signals import Inconclusive


@pytest.mark.parametrize(("lag_s", "stated_s", "is_late"), [(8.0, 0.0, True), (60.0, 0.0, False), (8.0, 1.0, False)])
def test_an_endpoint_that_shows_late_decides_nothing_where_no_time_is_stated(
    monkeypatch: pytest.MonkeyPatch, lag_s: float, stated_s: float, is_late: bool
) -> None:
    now = [3.0]

    async def pause(seconds: float) -> None:
        now[0] += seconds

    async def send(_request: Any, _purpose: str) -> Any:
        return SimpleNamespace(status=404 if now[0] < lag_s else 200, at=now[0], ref=None)

    monkeypatch.setattr(new_endpoints, "asyncio", SimpleNamespace(sleep=pause))
    case: Any = SimpleNamespace(profile=SimpleNamespace(visible_after_s=lambda _name: stated_s), send=send)
    first: Any = SimpleNamespace(request=SimpleNamespace(with_fresh_key=lambda: None))
    created: Any = SimpleNamespace(at=0.0, ref=None)
    try:
        asyncio.run(expect_no_lag(case, created, first))
    except Inconclusive:
        assert is_late
    else:
        assert not is_late
