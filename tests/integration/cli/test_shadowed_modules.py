"""Runs in a folder whose files are named like modules of the standard library: no process of the suite takes those."""

from __future__ import annotations

import os

import pytest

from tests.support.commands import REFERENCE, Desk, run_json

pytestmark = pytest.mark.e2e

NAMED_LIKE = ("copy", "email", "inspect", "json", "profile", "queue", "random", "secrets", "signal", "token")
ONLY = ("-k", "getApiKeyIdentity and AUTH-1", "--report-dir", "out")


@pytest.fixture
def littered(desk: Desk) -> Desk:
    """A desk with such files, and a profile that has a key from a command, which tells how it was started."""
    for name in NAMED_LIKE:
        (desk.place / f"{name}.py").write_text("raise RuntimeError('not a module of the standard library')\n")
    text = REFERENCE.read_text(encoding="utf-8").replace("http://127.0.0.1:8765", desk.service.base_url)
    text = text.replace("http://127.0.0.1:8766", desk.service.control_url)
    script = 'echo "${PYTHONSAFEPATH-none}" >> started; printenv CONFORMANCE_REFERENCE_FULL'
    by_command = f"command = ['sh', '-c', '{script}']"
    assert 'env = "CONFORMANCE_REFERENCE_FULL"' in text
    for name in ("mine.toml", "also.toml"):
        (desk.place / name).write_text(text.replace('env = "CONFORMANCE_REFERENCE_FULL"', by_command), encoding="utf-8")
    schemas = REFERENCE.with_name("reference.schemas.yaml")
    (desk.place / schemas.name).write_bytes(schemas.read_bytes())
    return desk


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [("-n", "2"), ("--tx", "2*popen"), ("--profile", "also.toml"), ()],
    ids=["processes", "gateways", "side by side", "one"],
)
def test_a_run_in_such_a_folder_is_like_any_other(littered: Desk, how: tuple[str, ...]) -> None:
    """However many processes it has; and what the profile starts sees the environment of whoever started the run."""
    script = littered.place / "bin" / "start.py"  # as the installed command: only its own folder is looked at first
    script.parent.mkdir()
    script.write_text("from conformance.cli import main\nif __name__ == '__main__':\n    main()\n")
    done = littered.finished(littered.started([str(script), "run", "--profile", "mine.toml", *how, *ONLY]))
    assert done.code == 3, done.text  # of a selection, nothing is certified
    reports = sorted((littered.place / "out").rglob("run.json"))
    assert len(reports) == (2 if how[:1] == ("--profile",) else 1)
    for report in reports:
        counts = run_json(report.parent)["counts"]
        assert counts.pop("passed") > 10
        assert not any(counts.values())
    told = os.environ.get("PYTHONSAFEPATH", "none")
    assert set((littered.place / "started").read_text().split()) == {told}
