"""What opens the owner's test API is a secret: it stands in no report, message or command that repeats a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import REFERENCE, Desk

pytestmark = pytest.mark.e2e

PASSWORD = "S3cr3t-Pass-of-the-owner"
KEY = "k3y-of-the-test-API-0123456789"
TOKEN = "t0ken-in-a-variable-9876543210"


def opened_by_secrets(desk: Desk, path: str) -> list[str]:
    """The options of commands whose profile calls fixtures with a user, a password and two secret parameters."""
    schemas = REFERENCE.with_name("reference.schemas.yaml")
    query = f"count=20&api_key={KEY}&access_token={{env.TEST_API_TOKEN}}"
    text = REFERENCE.read_text().replace('file = "reference.schemas.yaml"', f'file = "{schemas}"')
    profile = desk.place / "opened.toml"
    profile.write_text(text.replace("{var.control}/fixtures", f"{{var.control}}{path}").replace("count=20", query))
    control = desk.service.control_url.replace("://", f"://owner:{PASSWORD}@")
    return ["--profile", str(profile), "--base-url", desk.service.base_url, "--var", f"control={control}"]


def written(place: Path) -> str:
    return "\n".join(p.read_text(errors="replace") for p in place.rglob("*") if p.is_file() and p.suffix != ".toml")


@pytest.mark.parametrize("path", [pytest.param("/fixtures", marks=pytest.mark.slow), "/nowhere"])
def test_what_opens_a_test_api_is_written_nowhere(desk: Desk, path: str) -> None:
    """Where fixtures are provided, and where messages say that they are not."""
    target = opened_by_secrets(desk, path)
    env = {"TEST_API_TOKEN": TOKEN}
    ran = desk.conformance("run", *target, "--report-dir", "out", "-v", "-k", "check_hosted", env=env)
    looked = desk.conformance("doctor", *target, env=env)
    assert ("passed" in ran.text) is (path == "/fixtures"), ran.text
    everything = ran.text + looked.text + written(desk.place)
    assert [secret for secret in (PASSWORD, KEY, TOKEN) if secret in everything] == []
    if path == "/nowhere":
        assert "/nowhere/session/" in ran.text
