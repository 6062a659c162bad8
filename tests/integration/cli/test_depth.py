"""Quick depth asks little, finds what is likeliest, and is never taken for a verdict of the whole."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import load_contract
from conformance.core.defaults import QUICK_REQUESTS
from tests.support.commands import Desk, Done, run_json, shared_reference

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A folder with one quick run of the reference."""
    folder = Desk(tmp_path_factory.mktemp("depth"), shared_reference())
    done = folder.conformance("run", *folder.target(), "--depth", "quick", "--report-dir", "quick")
    assert done.code == 3, done.text
    yield folder


def document(desk: Desk, folder: str = "quick") -> Any:
    return json.loads((desk.place / folder / "run.json").read_text(encoding="utf-8"))


def gate(desk: Desk, folder: str, *options: str) -> Done:
    return desk.conformance("gate", folder, *options)


def test_a_quick_run_sends_few_requests_to_every_operation(desk: Desk) -> None:
    """Each required or declared requirement that the reference knows is asked about once."""
    run = document(desk)
    assert run["traffic"]["requests"] <= QUICK_REQUESTS
    assert not run["scope"]["unproven"]
    judged = {result["requirement"] for result in run["results"] if result["outcome"] == "passed"}
    assert len(judged) > 0.8 * len({result["requirement"] for result in run["results"]})


def test_what_a_quick_run_leaves_out_is_untested_and_said(desk: Desk) -> None:
    """In each result, in the scope, and in the verdict."""
    run = document(desk)
    assert (run["verdict"], run["depth"]) == ("incomplete", "quick")
    assert run["scope"]["summary"].endswith("quick depth")
    untested = [result for result in run["results"] if result["outcome"] == "untested"]
    assert len(untested) > 1000
    assert all(result["message"].startswith("left out in quick depth") for result in untested)
    assert not [result for result in run["results"] if result["outcome"] in ("failed", "inconclusive", "broken")]


def test_a_gate_lets_a_quick_run_pass_only_where_it_is_asked_to(desk: Desk) -> None:
    """And never says that the target is conformant."""
    assert gate(desk, "quick").code == 3
    done = gate(desk, "quick", "--depth", "quick")
    assert done.code == 0, done.text
    assert "nothing was found" in done.out and "quick depth" in done.out
    assert "conformant" not in done.out.replace("nonconformant", "")


def test_a_fault_that_a_quick_run_finds_blocks_its_gate(desk: Desk) -> None:
    """With the words of any failure."""
    done = desk.conformance("run", *desk.target("F001"), "--depth", "quick", "--report-dir", "fault")
    assert done.code == 1, done.text
    assert gate(desk, "fault", "--depth", "quick").code == 1


def test_a_quick_gate_is_no_easier_for_a_run_in_another_depth(desk: Desk, tmp_path: Path) -> None:
    """A filtered run in standard depth stays incomplete."""
    options = ("-k", "AUTH-1 and getApiKeyIdentity", "--report-dir", "filtered")
    assert desk.conformance("run", *desk.target(), *options).code == 3
    assert gate(desk, "filtered", "--depth", "quick").code == 3


def test_a_certificate_is_refused_to_a_quick_run(desk: Desk) -> None:
    """It is not conformant. Without a key, the command line is wrong."""
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "key.pem"], cwd=desk.place, check=True)
    done = desk.conformance("certify", "quick", "--key", "key.pem")
    assert (done.code, "incomplete" in done.err) == (3, True), done.text
    assert desk.conformance("certify", "quick", "--key", "none.pem").code == 2


def test_two_processes_leave_the_same_checks_out(desk: Desk) -> None:
    """The plan is the same in each of them."""
    options = ("--depth", "quick", "-n", "2", "--report-dir", "two")
    assert desk.conformance("run", *desk.target(), *options).code == 3

    def left_out(folder: str) -> set[tuple[str, ...]]:
        results = document(desk, folder)["results"]
        return {(r["check"], r["operation"], r["case"]) for r in results if r["outcome"] == "untested"}

    assert left_out("two") >= {name for name in left_out("quick") if not name[0].startswith("invariant::")}
    assert not document(desk, "two")["filtered"]


def test_a_budget_asks_about_each_requirement_before_any_twice(desk: Desk) -> None:
    """With --max-requests in standard depth: what the budget does not reach is said to be not finished or not run."""
    desk.conformance("run", *desk.target(), "--max-requests", "400", "--report-dir", "budget")
    run = run_json(desk.place / "budget")
    judged = {result["requirement"] for result in run["results"] if result["outcome"] == "passed"}
    exclusive = {"RATE-1", "RATE-3", "RATE-4", "RATE-5", "RATE-6", "RATE-7", "IDEM-8"}
    known = {row["id"] for row in document(desk)["requirements"] if row["level"] in ("required", "declared")}
    assert len(judged & known) > 0.7 * len(known - exclusive)


def test_a_deep_run_asks_every_operation_what_one_is_asked_otherwise(desk: Desk) -> None:
    """A defect of one implementation among several can hide from the sample, not from the whole."""
    asked = {}
    for depth in ("standard", "deep"):
        check = ("-k", "a_key_is_no_pattern")
        desk.conformance("run", *desk.target(), "--depth", depth, *check, "--report-dir", depth)
        results = run_json(desk.place / depth)["results"]
        asked[depth] = {result["operation"] for result in results if result["outcome"] == "passed" and result["check"]}
    assert asked["standard"] == {"getApiKeyIdentity"}
    assert asked["deep"] == {operation.id for operation in load_contract().select("api-key")}


def test_a_depth_that_does_not_exist_is_refused_with_those_that_do(desk: Desk) -> None:
    """On the command line, and as a limit of the profile."""
    assert "'quick', 'standard', 'deep'" in desk.conformance("run", *desk.target(), "--depth", "full").text
    assert desk.conformance("run", *desk.target(), "--limit", "depth=full").code == 2
