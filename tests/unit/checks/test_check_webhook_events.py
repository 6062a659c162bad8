"""Replays of a call whose event is delivered: further events, the same one again, and lists that grow by themselves."""

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


class _Hub:
    """A target that delivers the event of a call to all endpoints of its installation, and more as `replays` says.

    A new endpoint gets an event of its own.
    """

    def __init__(self, answer: Any, replays: str, *, has_event_ids: bool, grows_s: float) -> None:
        self._answer, self._replays, self._has_event_ids = answer, replays, has_event_ids
        self._grows_s, self._count, self.clock_s = grows_s, 0, 0.0
        self._endpoints: dict[str, list[str]] = {key: [] for key in KEYS}
        self._deliveries: dict[str, list[dict[str, Any]]] = {key: [] for key in KEYS}
        self._events: dict[str, str] = {}

    def _new(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count:04d}c0ffee{self._count:04d}"

    def _deliver(self, key: str, event: str, *endpoints: str) -> None:
        for endpoint in endpoints or self._endpoints[key]:
            item = {"id": self._new("del"), "endpointId": endpoint, "type": "cart.revoked", "at": self.clock_s}
            self._deliveries[key].append({**item, **({"eventId": event} if self._has_event_ids else {})})

    def __call__(self, arrived: Any) -> bytes:
        key = "b" if KEYS["b"] in "".join(arrived.all("authorization")) else "full"
        path = arrived.target.partition("?")[0]
        if path.endswith("/deliveries"):
            if self._grows_s and self._endpoints[key]:
                self._deliver(key, self._new("evt"))
            return bytes(self._answer(200, {"data": {"items": self._deliveries[key][:200]}}))
        if path.endswith("/endpoints"):
            self._endpoints[key].append(self._new("ep"))
            self._deliver(key, self._new("evt"), self._endpoints[key][-1])
            return bytes(self._answer(200, {"data": {"id": self._endpoints[key][-1]}}))
        name = "".join(arrived.all("idempotency-key"))
        if name not in self._events:
            self._events[name] = self._new("evt")
            self._deliver(key, self._events[name])
        elif self._replays != "nothing":
            self._deliver(key, self._events[name] if self._replays == "the same event" else self._new("evt"))
        return bytes(self._answer(200, {"data": {}}))


@pytest.mark.parametrize(
    ("replays", "has_event_ids", "grows_s", "outcome"),
    [
        ("nothing", True, 0.0, Outcome.PASSED),
        ("another event", True, 0.0, Outcome.FAILED),
        ("the same event", True, 0.0, Outcome.PASSED),
        ("another event", False, 0.0, Outcome.WARNED),
        ("nothing", True, 1.0, Outcome.PASSED),
        ("another event", True, 1.0, Outcome.INCONCLUSIVE),
    ],
)
def test_a_replay_causes_no_event(
    judged: Any,
    answer: Any,
    monkeypatch: pytest.MonkeyPatch,
    replays: str,
    grows_s: float,
    outcome: Outcome,
    *,
    has_event_ids: bool,
) -> None:
    """An event that is sent again under its id is no second one; where no id shows, it may be so."""
    hub = _Hub(answer, replays, has_event_ids=has_event_ids, grows_s=grows_s)
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
