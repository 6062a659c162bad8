"""What doctor says about the scopes of a key, as identity shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.profile.behavior import Identity
from conformance.profile.model import Credential, KeyringEntry, SecretSource
from conformance.setup.doctor.credentials import credential_facts
from conformance.setup.doctor.facts import Fact
from tests.support.check_runs import KEY

KEYS = {"full": KEY, "narrow": "key-of-narrow"}
SCOPES = {"full": ("webhooks:read", "catalog:read"), "narrow": ("catalog:read",)}
ALL = ["webhooks:write", "webhooks:read", "catalog:read", "checkout:quote"]
BOTH = Identity(scopes="/data/granted")


def _granted(scopes: tuple[str, ...]) -> Any:
    return {"granted": list(scopes), "available": ALL}


def _flags(scopes: tuple[str, ...]) -> Any:
    return {"granted": {scope: scope in scopes for scope in ALL}}


def _nothing(_scopes: tuple[str, ...]) -> Any:
    return {"id": "k1"}


def _facts(judged: Any, answer: Any, data: Any, stated: Mapping[str, tuple[str, ...]], **facts: Any) -> list[Fact]:
    """What is said of credentials; `data` builds identity's data from the scopes that a key has."""
    found: list[Fact] = []
    names = {key: name for name, key in KEYS.items()}

    def script(arrived: Any) -> bytes:
        name = names["".join(arrived.all("authorization")).removeprefix("Bearer ")]
        return bytes(answer(200, {"data": data(SCOPES[name])}))

    async def law(case: Case) -> None:
        found.extend(await credential_facts(case.runtime))

    source = SecretSource(keyring=KeyringEntry("shop", "full"))
    credentials = {name: Credential(name, source, frozenset(scopes)) for name, scopes in stated.items()}
    judged(script, law, keys=KEYS, credentials=credentials, **facts)
    return found


@pytest.mark.parametrize(
    ("data", "narrow", "facts", "states"),
    [
        (_granted, ("catalog:read",), {}, ["proven", "proven"]),
        (_granted, ("checkout:quote",), {}, ["proven", "unsure"]),
        (_granted, ("checkout:quote",), {"identity": BOTH}, ["proven", "wrong"]),
        (_flags, ("catalog:read",), {}, ["proven", "proven"]),
        (_flags, ("checkout:quote",), {}, ["proven", "wrong"]),
        (_nothing, ("catalog:read",), {}, ["unsure", "unsure"]),
        (_nothing, ("catalog:read",), {"exclusions": {"identity.scopes": "not shown"}}, ["note", "note"]),
    ],
)
def test_scopes_are_found_as_a_run_finds_them(
    judged: Any, answer: Any, data: Any, narrow: tuple[str, ...], facts: Any, states: list[str]
) -> None:
    """A list of what all keys may have stands beside the key's own: which one is wrong is not known."""
    found = _facts(judged, answer, data, {**SCOPES, "narrow": narrow}, **facts)
    assert [fact.state for fact in found if fact.name.endswith(".scopes")] == states, found


def test_a_key_of_a_keyring_is_of_no_command(judged: Any, answer: Any) -> None:
    found = _facts(judged, lambda _status, _value: answer(500, {}), _nothing, SCOPES)
    advice = {fact.advice for fact in found if fact.name == "credentials.full"}
    assert advice == {"check the entry of the keyring"}, found
