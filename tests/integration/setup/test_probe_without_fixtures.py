"""A probe that is given no fixtures writes a draft that loads, whatever document it is given."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from conformance.profile.loader import load_profile
from conformance.runner.embedded_reference import EmbeddedReference
from conformance.setup.probe.draft import format_value
from conformance.setup.probe.options import ProbeOptions, key_source
from conformance.setup.probe.probe import draft_profile
from tests.support.drafts import SCHEMAS, fragment, probed

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("document", ["", str(SCHEMAS)], ids=["no document", "its schemas"])
@pytest.mark.parametrize("keys", [("env:CONFORMANCE_REFERENCE_FULL",), ()], ids=["a key", "no key"])
def test_a_draft_without_fixtures_loads(
    document: str, keys: tuple[str, ...], served: EmbeddedReference, tmp_path: Path
) -> None:
    """With the schemas webhook endpoints can be made, and updated: then the draft says where they come from."""
    asked = ProbeOptions(served.base_url, tmp_path / "mine.toml", keys=tuple(map(key_source, keys)), openapi=document)
    drafted = draft_profile(asked, lambda _: None)
    profile = load_profile(drafted.profile)
    assert bool(profile.fixtures) == bool(document and keys)
    if profile.fixtures:
        assert profile.fixtures["webhook"]["active"].call == "createInstallationWebhook"
        assert profile.webhooks.id == "/data/id"
        assert drafted.proven_operations == 7


def test_bodies_with_members_of_the_fixtures_are_drafted(served: EmbeddedReference, tmp_path: Path) -> None:
    """With fixtures and schemas, and no body: a ticket is the session's, and a code that of the grant."""
    known = tomllib.loads(fragment(tmp_path / "known.toml").read_text(encoding="utf-8"))
    names = ("exchangeOAuthToken", "consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")
    stated = {key: known[key] for key in ("fixtures", "oauth")}
    (tmp_path / "known.toml").write_text("".join(f"{key} = {format_value(stated[key])}\n" for key in stated))
    draft = probed(served, tmp_path, "", tmp_path / "known.toml", openapi=str(SCHEMAS))
    profile = load_profile(draft.profile)
    assert draft.proven_operations == 20
    assert all(profile.operations[name].body for name in names)
    assert profile.oauth.code_verifier == "/codeVerifier"
