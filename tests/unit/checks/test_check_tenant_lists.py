"""Two lists of deliveries: what they have in common, and what is one endpoint of two installations."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance.checks.check_tenant_lists import (
    _expect_no_common_endpoint,
    deliveries_of_another_installation_are_not_listed,
)
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Webhooks
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

READ = CONTRACT.operations["getApiKeyIdentity"]
"""Of which list it is makes no difference here: this one needs no scope."""
OURS, THEIRS = "ep_5b1f9c02a77d4e01", "ep_0c77aa10be93f212"


@pytest.mark.parametrize(
    ("further", "outcome"),
    [({}, Outcome.PASSED), ({"endpointId": 7}, Outcome.PASSED), ({"endpointId": OURS}, Outcome.FAILED)],
    ids=["the signing key", "a number", "an endpoint"],
)
def test_an_endpoint_is_of_one_installation(
    judged: Any, answer: Any, further: dict[str, Any], outcome: Outcome
) -> None:
    """Lists may name a key of the service alike, and count their endpoints alike; they name no endpoint alike."""

    def script(arrived: Any) -> bytes:
        endpoint = THEIRS if arrived.target.endswith("theirs") else OURS
        listed = [{"endpointId": endpoint, "signedWith": "key_8d41c6f0a9e2b730"}, further]
        return bytes(answer(200, {"data": {"items": listed}}))

    async def law(case: Case) -> None:
        request = await case.arrange(prove_control=False)
        foreign, own = [await case.send(request.with_query(of=of), of) for of in ("theirs", "ours")]
        _expect_no_common_endpoint(case, [THEIRS], foreign, own)

    result, _ = judged(script, law, READ)
    assert result.outcome is outcome, (result.outcome, result.message)


LIST, CREATE = CONTRACT.operations["listInstallationWebhookDeliveries"], "createInstallationWebhook"
KEYS = {"full": "key-0123456789", "b": "key-of-b-0123456789"}
SCOPES = frozenset({"webhooks:read", "webhooks:write", "catalog:read"})


class _Hub:
    """A target whose endpoints and deliveries have numbers, and which lists the deliveries of one installation."""

    def __init__(self, answer: Any, first: int, *, leaks: bool, has_id: bool, first_delivery: int) -> None:
        self._answer, self._leaks, self._has_id = answer, leaks, has_id
        self._next = {"endpoint": first, "delivery": first_delivery}
        self._endpoints: dict[str, list[int]] = {"full": [1], "b": []}
        self._deliveries: dict[str, list[dict[str, Any]]] = {key: [] for key in KEYS}
        self.counts_alike = False
        """Whether each installation counts for itself, the same calls are made by both, and no delivery has an id."""
        self.own_endpoints = range(0)
        self.late_s, self.clock_s = 0.0, 0.0
        """For how long a delivery waits in a queue, and the seconds that checks have waited."""

    def _number(self, kind: str) -> int:
        self._next[kind] += 1
        return self._next[kind]

    def __call__(self, arrived: Any) -> bytes:
        key = "b" if KEYS["b"] in "".join(arrived.all("authorization")) else "full"
        path = arrived.target.partition("?")[0]
        if arrived.method == "PATCH":
            name = int(path.rsplit("/", 1)[1])
            status = 200 if name in self._endpoints[key] or name in self.own_endpoints else 404
            return bytes(self._answer(status, {"data": {}}))
        if path.endswith("/deliveries"):
            listed = self._deliveries["full"] + self._deliveries["b"] if self._leaks else self._deliveries[key]
            listed = [item for item in listed if self.clock_s >= item["at"] + self.late_s]
            if self.counts_alike:
                listed = [{"endpoint": item["endpoint"], "event": "quoted"} for item in self._deliveries["b"]]
            return bytes(self._answer(200, {"data": {"items": listed}}))
        if path.endswith("/endpoints"):
            self._endpoints[key].append(self._number("endpoint"))
            return bytes(self._answer(200, {"data": {"id": self._endpoints[key][-1]}}))
        for endpoint in self._endpoints[key] if self._has_id else ():
            item = {"id": self._number("delivery"), "endpoint": endpoint, "at": self.clock_s}
            self._deliveries[key].append(item)
        return bytes(self._answer(200, {"data": {}}))


def _judge(judged: Any, hub: _Hub, address: str, *states: str) -> Any:
    """The result for a hub whose endpoints have this address, with a cart in each of these states."""
    carts = {state: Fixture("cart", state, values=({"id": f"c-{state}"},), reusable=True) for state in states}
    result, _ = judged(
        hub,
        deliveries_of_another_installation_are_not_listed,
        LIST,
        keys=KEYS,
        credentials={name: Credential(name, SecretSource(env="X"), SCOPES, name.upper()) for name in KEYS},
        fixtures={
            "cart": carts,
            "webhook": {"active": Fixture("webhook", "active", values=({"id": "1"},), reusable=True)},
        },
        webhooks=Webhooks(id="/data/id"),
        operations={
            CREATE: OperationFacts(body={"url": f"https://hub.example/{address}"}),
            "updateInstallationWebhook": OperationFacts(path={"id": "{webhook.id}"}, body={"label": "x"}),
            "quotePublicCart": OperationFacts(path={"cartId": "{cart.id}"}, body={"reason": "{unique}"}),
        },
    )
    return result


@pytest.mark.parametrize(
    ("target", "outcome"),
    [
        ({"first": 7_301_554}, Outcome.PASSED),
        ({"first": 7_301_554, "leaks": True}, Outcome.FAILED),
        ({"first": 7_301_554, "first_delivery": 7_301_550}, Outcome.PASSED),
        ({"first": 7_301_554, "has_id": False}, Outcome.INCONCLUSIVE),
        ({"first": 17}, Outcome.INAPPLICABLE),
    ],
    ids=["long numbers", "a common list", "deliveries counted alike", "no deliveries", "short numbers"],
)
def test_an_endpoint_of_a_long_number_is_found(
    judged: Any, answer: Any, target: dict[str, Any], outcome: Outcome
) -> None:
    """A number counts in the place where its own installation's list shows it, and not as a delivery's."""
    hub = _Hub(answer, **{"leaks": False, "has_id": True, "first_delivery": 100, **target})
    result = _judge(judged, hub, "hook", "open", "foreign")
    assert result.outcome is outcome, (result.outcome, result.message)


@pytest.mark.parametrize(
    ("target", "outcome"),
    [
        ({}, Outcome.INCONCLUSIVE),
        ({"leaks": True}, Outcome.FAILED),
        ({"leaks": True, "own": 17}, Outcome.INCONCLUSIVE),
        ({"alike": True}, Outcome.INCONCLUSIVE),
    ],
    ids=["short numbers", "a common list", "an own endpoint of that number", "no member tells apart"],
)
def test_a_short_number_beside_a_unique_address_needs_more(
    judged: Any, answer: Any, target: dict[str, Any], outcome: Outcome
) -> None:
    """Where the address shows nowhere, the list may name the endpoint by an id that proves nothing alone.

    A delivery that is listed for both, with a number of its own, is one delivery.
    """
    hub = _Hub(answer, 17, leaks=target.get("leaks", False), has_id=True, first_delivery=100)
    hub.counts_alike = target.get("alike", False)
    hub.own_endpoints = range(100) if "own" in target else range(0)
    result = _judge(judged, hub, "{unique}", "foreign")
    assert result.outcome is outcome, (result.outcome, result.message)
    assert outcome is Outcome.FAILED or "own" in target or "the list may name it by its id, as '" in result.message


@pytest.mark.parametrize(
    ("late_s", "leaks", "outcome"),
    [
        (1.5, False, Outcome.PASSED),
        (1.5, True, Outcome.FAILED),
        (4.5, True, Outcome.FAILED),
        (1e9, True, Outcome.INCONCLUSIVE),
    ],
)
def test_a_queue_may_take_seconds_to_deliver(
    judged: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, late_s: float, outcome: Outcome, *, leaks: bool
) -> None:
    """The other installation's own list shows when its delivery is there to be looked for in this one's."""
    hub = _Hub(answer, first=7_301_554, leaks=leaks, has_id=True, first_delivery=100)
    hub.late_s, sleep = late_s, asyncio.sleep

    async def pass_time(seconds: float) -> None:
        hub.clock_s += seconds
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", pass_time)
    result = _judge(judged, hub, "hook", "open", "foreign")
    assert result.outcome is outcome, (result.outcome, result.message)
