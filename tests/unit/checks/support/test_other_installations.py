"""Another installation's key and objects, as the profile states them."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.other_installations import events_of, foreign_of, other_key
from conformance.core.outcomes import Outcome
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture
from tests.support.check_runs import CONTRACT

QUOTE = CONTRACT.operations["quotePublicCart"]


def credential(name: str, installation: str, *scopes: str) -> Credential:
    return Credential(name, SecretSource(env="X"), frozenset(scopes), installation)


@pytest.mark.parametrize("scopes", [("catalog:read",), ("webhooks:read",)], ids=["with the scope", "without it"])
def test_the_key_of_another_installation_has_the_scopes(judged: Any, answer: Any, scopes: tuple[str, ...]) -> None:
    """A key without the scope would only be refused; without any, the fact is missing."""
    carts = {state: Fixture("cart", state, values=({"id": f"{state}1"},) * 3) for state in ("open", "foreign")}

    async def law(case: Case) -> None:
        assert other_key(case, QUOTE.id) == "b"
        assert foreign_of(case, QUOTE) == {"cart": "foreign"}
        events = await events_of(case, "b")
        assert [(event.operation.id, event.credential) for event in events] == [(QUOTE.id, "b")]
        assert events[0].path == {"cartId": "foreign1"}

    credentials = {"full": credential("full", "A", "catalog:read"), "b": credential("b", "B", *scopes)}
    result, _ = judged(
        lambda _arrived: answer(200, {"data": {}}),
        law,
        QUOTE,
        keys={"b": "key-b-0123456789"},
        credentials=credentials,
        fixtures={"cart": carts},
    )
    assert result.outcome is (Outcome.UNSTATED if scopes == ("webhooks:read",) else Outcome.UNTESTED), result


def test_a_second_installation_that_is_excluded_needs_no_scopes(judged: Any, answer: Any) -> None:
    """`[credentials.other] installation = "B", none = ...` names no scopes: there is no key at all."""

    async def law(case: Case) -> None:
        other_key(case, QUOTE.id)

    result, target = judged(
        lambda _arrived: answer(200, {"data": {}}),
        law,
        QUOTE,
        credentials={"full": credential("full", "A", "catalog:read")},
        absent_credentials={"other": credential("other", "B")},
        exclusions={"credentials.other": "there is one installation only"},
    )
    assert result.outcome is Outcome.INAPPLICABLE, result
    assert "one installation only" in result.message
    assert not target.arrived
