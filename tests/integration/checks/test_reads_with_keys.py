"""Reads with an idempotency key, which needs none: what they are answered is the state of that moment."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_idempotency_isolation import a_key_on_a_read_changes_nothing
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Effect
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT, key_of

OPERATIONS = CONTRACT.operations
_KEYED_READS = {
    "answers": Outcome.PASSED,
    "has an older copy": Outcome.PASSED,
    "refuses keys": Outcome.INCONCLUSIVE,
    "replays": Outcome.FAILED,
    "replays, and names the time": Outcome.FAILED,
    "is late, and names the time": Outcome.PASSED,
    "names nothing but the time": Outcome.INCONCLUSIVE,
}


@pytest.mark.parametrize("first_status", [200, 409])
@pytest.mark.parametrize("service", _KEYED_READS)
def test_a_key_keeps_no_read_from_what_has_changed(judged: Any, answer: Any, service: str, first_status: int) -> None:
    """Nor from what is there only since then: a cart without a quote may be answered 409.

    A read that shows no change proves nothing; what changes with each answer is none.
    """
    versions: dict[str, int] = {}
    stored: dict[str, int] = {}
    old_reads, reads = 0, 0

    def script(arrived: Any) -> bytes:
        nonlocal old_reads, reads
        cart = arrived.target.split("/carts/")[1].partition("/")[0]
        if arrived.method == "POST":
            versions[cart] = versions.get(cart, 0) + 1
            return bytes(answer(200, {"data": {}}))
        key, version = key_of(arrived), versions.get(cart, 0)
        if key and service == "refuses keys":
            return bytes(answer(400, {"error": "no key"}))
        if key and version and service == "has an older copy":
            old_reads += 1
            version -= old_reads == 1
        reads += 1
        if not key and version and service.startswith("is late"):
            old_reads += 1
            version -= old_reads <= 2
        if service.startswith("names nothing"):
            version = 1
        if key and service.startswith("replays"):
            version = stored.setdefault(key, version)
        data = {"version": version} | ({"time": reads} if "time" in service else {})
        status = 200 if version or first_status == 200 else first_status
        return bytes(answer(status, {"data": data} if status == 200 else {"error": "no quote"}))

    read, write = OPERATIONS["quotePublicCartCheckout"], OPERATIONS["quotePublicCart"]
    facts: dict[str, Any] = {
        "operations": {
            write.id: OperationFacts(body={"reason": "a"}, path={"cartId": "{cart.id}"}),
            read.id: OperationFacts(path={"cartId": "{cart.id}"}),
        },
        "fixtures": {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(9)))}},
        "effects": {write.id: (Effect("/data/version", operation=read.id, absent=0, within_s=2.0),)},
        "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({read.scope, write.scope}))},
    }
    result, _ = judged(script, a_key_on_a_read_changes_nothing, read, **facts)
    assert result.outcome is _KEYED_READS[service], result
