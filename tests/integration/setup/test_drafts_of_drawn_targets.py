"""What a probe finds by itself, on targets that chose otherwise than the reference in everything that it looks for."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from conformance.core.outcomes import Verdict
from conformance.reference.random_targets.choices import target_from
from conformance.reference.random_targets.profile_writer import profile_of, schemas_of
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles
from tests.support.drafts import SCHEMAS, STATED, bad, probed, verdict, written

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=20)]

TARGETS: Mapping[str, dict[str, Any]] = {
    "query, accepted without": {
        "authorization": "ApiKey {key}",
        "carrier": "query",
        "key_name": "idem_token",
        "missing_key": "accepted",
        "key_format": "any",
        "page_base": 0,
        "page_size_max": 10,
        "error": "flat",
    },
    "body, letters and digits": {
        "authorization": "{key}",
        "carrier": "body",
        "key_pointer": "/idempotencyKey",
        "key_format": "[a-z0-9]{16,64}",
        "page_size_max": 200,
        "error": "problem",
        "replay": "latest",
    },
    "another header, names that say nothing": {
        "authorization": "Token token={key}",
        "key_name": "Repeatability-Request-ID",
        "vocabulary": "opaque",
        "missing_key": "accepted",
        "replay": "rewritten",
        "unseen": "foreign",
        "challenge": False,
    },
}
DOCUMENT = tomllib.loads((bundled_profiles() / "reference.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("choices", TARGETS.values(), ids=TARGETS)
def test_what_a_target_chose_is_found_and_its_draft_gives_a_conformant_run(
    choices: dict[str, Any], served: EmbeddedReference, tmp_path: Path
) -> None:
    """Without any schema: the format of keys, the carrier, replays, pages and scopes are seen in the answers."""
    target = target_from(choices)
    name = f"R{950 + list(TARGETS.values()).index(choices)}"
    httpx.put(f"{served.control_url}/targets/{name}", json=target.differences()).raise_for_status()
    patch = profile_of(target, DOCUMENT)
    draft = probed(served, tmp_path, name, written(tmp_path / f"{name}.fixtures.toml", DOCUMENT, patch))
    assert draft.proven_operations == draft.operations == 20
    facts = tomllib.loads(draft.text)
    assert facts["authorization"]["format"] == target.authorization
    found, truth = facts["idempotency"], patch["idempotency"]
    assert {k: found.get(k) for k in ("carrier", "name", "pointer", "missing_key")} == {
        k: truth[k] for k in ("carrier", "name", "pointer", "missing_key")
    }
    assert sorted(found.get("volatile", [])) == sorted(truth["volatile"])
    assert sorted(facts["errors"]["volatile"]) == sorted(patch["errors"]["volatile"])
    sizes = ("page_size_min", "page_size_max") if target.page_size_out == "refused" else ()
    drafted_facts = ("page_base", "item_id", "item_category", "item_merchant", *sizes)
    search = {name: patch["search"][name] for name in drafted_facts}
    assert {k: facts["search"].get(k) for k in search} == search
    scopes = {name: sorted(told["scopes"]) for name, told in facts["credentials"].items() if name != "revoked"}
    assert scopes == {name: sorted(DOCUMENT["credentials"][name]["scopes"]) for name in scopes}
    homes = {name: told.get("installation") for name, told in facts["credentials"].items() if name != "revoked"}
    assert [name for name, home in homes.items() if home != homes["full"]] == ["other-installation"]
    run = verdict(draft, tmp_path)
    assert run.verdict is Verdict.CONFORMANT, bad(run)


def test_keys_of_a_documented_pattern_are_sent(served: EmbeddedReference, tmp_path: Path) -> None:
    """A format that nobody guesses, in a member of the body: the schema of the member shows it."""
    choices = {"carrier": "body", "key_pointer": "/_key", "key_format": "[A-Z]{3}-[0-9]{12}", "key_in_schema": True}
    target = target_from(choices)
    httpx.put(f"{served.control_url}/targets/R949", json=target.differences()).raise_for_status()
    document = schemas_of(target, yaml.safe_load(SCHEMAS.read_text(encoding="utf-8")))
    for name, schema in document["components"]["schemas"].items():
        if name.endswith("Request"):
            schema["properties"]["_key"]["pattern"] = "^[A-Z]{3}-[0-9]{12}$"
    (tmp_path / "shown.json").write_text(json.dumps(document), encoding="utf-8")
    stated = written(tmp_path / "R949.fixtures.toml", DOCUMENT, profile_of(target, DOCUMENT))
    draft = probed(served, tmp_path, "R949", stated, openapi=str(tmp_path / "shown.json"))
    found = tomllib.loads(draft.text)["idempotency"]
    assert (found["carrier"], found["pointer"]) == ("body", "/_key")
    assert found["format"] == {"pattern": "[A-Z]{3}-[0-9]{12}"}
    assert draft.proven_operations == 20


def test_what_is_stated_leaves_the_probe_its_work() -> None:
    """The fragments of these tests hold nothing of what the probe is to find."""
    found = {"authorization", "credentials", "idempotency", "errors", "search", "schemas", "webhooks"}
    assert not found & set(STATED)
    assert "PublicErrorResponse" in yaml.safe_load(SCHEMAS.read_text(encoding="utf-8"))["components"]["schemas"]
