"""What a fixture's Python function prints, or its module when it is imported, contains no secret wherever it ends."""

from __future__ import annotations

import pytest

from tests.support.commands import REFERENCE, Desk

pytestmark = pytest.mark.e2e

PRINTING = """
import json, logging, os, sys, urllib.request
KEY = os.environ["CONFORMANCE_REFERENCE_FULL"]
print("imported with", KEY)

def merchant(context):
    print("a function printed", KEY)
    print("to standard error", KEY, file=sys.stderr)
    logging.warning("logged %s", KEY)
    request = urllib.request.Request("{control}/fixtures/merchant/stocked", method="POST")
    return json.load(urllib.request.urlopen(request))
"""
SELECTION = ("-k", "check_public")


def target(desk: Desk, name: str = "mine") -> list[str]:
    """A profile whose fixture prints the key."""
    (desk.place / "printing.py").write_text(PRINTING.replace("{control}", desk.service.control_url))
    stated = 'http = { method = "POST", url = "{var.control}/fixtures/merchant/stocked" }'
    profile = REFERENCE.read_text().replace(stated, 'python = "printing.py:merchant"', 1)
    profile = profile.replace("http://127.0.0.1:8765", desk.service.base_url)
    (desk.place / f"{name}.toml").write_text(profile)
    schemas = REFERENCE.with_name("reference.schemas.yaml")
    (desk.place / schemas.name).write_text(schemas.read_text())
    return ["--profile", f"{name}.toml", "--var", f"control={desk.service.control_url}"]


TO_OUTPUT = ("imported with", "a function printed")
TO_ERROR = ("to standard error", "logged")


def require_redacted(desk: Desk, *texts: str, lines: tuple[str, ...] = (*TO_OUTPUT, *TO_ERROR)) -> None:
    """The lines were written, without the key; and no file has it."""
    text = "\n".join(texts)
    for line in lines:
        assert f"{line} «credential:full»" in text, text
    key = desk.environment["CONFORMANCE_REFERENCE_FULL"]
    assert key not in text
    files = [path for path in desk.place.rglob("*") if path.is_file()]
    assert [path for path in files if key.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("split", "lines"),
    [((), (*TO_OUTPUT, *TO_ERROR)), (("-n", "2"), TO_ERROR)],
    ids=["one process", "two"],  # execnet discards the standard output of a worker
)
def test_of_a_run(desk: Desk, split: tuple[str, ...], lines: tuple[str, ...]) -> None:
    done = desk.conformance("run", *target(desk), *SELECTION, *split, "--report-dir", "out", env={"PYTHONUTF8": "1"})
    assert done.code == 3, done.text
    require_redacted(desk, done.out, done.err, lines=lines)


def test_of_several_targets(desk: Desk) -> None:
    """Each has a file with the output of its run."""
    words = [*target(desk), *target(desk, "other")[:2], *SELECTION, "--report-dir", "out"]
    done = desk.conformance("run", *words, env={"PYTHONUTF8": "1"})
    assert done.code == 3, done.text
    require_redacted(desk, (desk.place / "out" / "mine" / "output.txt").read_text(encoding="utf-8"))


def test_of_the_doctor(desk: Desk) -> None:
    done = desk.conformance("doctor", *target(desk), env={"PYTHONUTF8": "1"})
    require_redacted(desk, done.out, done.err)


@pytest.mark.parametrize("capture", ["no", "fd", "sys"])
def test_of_plain_pytest(desk: Desk, capture: str) -> None:
    """Whether pytest captures the output or not; allure attaches what was captured."""
    words = (*SELECTION, "-p", "allure_pytest", "--alluredir", "allure", "-rA", f"--capture={capture}")
    done = desk.pytest(*words, "--conformance-report-dir", "out", target=target(desk), env={"PYTHONUTF8": "1"})
    assert done.code == 3, done.text
    require_redacted(desk, done.out, done.err)
