"""`-x`: the first failure ends a run when it is there, wherever it stands in the order; and nothing else does."""

from __future__ import annotations

import pytest

from conformance.contract import load_contract
from conformance.core.model import Exchange, Finding, Message, Waiver
from conformance.core.outcomes import Level
from conformance.engine.first_failure import Alarm
from conformance.judge.invariants import SHAPE_CODE
from tests.support.commands import Desk, checks, journal_lines, run_json

pytestmark = pytest.mark.e2e

LANES = 60
"""At most so many checks are under way at once, and may come to their end while the run is ended."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("F037", "check_authentication::a_revoked_or_expired_key_is_answered_401"),  # in the third of the files
        ("F620", "check_webhooks::patch_keeps_a_switch_as_it_was_set"),  # in the last one
    ],
)
def test_a_fail_fast_run_ends_at_the_first_failure_wherever_it_stands(desk: Desk, fault: str, check: str) -> None:
    """What failed has its row and its message, what is left is untested, and next to nothing is run any more."""
    done = desk.conformance("run", *desk.target(fault), "--fail-fast", "--report-dir", "out")
    run = run_json(desk.place / "out")
    outcomes = [line["outcome"] for line in journal_lines(desk.place / "out", "result")]
    failed = {key[0] for key, outcome in checks(run).items() if outcome == "failed"}
    assert (done.code, run["verdict"], run["complete"]) == (1, "nonconformant", False), done.text
    assert failed == {check}
    assert len(outcomes) - outcomes.index("failed") <= LANES
    left = [r for r in run["results"] if r["outcome"] == "untested" and not r["check"].startswith("invariant::")]
    # How many are left depends on where the order has the first check that can see the fault: `fit_order` judges that.
    assert left and all(result["message"].startswith("not run: stopping") for result in left)


@pytest.mark.slow
def test_the_item_that_failed_is_the_one_that_pytest_reports(desk: Desk) -> None:
    """It stands behind a thousand others in pytest's order."""
    done = desk.pytest("-x", "--conformance-report-dir", "out", prefix="F620")
    assert done.code == 1
    assert "check_webhooks.py::patch_keeps_a_switch_as_it_was_set[updateInstallationWebhook]" in done.out
    assert "WH-2: " in done.out
    assert "stopping after 1 failures" in done.out
    assert "1 failed" in done.out.splitlines()[-1]


def test_an_invariant_that_is_violated_ends_it_too(desk: Desk) -> None:
    """Though no item of pytest's failed until the invariants are judged on all of the run."""
    done = desk.conformance("run", *desk.target("F003"), "--fail-fast", "--report-dir", "out")
    run = run_json(desk.place / "out")
    failed = [(r["check"], r["operation"]) for r in run["results"] if r["outcome"] == "failed"]
    assert done.code == 1, done.text
    assert failed == [("invariant::ENV-2", "getApiKeyIdentity")]
    assert "ENV-2 on getApiKeyIdentity" in run["interrupted"]
    assert run["counts"]["untested"] > run["counts"]["passed"]


@pytest.mark.parametrize("split", [("-n", "2"), ("--tx", "2*popen")], ids=" ".join)
def test_a_failure_of_a_worker_is_a_verdict(desk: Desk, split: tuple[str, ...]) -> None:
    """The run is cut short by the failure, and by nobody who interrupts it: exit code 1, as in one process."""
    options = ("--fail-fast", "-k", "AUTH-1 or STA-2", "--report-dir", "out")
    done = desk.conformance("run", *desk.target("F031"), *options, *split)
    run = run_json(desk.place / "out")
    assert (done.code, run["verdict"], run["complete"]) == (1, "nonconformant", False), done.text
    assert run["interrupted"] == "stopping after 1 failures"


@pytest.mark.slow
def test_a_fail_fast_run_without_a_failure_is_a_run_like_any_other(desk: Desk) -> None:
    """The same checks with the same outcomes, the exclusive ones among them, and tests of others beside them."""
    beside = desk.place / "test_beside.py"
    beside.write_text(
        "import pytest\n"
        "made = []\n"
        "@pytest.fixture(scope='module')\n"
        "def once():\n"
        "    made.append(1)\n"
        "    yield made\n"
        "    assert made == [1]\n"
        "def test_first(once): assert once == [1]\n"
        "def test_second(once): assert once == [1]\n"
    )
    given = [str(beside), "-k", "RATE-1 or SCO-3 or beside"]
    fast = desk.pytest("-x", *given, "--conformance-report-dir", "fast")
    whole = desk.pytest(*given, "--conformance-report-dir", "whole")
    outcomes = checks(run_json(desk.place / "fast"))
    assert (fast.code, whole.code) == (3, 3), fast.text
    assert outcomes == checks(run_json(desk.place / "whole"))
    assert run_json(desk.place / "fast")["complete"]
    assert fast.out.splitlines()[-1].split(" in ")[0] == whole.out.splitlines()[-1].split(" in ")[0]


def exchange(operation: str, *findings: Finding) -> Exchange:
    message = Message((), "", 0)
    return Exchange("x1", operation, "GET", "http://localhost/", message, 200, message, 0.0, 1.0, findings=findings)


def alarm(*waivers: Waiver) -> Alarm:
    return Alarm(load_contract().requirements, waivers)


def waiver(requirement: str, operation: str) -> Waiver:
    return Waiver(requirement=requirement, operation=operation, reason="r", issue="i", owner="o", until="2999-01-01")


def test_only_what_will_fail_a_row_rings() -> None:
    """Not a recommendation, not a shape that is only kept, not an operation that the invariant is not about."""
    bare = Finding("ENV-2", "no-data", "the body has no data member")
    own = alarm()
    own.examine_exchange(exchange("getApiKeyIdentity", Finding("ENV-1", "no-media-type", "none", Level.RECOMMENDED)))
    own.examine_exchange(exchange("getApiKeyIdentity", Finding("ERR-1", SHAPE_CODE, "[]")))
    own.examine_exchange(exchange("searchPublicProducts", bare))
    assert not own.is_triggered
    own.examine_exchange(exchange("getApiKeyIdentity", bare))
    assert own.is_triggered
    assert own.violation == "ENV-2 on getApiKeyIdentity: the body has no data member"


def test_what_a_waiver_may_be_for_does_not_ring() -> None:
    """Only the end of the run knows whether it excuses this very failure; of another operation it excuses nothing."""
    bare = Finding("ENV-2", "no-data", "the body has no data member")
    for operation in ("", "getApiKeyIdentity"):
        own = alarm(waiver("ENV-2", operation))
        own.examine_exchange(exchange("getApiKeyIdentity", bare))
        assert not own.is_triggered
    other = alarm(waiver("ENV-2", "getPublicRuntimeConfig"))
    other.examine_exchange(exchange("getApiKeyIdentity", bare))
    assert other.is_triggered
