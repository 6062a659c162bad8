"""Fixtures of a batch are used while they live."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from conformance.client.fixtures import Fixtures
from conformance.profile.behavior import Authorization, Hosted
from conformance.profile.model import Profile
from conformance.profile.resources import Fixture, OperationFacts


@pytest.mark.parametrize(("lifetime_s", "expected"), [(60.0, [1, 2, 3]), (1e-9, [1, 3, 5])], ids=["long", "short"])
def test_a_batch_is_used_while_its_tickets_live(
    lifetime_s: float, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of it is removed after half of their lifetime; a new one is used, however slow its provider is."""
    fixture = Fixture("session", "open", command=("unused",), items="")
    path = {"sessionId": "{session.id}"}
    hosted = {"consumeHostedCheckoutBrowserTicket": OperationFacts(path=path)}
    profile = replace(
        Profile("p", "http://127.0.0.1:1", Authorization("Bearer {key}"), fixtures={"session": {"open": fixture}}),
        operations=hosted,
        hosted=Hosted(ticket_lifetime_s=lifetime_s),
    )
    numbers = itertools.count(1)

    async def command(_self: Fixtures, _fixture: Fixture, _scope: Mapping[str, Any]) -> Any:
        await asyncio.sleep(0.001)
        return [{"id": next(numbers)}, {"id": next(numbers)}]

    monkeypatch.setattr(Fixtures, "_command", command)

    async def main() -> list[int]:
        provider = Fixtures(profile)
        return [(await provider.get_fresh(fixture, {}))["id"] for _ in range(3)]

    assert asyncio.run(asyncio.wait_for(main(), 5)) == expected
