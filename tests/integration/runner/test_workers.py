"""`-n 2`: the same verdict and the same results as in one process, one journal, and what must run alone runs alone."""

from __future__ import annotations

import json

import pytest

from conformance.core.errors import UsageError
from conformance.core.run_options import RunOptions
from conformance.engine.options import RunPart
from conformance.engine.session import Session
from conformance.profile.loader import load_profile
from conformance.profile.shares import check_shareable
from tests.support.commands import REFERENCE, Desk, journal_lines, results, run_json

pytestmark = pytest.mark.e2e

SELECTION = "check_rate_limit or check_authentication and getApiKeyIdentity or check_search"


def kinds(desk: Desk, folder: str) -> list[str]:
    return [json.loads(line)["kind"] for line in (desk.place / folder / "journal.ndjson").read_text().splitlines()]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """One run in one process, and the same over two."""
    from tests.support.commands import shared_reference

    desk = Desk(tmp_path_factory.mktemp("both"), shared_reference())
    one = desk.conformance("run", *desk.target("reference~one"), "-q", "-k", SELECTION, "--report-dir", "one")
    two = desk.conformance(
        "run", *desk.target("reference~two"), "-q", "-k", SELECTION, "--report-dir", "two", "-n", "2"
    )
    assert (one.code, two.code) == (3, 3), one.text + two.text
    return desk


def test_the_results_are_the_same(both: Desk) -> None:
    one, two = run_json(both.place / "one"), run_json(both.place / "two")
    assert results(one) == results(two)
    assert one["counts"] == two["counts"]
    assert one["filtered"] is two["filtered"] is True


def test_the_workers_journals_are_one_journal(both: Desk) -> None:
    """The first line says what the run is, no id occurs twice, and no part is left over."""
    found = kinds(both, "two")
    assert found.count("run") == 1
    assert (found[0], found[-1]) == ("run", "end")
    exchanges = [line["id"] for line in journal_lines(both.place / "two", "exchange")]
    told = [(line["check"], line["operation"], line["case"]) for line in journal_lines(both.place / "two", "result")]
    assert len(exchanges) == len(set(exchanges))
    assert len(told) == len(set(told))
    assert not list((both.place / "two").glob("journal-*"))


@pytest.mark.parametrize("folder", ["one", "two"])
def test_what_must_run_alone_runs_once_and_last(both: Desk, folder: str) -> None:
    """The bursts that provoke a 429 come from one process, when every other check has its result."""
    order = journal_lines(both.place / folder, "result")
    limited = [line for line in order if line["check"].startswith("check_rate_limit")]
    alone = {line["id"][:4] for line in journal_lines(both.place / folder, "exchange") if line["status"] == 429}
    assert limited
    assert len(alone) == 1 or folder == "one"
    if folder == "one":
        exclusive = [line["check"].startswith("check_rate_limit") for line in order]
        assert exclusive == sorted(exclusive)


@pytest.mark.slow
def test_plain_pytest_splits_too(desk: Desk) -> None:
    done = desk.pytest(
        "-p", "xdist.plugin", "-n", "2", "-k", "getApiKeyIdentity and AUTH-1", "--conformance-report-dir", "out"
    )
    assert done.code == 3, done.text
    assert run_json(desk.place / "out")["complete"]


@pytest.mark.slow
def test_together_the_processes_keep_the_limits_of_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile's budget, rate and concurrency are of the run, not of each process."""
    for name, value in desk.service.environment.items():
        monkeypatch.setenv(name, value)
    whole = Session(RunOptions(REFERENCE, concurrency=16))
    parts = [Session(RunOptions(REFERENCE, concurrency=16), RunPart(share=(index, 4))) for index in range(4)]
    assert sum(part.concurrency for part in parts) == whole.concurrency
    assert sum(part.profile.limits.max_requests for part in parts) <= whole.profile.limits.max_requests


@pytest.mark.slow
def test_no_two_processes_use_the_same_fixture_of_a_list(desk: Desk) -> None:
    """A static list is dealt out; where it is too short to be, the run is refused before anything is sent."""
    (desk.place / "mine.toml").write_text(
        'name = "mine"\nbase_url = "http://127.0.0.1:9"\n[authorization]\nformat = "{key}"\n'
        '[fixtures.cart.open]\nvalues = [{ id = "a" }, { id = "b" }, { id = "c" }]\n'
        '[fixtures.merchant.stocked]\nvalues = [{ slug = "acme" }]\nreusable = true\n'
    )
    options = RunOptions(desk.place / "mine.toml")
    profiles = [Session(options, RunPart(share=(index, 2))).profile for index in range(2)]
    lists = [profile.fixtures["cart"]["open"] for profile in profiles]
    dealt = [[one.values[place]["id"] for place in one.places] for one in lists]
    assert dealt == [["a", "c"], ["b"]]
    assert len(profiles[1].fixtures["merchant"]["stocked"].values) == 1
    with pytest.raises(UsageError, match=r"fixtures\.cart\.open: 4 processes cannot share 3"):
        check_shareable(load_profile(desk.place / "mine.toml"), 4)


@pytest.mark.slow
def test_a_list_that_is_too_short_is_said_in_one_line(desk: Desk) -> None:
    (desk.place / "mine.toml").write_text(
        f'name = "mine"\nbase_url = "{desk.service.base_url}"\n[authorization]\nformat = "{{key}}"\n'
        '[fixtures.cart.open]\nvalues = [{ id = "a" }]\n'
    )
    done = desk.conformance("run", "--profile", "mine.toml", "-n", "2")
    assert done.code == 2
    assert "fixtures.cart.open: 2 processes cannot share 1" in done.one_line()
    assert desk.left_behind() == ["mine.toml"]


def test_what_a_fixture_logs_crosses_to_the_other_process_cleaned(desk: Desk) -> None:
    """Half of a surrogate pair is text for Python, and not for what carries it; a key of the run is redacted."""
    (desk.place / "given.py").write_text(
        "import json, logging, os, urllib.request\n\ndef merchant(context):\n"
        "    logging.warning('half \\ud800 and %s', os.environ['CONFORMANCE_REFERENCE_FULL'])\n"
        f"    asked = urllib.request.Request('{desk.service.control_url}/fixtures/merchant/stocked', method='POST')\n"
        "    return json.load(urllib.request.urlopen(asked))\n"
    )
    stated = 'http = { method = "POST", url = "{var.control}/fixtures/merchant/stocked" }'
    (desk.place / "mine.toml").write_text(REFERENCE.read_text().replace(stated, 'python = "given.py:merchant"', 1))
    schemas = REFERENCE.with_name("reference.schemas.yaml")
    (desk.place / schemas.name).write_text(schemas.read_text())
    target = ["--profile", "mine.toml", *desk.target()[2:]]
    split = ("-p", "xdist.plugin", "-n", "2", "-rA")
    done = desk.pytest(*split, "-k", "check_public", "--conformance-report-dir", "out", target=target)
    assert done.code == 3 and "INTERNALERROR" not in done.text, done.text
    assert "half " in done.text and desk.environment["CONFORMANCE_REFERENCE_FULL"] not in done.text
