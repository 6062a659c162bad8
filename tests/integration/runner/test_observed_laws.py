"""Recordings of whole runs: the laws over several exchanges find what they can, and nothing at a conforming service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import REFERENCE, Desk, run_json, shared_reference

pytestmark = pytest.mark.e2e


def observed(folder: Path, prefix: str, selection: str) -> dict[str, Any]:
    """The run.json of a recording of those checks against the reference, or against one of its faults."""
    desk = Desk(folder, shared_reference())
    done = desk.conformance("run", *desk.target(prefix), "-k", selection, "--report-dir", "sent")
    assert done.code in (1, 3), done.text
    url = f"{desk.service.base_url}/{prefix}".rstrip("/")
    target = ["--profile", str(REFERENCE), "--base-url", url, "--var", "control=http://127.0.0.1:1"]
    done = desk.conformance("observe", *target, "--har", "sent/exchanges.har", "--report-dir", "seen")
    assert done.code in (1, 3), done.text
    return run_json(folder / "seen")


def failed(run: dict[str, Any]) -> set[str]:
    return {result["check"] for result in run["results"] if result["outcome"] == "failed"}


def passed(run: dict[str, Any]) -> set[str]:
    return {result["check"] for result in run["results"] if result["outcome"] == "passed"}


def test_a_good_recording_has_no_finding_and_the_laws_decided(tmp_path: Path) -> None:
    """Conflicts, replays and refused credentials are there, and each law that they decide has passed."""
    run = observed(tmp_path, "", "IDEM-1 or IDEM-4 or AUTH-1 or SCO-1")
    assert not failed(run)
    assert {"law::IDEM-1", "law::IDEM-4", "law::AUTH-1", "law::SCO-1"} <= passed(run)
    assert run["verdict"] == "incomplete"


@pytest.mark.parametrize(
    ("fault", "selection", "law"),
    [
        pytest.param("F072", "IDEM-4", "law::IDEM-4", id="another payload under a used key"),
        pytest.param("F084", "IDEM-1", "law::IDEM-1", id="a replay with another status"),
    ],
)
def test_a_violation_over_several_exchanges_is_found(tmp_path: Path, fault: str, selection: str, law: str) -> None:
    """By the law of its requirement."""
    run = observed(tmp_path, fault, selection)
    assert law in failed(run)
    assert run["verdict"] == "nonconformant"
