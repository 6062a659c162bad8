"""--plan tells what a run would send, and sends nothing; no run sends more."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter

import pytest

from conformance.checks.support.costs import Cost, cost_of, known_costs
from conformance.checks.support.registry import all_checks
from conformance.contract import load_contract
from conformance.profile.behavior import Authorization
from conformance.profile.model import Profile
from conformance.profile.resources import Fixture, OperationFacts
from conformance.reference.registry import variants
from conformance.setup.plan.applicability import Applicability
from conformance.setup.plan.plan import Plan, format_plan
from tests.matrix.count_costs import most
from tests.support.commands import REFERENCE, Desk, run_json

pytestmark = pytest.mark.e2e


def bound(out: str) -> int:
    found = re.search(r"up to ([\d,]+) requests", out)
    assert found, out
    return int(found[1].replace(",", ""))


def test_nothing_is_sent_and_no_secret_is_needed(desk: Desk) -> None:
    """Neither the target nor the test API hears of it, no variable holds a key, and no folder is left."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.2)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        empty = Desk(desk.place, desk.service, dict.fromkeys(desk.service.environment, ""))
        done = empty.conformance("run", "--profile", REFERENCE, "--base-url", url, "--var", f"control={url}", "--plan")
        with pytest.raises(TimeoutError):
            listener.accept()
    assert done.code == 0, done.text
    assert desk.left_behind() == []
    for operation in load_contract().all:
        assert re.search(rf"^  {operation.id} +\d+ +\d+ +\d+", done.out, re.MULTILINE), done.out


@pytest.mark.slow
def test_a_run_sends_no_more_than_was_planned_and_half_at_least(desk: Desk) -> None:
    """An upper bound that is far away is none."""
    selection = ["-k", "check_idempotency or check_hosted or check_bodies or AUTH-1"]
    planned = bound(desk.conformance("run", *desk.target(), *selection, "--plan").out)
    desk.conformance("run", *desk.target(), *selection, "--report-dir", "out", "-q")
    sent = run_json(desk.place / "out")["traffic"]["requests"]
    assert sent <= planned <= 2 * sent


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("name", ["", "D12", "D20", "D33"])
def test_a_plan_of_quick_depth_counts_its_own_costs(desk: Desk, name: str) -> None:
    """With fewer examples and more that is shared: a budget is set by it."""
    target = desk.target(name) if name else desk.target()
    planned = bound(desk.conformance("run", *target, "--depth", "quick", "--plan").out)
    desk.conformance("run", *target, "--depth", "quick", "--report-dir", "out", "-q")
    sent = run_json(desk.place / "out")["traffic"]["requests"]
    assert sent <= planned <= 2 * sent


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("name", ["D12", "D20", "D33"])
def test_the_bound_holds_for_variants(desk: Desk, name: str) -> None:
    """Whole runs of readings that cost most."""
    assert name in variants()
    planned = bound(desk.conformance("run", *desk.target(name), "--plan").out)
    desk.conformance("run", *desk.target(name), "--report-dir", "out", "-q")
    assert run_json(desk.place / "out")["traffic"]["requests"] <= planned


def test_a_read_only_plan_has_no_writes(desk: Desk) -> None:
    out = desk.conformance("run", *desk.target(), "--read-only", "--plan").out
    rows = re.findall(r"^  (\w+) +[\d,]+ +([\d,]+) +([\d,]+)", out, re.MULTILINE)
    assert {writes for _, _, writes in rows} == {"0"}
    assert any(reads != "0" for _, reads, _ in rows)


@pytest.mark.slow
def test_time_is_told_at_the_rate(desk: Desk) -> None:
    """So many requests at ten a second take a tenth as many seconds."""
    out = desk.conformance("run", *desk.target(), "--rate", "10", "--plan").out
    told = re.search(r"about ([\d,]+) s at 10 a second", out)
    assert told, out
    assert int(told[1].replace(",", "")) == pytest.approx(bound(out) / 10, abs=1)


def test_an_empty_selection_plans_nothing(desk: Desk) -> None:
    """As for a run, it is a mistake of whoever typed it."""
    done = desk.conformance("run", *desk.target(), "-k", "no_such_check", "--plan")
    assert done.code == 2, done.text


def test_fixtures_are_told_by_the_profiles_names() -> None:
    """A kind is known by the operation that uses it, whatever it is called; of a derived one, its origin is drawn."""
    origin = Fixture("basket", "full", values=({"id": "b1"},))
    own = Profile(
        name="own",
        base_url="http://127.0.0.1:9",
        authorization=Authorization("{key}"),
        fixtures={"basket": {"full": origin, "priced": Fixture("basket", "priced", origin="full")}},
        operations={"quotePublicCart": OperationFacts(path={"cartId": "{basket.id}"})},
    )
    costs = {
        "quotePublicCart": Cost(1, 0, 7, Counter({"cart.open": 5, "cart.priced": 2})),
        "getApiKeyIdentity": Cost(1, 1),
    }
    told = "\n".join(format_plan(Plan(own, costs, (), Applicability((), {}, ()), 1)))
    assert "7 basket.full" in told
    assert "cart." not in told


def test_every_check_has_a_cost() -> None:
    """Its own, or that of the walks that it shares. After one was added: `python -m tests.matrix.count_costs`."""
    known = {check for check, _ in known_costs()}
    shared = {check.id for check in all_checks() if check.exclusive or check.subject == "check_walks"}
    assert {check.id for check in all_checks()} - known - shared == set()


def test_the_dearer_of_two_counts_is_kept() -> None:
    """Whichever has more instances: each is taken for as many."""
    few, many = Cost(1, 2, 0), Cost(3, 3, 9)
    assert most(few, many) == most(many, few) == Cost(3, 6, 9)
    assert json.dumps(Cost(2, 3, 5).scale(4).reads) == "6"


def test_what_was_counted_on_other_operations_only_has_their_cost() -> None:
    """A check asks more operations in deep depth than were counted: the plan is no smaller for that."""
    check = "check_authentication::a_key_is_no_pattern"
    counted, other = cost_of(check, "getApiKeyIdentity"), cost_of(check, "quotePublicCart")
    assert (other.reads, other.writes) == (counted.reads, counted.writes) != (0, 0)
