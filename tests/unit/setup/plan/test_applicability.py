"""What a check asks a profile for: a fact that it does not state, by a key that it could state."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.support.registry import all_checks, instances
from conformance.contract import load_contract
from conformance.core.run_options import RunOptions
from conformance.profile.exclusions import exclusion_of
from conformance.profile.loader import profile_from_document
from conformance.profile.published_schema import published_schema
from conformance.runner.embedded_reference import bundled_profiles
from conformance.runner.random_target import reduce_facts
from conformance.setup.plan.applicability import group_by_applicability

REFERENCE = bundled_profiles() / "reference.toml"
VARIABLES = {"control": "http://127.0.0.1:1"}


def _stated(document: dict[str, Any], key: str) -> bool:
    found: Any = document
    for name in key.split("."):
        if isinstance(found, list):  # [[transitions]], by operation
            return any(isinstance(one, dict) and one.get("operation") == name for one in found)
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return True


@pytest.mark.parametrize("facts", [0, 3, 10, 25, 50, 75, 100, 130])
def test_no_check_asks_for_what_is_stated_or_excluded(facts: int) -> None:
    """Of a profile of any size; a qualifier in the key says what a stated fact would have to be."""
    document = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))
    options = RunOptions(profile=REFERENCE, base_url="http://127.0.0.1:1", variables=VARIABLES)
    small = reduce_facts(document, facts, options)
    profile = profile_from_document(small, directory=REFERENCE.parent, path=REFERENCE, variables=VARIABLES)
    contract = load_contract()
    asked = group_by_applicability(profile, contract, instances(all_checks(), profile, contract)).unstated
    assert asked or facts > 120
    for key in asked:
        assert exclusion_of(profile, key) is None, key
        if " " not in key and key != "credentials":
            assert not _stated(small, key), key


def test_every_key_that_is_asked_for_could_be_excluded() -> None:
    """An owner who has no such thing can say so, by the key that the message names."""
    document = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))
    base = {name: document[name] for name in ("name", "base_url", "authorization")}
    profile = profile_from_document(base, directory=Path(), base_url="http://127.0.0.1:1")
    contract = load_contract()
    asked = group_by_applicability(profile, contract, instances(all_checks(), profile, contract)).unstated
    tables = published_schema()["properties"]
    assert {key.split(".")[0].split(" ")[0] for key in asked} <= set(tables)
    for key in asked:
        table, _, fact = key.split(" ")[0].partition(".")
        if table in ("credentials", "operations"):  # by the sort of credential; an operation needs a body and a path
            continue
        excluded: dict[str, Any] = {table: {"none": "why"}}
        if table == "fixtures":
            kind, _, state = fact.partition(".")
            excluded = {table: {kind: {state or "open": {"none": "why"}}}}
        other = profile_from_document({**base, **excluded}, directory=Path(), base_url="http://127.0.0.1:1")
        assert exclusion_of(other, key) is not None, key


def test_a_plan_does_not_wait_for_the_rate() -> None:
    """Nothing is sent: at one request a second the calls that go out together would wait for 40 s."""
    document = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))
    document["limits"] = {**document.get("limits", {}), "rate": 1}
    profile = profile_from_document(document, directory=REFERENCE.parent, path=REFERENCE, variables=VARIABLES)
    contract = load_contract()
    started = time.monotonic()
    assert group_by_applicability(profile, contract, instances(all_checks(), profile, contract)).applicable
    assert time.monotonic() - started < 20
