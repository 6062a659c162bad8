"""Where a target is and how much its profile says: prefixes, slashes, the least that a profile may state."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.support.commands import REFERENCE, Desk, checks, run_json

pytestmark = pytest.mark.e2e

NOWHERE = "http://127.0.0.1:9"
AUTH = "getApiKeyIdentity and AUTH-1"
MINIMAL = 'name = "mini"\nbase_url = "{url}"\n[authorization]\nformat = "Bearer {{key}}"\n'


@pytest.mark.slow
def test_a_path_prefix_leads_to_another_target(desk: Desk) -> None:
    """The reference serves its faults by prefix: the same checks that pass at the root fail there, and exit 1."""
    good = desk.conformance("run", *desk.target(), "-q", "-k", AUTH, "--report-dir", "good")
    bad = desk.conformance("run", *desk.target("F031"), "-q", "-k", AUTH, "--report-dir", "bad")
    assert (good.code, bad.code) == (3, 1)
    assert set(checks(run_json(desk.place / "good")).values()) == {"passed"}
    assert "failed" in checks(run_json(desk.place / "bad")).values()
    assert run_json(desk.place / "bad")["verdict"] == "nonconformant"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["/", "//", "/reference~slashes/"])
def test_a_trailing_slash_changes_nothing(desk: Desk, suffix: str) -> None:
    """The paths of the interface follow the base URL with exactly one slash between, in requests and in reports."""
    url, control = (service + suffix for service in (desk.service.base_url, desk.service.control_url))
    given = ["--profile", REFERENCE, "--base-url", url, "--var", f"control={control.rstrip('/')}"]
    done = desk.conformance("run", *given, "-q", "-k", AUTH, "--report-dir", "out")
    run = run_json(desk.place / "out")
    assert done.code == 3
    assert set(checks(run).values()) == {"passed"}
    assert run["target"] == url.rstrip("/")


def test_the_least_profile_runs_and_says_what_more_it_needs(desk: Desk) -> None:
    """Three keys are enough to begin with. A check that lacks a fact is unstated and names the key.

    That certifies nothing: run, gate and certificate say what they would rest on, and none of them passes.
    """
    (desk.place / "mini.toml").write_text(MINIMAL.format(url=desk.service.base_url))
    done = desk.conformance("run", "--profile", "mini.toml", "--report-dir", "out")
    run = run_json(desk.place / "out")
    assert (done.code, run["verdict"], run["complete"]) == (3, "incomplete", True), done.out
    outcomes = checks(run)
    assert set(outcomes.values()) <= {"passed", "unstated", "inapplicable"}
    assert "passed" in outcomes.values()
    lacking = [r for r in run["results"] if r["outcome"] == "unstated"]
    assert lacking
    assert [result["check"] for result in lacking if not result["fact"]] == []
    named = {result["fact"].split(" ")[0].split(".")[0] for result in lacking if result["fact"]}
    assert {"credentials", "operations", "search"} <= named
    assert run["scope"]["summary"].startswith("1 of 20 operations, 0 of ")
    for narrowed in ([], ["--tier", "stable"]):
        gated = desk.conformance("gate", "out", *narrowed)
        assert (gated.code, "of 20 operations" in gated.out or "of 9 operations" in gated.out) == (3, True), gated.text
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "key.pem"], cwd=desk.place, check=True)
    generated = desk.conformance("certify", "out", "--key", "key.pem")
    assert generated.code == 3
    assert "the run is incomplete: 1 of 20 operations" in generated.err


def test_the_template_is_a_profile_that_loads(desk: Desk) -> None:
    """What is copied to begin with has no mistake in it: only its address leads nowhere."""
    text = (REFERENCE.parent / "template.toml").read_text()
    keys = {name: f"secret-of-{name}" for name in re.findall(r'secret = \{ env = "(\w+)"', text)}
    for name in re.findall(r'secret = \{ file = "([^"]+)"', text):
        (desk.place / name).parent.mkdir(exist_ok=True)
        (desk.place / name).write_text("secret-in-a-file")
        (desk.place / name).chmod(0o600)
    other = 'secret = { env = "PRINTED_KEY" }'
    keys["PRINTED_KEY"] = "secret-of-a-command"
    (desk.place / "mine.toml").write_text(re.sub(r"secret = \{ command = .*", other, text))
    done = Desk(desk.place, desk.service, keys).conformance("run", "--profile", "mine.toml", "--base-url", NOWHERE)
    assert (done.code, "cannot connect" in done.one_line()) == (4, True), done.text
