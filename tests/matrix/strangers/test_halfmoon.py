"""A service by somebody else, in another language, with a profile written from the template alone.

It differs wherever the interface leaves room: a path prefix, keys in the query, problem+json, other names, 404 for a
spent cart, chance 429s, answers in gzip and chunks. `--break` seeds one of six bugs that the catalogue does not list.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.checks.support.registry import Instance
from conformance.core.model import Run
from conformance.core.outcomes import Outcome, Verdict
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import judge
from conformance.runner.embedded_reference import environment

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

HERE = Path(__file__).parent
KEYS = ("alles", "webhooks-write", "webhooks-read", "catalog-read", "checkout-quote", "nichts", "widerrufen", "sued")
BREAKS = {
    "scope-stem": "SCO-1",
    "flat-fingerprint": "IDEM-4",
    "htu-origin": "OA-6",
    "lenient-number": "SRCH-3",
    "stuck-lock": "IDEM-7",
    "early-effect": "BODY-8",
}
"""What `--break` takes, and the requirement that each violates."""


@pytest.fixture(autouse=True)
def node() -> None:
    if shutil.which("node") is None:
        assert not os.environ.get("CI"), "node is required where CI is set"
        pytest.skip("node is not there, and the stranger is written in JavaScript")


@contextmanager
def _serving(*options: str) -> Iterator[Mapping[str, str]]:
    command = ["node", str(HERE / "halfmoon.mjs"), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate(timeout=10)


def _secrets(admin: str) -> dict[str, str]:
    told = {"HALFMOON_ADMIN": admin}
    for name in KEYS:
        with urllib.request.urlopen(f"{admin}/schluessel/{name}", timeout=10) as answer:
            told[f"HALFMOON_{name.upper().replace('-', '_')}"] = json.load(answer)["schluessel"]
    return told


def _judged(report: Path, *options: str, only: str = "") -> Run:
    with _serving(*options) as told, environment(_secrets(told["admin_url"])):
        asked = RunOptions(
            profile=HERE / "halfmoon.toml",
            base_url=told["base_url"],
            variables={"admin": told["admin_url"]},
            report_dir=report,
        )

        def selected(instance: Instance) -> bool:
            return not only or instance.check.requirement == only

        return judge(asked, selected)


def test_a_stranger_that_conforms_is_certified(tmp_path: Path) -> None:
    """Nothing fails, and nothing required stays open, chance 429s included."""
    run = _judged(tmp_path / "run")
    bad = [r for r in run.results if r.outcome in (Outcome.FAILED, Outcome.INCONCLUSIVE, Outcome.BROKEN)]
    assert run.verdict is Verdict.CONFORMANT, [(r.requirement, r.operation, r.message) for r in bad][:10]


@pytest.mark.parametrize("name", BREAKS)
def test_a_stranger_with_one_bug_fails_in_that_place(name: str, tmp_path: Path) -> None:
    """The checks of the requirement that the bug violates turn red."""
    run = _judged(tmp_path / "run", "--limit", "none", "--break", name, only=BREAKS[name])
    assert BREAKS[name] in {result.requirement for result in run.results if result.outcome is Outcome.FAILED}
