"""Endpoints that one key of an installation has created and another one updates (SCO-2)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_scopes import the_named_scope_suffices_for_what_another_key_created
from conformance.core.outcomes import Outcome
from conformance.profile.model import Credential, SecretSource
from tests.support.check_runs import KEY
from tests.support.webhook_endpoints import CREATE, UPDATE, endpoint_facts


@pytest.mark.parametrize(
    ("finds", "outcome"),
    [
        (lambda own, looks: True, Outcome.PASSED),
        (lambda own, looks: own, Outcome.WARNED),
        (lambda own, looks: looks == 1, Outcome.INCONCLUSIVE),
    ],
    ids=["all keys find it", "its own key finds it", "it ends by itself"],
)
def test_an_endpoint_that_no_key_finds_any_more_says_nothing_of_another_key(
    judged: Any, answer: Any, finds: Any, outcome: Outcome
) -> None:
    """That it has ended is the question of WH-1."""
    looks = 0

    def script(arrived: Any) -> bytes:
        nonlocal looks
        if arrived.method == "POST":
            return bytes(answer(200, {"data": {"id": "wh-new"}}))
        looks += arrived.target.endswith("wh-new")
        good = not arrived.target.endswith("wh-new") or finds(KEY in "".join(arrived.all("authorization")), looks)
        return bytes(answer(200 if good else 404, {"data": {}} if good else {"error": "no"}))

    keys = {name: Credential(name, SecretSource(env="X"), frozenset({CREATE.scope})) for name in ("full", "narrow")}
    check = the_named_scope_suffices_for_what_another_key_created
    result, _ = judged(script, check, UPDATE, keys={"narrow": "another-key-0123"}, **endpoint_facts(credentials=keys))
    assert result.outcome is outcome, result
