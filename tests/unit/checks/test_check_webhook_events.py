"""Replays of a call whose event is delivered: further events, the same one again, and what else makes a list grow."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance.checks.check_webhook_events import a_replay_delivers_no_event_again
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Idempotency, Webhooks
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

REVOKE, CREATE = CONTRACT.operations["revokePublicCart"], "createInstallationWebhook"
KEYS = {"full": "key-0123456789", "b": "key-of-b-0123456789"}
SCOPES = frozenset({"webhooks:read", "webhooks:write", "catalog:read"})
_BURST = 4
"""The replay that shows whether the list grows, and those of the first round."""


class _Hub:
    """A target that delivers the event of a call to all endpoints of its installation, and more as `replays` says.

    A new endpoint gets an event of its own. A delivery names its event in the member `shown_as`.
    """

    def __init__(self, answer: Any, replays: str, *, shown_as: str, grows_s: float) -> None:
        self._answer, self._replays, self._shown_as = answer, replays, shown_as
        self._calls = 0
        self._grows_s, self._count, self.clock_s = grows_s, 0, 0.0
        self._endpoints: dict[str, list[str]] = {key: [] for key in KEYS}
        self._deliveries: dict[str, list[dict[str, Any]]] = {key: [] for key in KEYS}
        self._events: dict[str, str] = {}
        self._created: dict[str, str] = {}

    def _new(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count:04d}c0ffee{self._count:04d}"

    def _deliver(self, key: str, event: str, *endpoints: str) -> None:
        for endpoint in endpoints or self._endpoints[key]:
            item = {"id": self._new("del"), "endpointId": endpoint, "type": "cart.revoked", "at": self.clock_s}
            self._deliveries[key].append({**item, **({self._shown_as: event} if self._shown_as else {})})

    def __call__(self, arrived: Any) -> bytes:
        key = "b" if KEYS["b"] in "".join(arrived.all("authorization")) else "full"
        path = arrived.target.partition("?")[0]
        if path.endswith("/deliveries"):
            if self._grows_s and self._endpoints[key]:
                self._deliver(key, self._new("evt"))
            return bytes(self._answer(200, {"data": {"items": self._deliveries[key][:200]}}))
        name = "".join(arrived.all("idempotency-key"))
        if path.endswith("/endpoints"):
            if name not in self._created:
                self._created[name] = self._new("ep")
                self._endpoints[key].append(self._created[name])
                self._deliver(key, self._new("evt"), self._created[name])
            elif self._replays == "each call":
                self._deliver(key, self._new("evt"))
            return bytes(self._answer(200, {"data": {"id": self._created[name]}}))
        if name not in self._events:
            self._events[name] = self._new("evt")
            self._deliver(key, self._events[name])
        else:
            self._repeat(key, self._events[name])
        return bytes(self._answer(200, {"data": {}}))

    def _repeat(self, key: str, event: str) -> None:
        self._calls += 1
        is_over = self._replays == "a burst" and self._calls > _BURST
        if self._replays != "nothing" and not is_over:
            self._deliver(key, event if self._replays == "the same event" else self._new("evt"))


@pytest.mark.parametrize(
    ("replays", "shown_as", "grows_s", "outcome"),
    [
        ("nothing", "eventId", 0.0, Outcome.PASSED),
        ("another event", "eventId", 0.0, Outcome.FAILED),
        ("another event", "event_id", 0.0, Outcome.FAILED),
        ("the same event", "eventId", 0.0, Outcome.PASSED),
        ("another event", "", 0.0, Outcome.WARNED),
        ("another event", "requestId", 0.0, Outcome.WARNED),
        ("each call", "eventId", 0.0, Outcome.INAPPLICABLE),
        ("a burst", "eventId", 0.0, Outcome.PASSED),
        ("nothing", "eventId", 1.0, Outcome.PASSED),
        ("another event", "eventId", 1.0, Outcome.INCONCLUSIVE),
    ],
)
def test_a_replay_causes_no_event(
    judged: Any,
    answer: Any,
    monkeypatch: pytest.MonkeyPatch,
    replays: str,
    shown_as: str,
    grows_s: float,
    outcome: Outcome,
) -> None:
    """An event that is sent again under its id is no second one; where no id of an event shows, it may be so."""
    hub = _Hub(answer, replays, shown_as=shown_as, grows_s=grows_s)
    sleep = asyncio.sleep

    async def pass_time(seconds: float) -> None:
        hub.clock_s += seconds
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", pass_time)
    states = {
        state: Fixture("cart", state, values=({"id": f"c-{state}"},), reusable=True) for state in ("open", "foreign")
    }
    result, _ = judged(
        hub,
        a_replay_delivers_no_event_again,
        REVOKE,
        keys=KEYS,
        credentials={name: Credential(name, SecretSource(env="X"), SCOPES, name.upper()) for name in KEYS},
        fixtures={"cart": states},
        webhooks=Webhooks(id="/data/id"),
        idempotency=Idempotency(carrier="header", name="Idempotency-Key", format="uuid"),
        operations={
            CREATE: OperationFacts(
                body={"url": "https://hub.example/hook"}, bodies=({"url": "https://hub.example/other"},)
            ),
            REVOKE.id: OperationFacts(path={"cartId": "{cart.id}"}, body={"reason": "{unique}"}),
        },
    )
    assert result.outcome is outcome, (result.outcome, result.message)
