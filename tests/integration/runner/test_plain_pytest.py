"""`pytest -p conformance.runner.plugin --pyargs conformance.checks` does what pytest's users expect of it."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.metadata import entry_points
from xml.etree import ElementTree as ET

import pytest

from conformance.checks.support.registry import all_checks
from conformance.contract import load_contract
from conformance.runner import plugin
from tests.support.commands import REFERENCE, TIMEOUT_S, Desk, checks, run_json

pytestmark = pytest.mark.e2e

AUTH = "getApiKeyIdentity and AUTH-1"


def test_the_plugin_loads_only_when_asked_for() -> None:
    """Whoever has the suite installed runs their own tests without it."""
    assert [found.value for found in entry_points(group="pytest11") if "conformance" in found.value] == []


def test_every_option_has_a_name_that_nobody_else_uses() -> None:
    """`--base-url` is pytest-base-url's, `--profile` pytest-profiling's: ours begin with `--conformance-`."""
    added: list[str] = []

    class Group:
        def addoption(self, *names: str, **rest: object) -> None:
            added.extend(names)

    class Parser:
        def getgroup(self, *given: str) -> Group:
            return Group()

    plugin.pytest_addoption(Parser())  # type: ignore[arg-type]
    assert len(added) >= 8
    assert [name for name in added if not name.startswith("--conformance-")] == []


@pytest.mark.slow
def test_plugins_with_like_names_load_beside_it(desk: Desk) -> None:
    """Both can be asked for at once, with options and fixtures of the names that those plugins have."""
    (desk.place / "lookalike.py").write_text(
        "import pytest\n"
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--base-url', help='as pytest-base-url')\n"
        "    parser.addini('base_url', 'as pytest-base-url')\n"
        "    parser.addoption('--profile', action='store_true', help='as pytest-profiling')\n"
        "    parser.addoption('--profile-svg', action='store_true', help='as pytest-profiling')\n"
        "@pytest.fixture(scope='session')\n"
        "def base_url(): return 'http://elsewhere.example'\n"
    )
    given = ["-p", "lookalike", "--base-url", "http://elsewhere.example", "--profile", "-k", AUTH]
    done = desk.pytest(*given, "--conformance-report-dir", "out", env={"PYTHONPATH": str(desk.place)})
    assert done.code == 3, done.text
    assert run_json(desk.place / "out")["target"] == desk.service.base_url


def test_a_run_has_a_summary_a_report_and_the_suites_exit_code(desk: Desk) -> None:
    """With every plugin that is installed. Filtered, it is incomplete: exit 3, though all that was selected passed."""
    done = desk.pytest("-k", AUTH, "--conformance-report-dir", "out", env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""})
    run = run_json(desk.place / "out")
    assert (done.code, run["verdict"], run["complete"]) == (3, "incomplete", True), done.text
    assert set(checks(run).values()) == {"passed"}
    assert "a filtered run certifies nothing" in done.out
    assert "report: out/report.html" in done.out


@pytest.mark.slow
def test_markers_select_tiers_and_levels(desk: Desk) -> None:
    """`-m "stable and declared"`; nothing has to be registered by the user."""
    done = desk.pytest("-m", "stable and declared", "--collect-only", "-q", "--strict-markers")
    contract = load_contract()
    stable = {operation.id for operation in contract.all if operation.stability == "stable"}
    declared = {check.name for check in all_checks() if contract.requirements[check.requirement].level == "declared"}
    found = re.findall(r"::(\w+)\[(\w+)", done.out)
    assert done.code == 0
    assert found
    assert {operation for _, operation in found} <= stable
    assert {name for name, _ in found} <= declared


@pytest.mark.slow
def test_collecting_sends_nothing_and_leaves_nothing(desk: Desk) -> None:
    """A target need not even be there."""
    nowhere = ["--profile", str(REFERENCE), "--base-url", "http://127.0.0.1:9"]
    done = desk.pytest("--collect-only", "-q", "-k", AUTH, target=nowhere)
    assert done.code == 0, done.text
    assert "check_authentication.py::a_defective_credential_is_answered_401[getApiKeyIdentity-absent]" in done.out
    assert desk.left_behind() == []


@pytest.mark.slow
def test_x_stops_at_the_first_failure(desk: Desk) -> None:
    """What did not run is untested, and what failed is a failure: exit 1."""
    done = desk.pytest("-x", "-k", AUTH, "--conformance-report-dir", "out", prefix="F031")
    run = run_json(desk.place / "out")
    assert (done.code, run["verdict"], run["complete"]) == (1, "nonconformant", False)
    assert "stopping after 1 failures" in run["interrupted"]
    assert "1 failed" in done.out.splitlines()[-1]


@pytest.mark.slow
def test_lf_runs_what_failed_and_only_that(desk: Desk) -> None:
    """The second run is the failures of the first; against a target that is mended they pass, and it is filtered."""
    first = desk.pytest("-k", AUTH, "--conformance-report-dir", "first", prefix="F031")
    failed = {key for key, outcome in checks(run_json(desk.place / "first")).items() if outcome == "failed"}
    second = desk.pytest("--lf", "--conformance-report-dir", "second")
    again = checks(run_json(desk.place / "second"))
    assert (first.code, second.code) == (1, 3), second.text
    assert set(again) == failed
    assert set(again.values()) == {"passed"}
    assert run_json(desk.place / "second")["filtered"]


@pytest.mark.slow
def test_lf_of_the_command_remembers_for_each_profile_apart(desk: Desk) -> None:
    given = ["--report-dir", "first", "-q", "-k", AUTH]
    assert desk.conformance("run", *desk.target("F031"), *given).code == 1
    done = desk.conformance("run", *desk.target("F031"), "-q", "--lf", "--report-dir", "second")
    assert done.code == 1
    assert set(checks(run_json(desk.place / "second")).values()) == {"failed"}


@pytest.mark.slow
def test_the_command_judges_each_item_as_plain_pytest_does(desk: Desk) -> None:
    """It leaves out what pytest does around an item, and nothing of what becomes of it: passed, failed, skipped."""
    told = []
    selected = ["-k", "(AUTH-1 and getApiKeyIdentity) or (BODY-2 and createInstallationWebhook)"]
    for done, name in (
        (desk.pytest(*selected, "--conformance-report-dir", "plain", prefix="F031"), "plain"),
        (desk.conformance("run", *desk.target("F031"), *selected, "-q", "--report-dir", "brief"), "brief"),
    ):
        results = run_json(desk.place / name)["results"]
        told.append((done.code, {(r["check"], r["case"]): (r["outcome"], r["signature"], r["fact"]) for r in results}))
    assert told[0] == told[1]
    assert {"passed", "failed", "inapplicable"} <= {outcome for outcome, _, _ in told[0][1].values()}


@pytest.mark.slow
def test_only_runs_the_item_of_that_name(desk: Desk) -> None:
    """The name is the one that a report shows; `again` in a report is a whole command line with it."""
    desk.conformance("run", *desk.target("F031"), "-q", "-k", AUTH, "--report-dir", "first")
    result = next(r for r in run_json(desk.place / "first")["results"] if r["outcome"] == "failed")
    name = result["reproduce"].split("--only ")[1].strip("'")
    done = desk.conformance("run", *desk.target("F031"), "-q", "--only", name, "--report-dir", "second")
    assert done.code == 1
    assert checks(run_json(desk.place / "second")) == {(result["check"], result["operation"], result["case"]): "failed"}


@pytest.mark.slow
def test_pdb_opens_where_the_result_is_at_hand(desk: Desk) -> None:
    """The frame is the one that holds `result`; leaving the debugger leaves a report and the failure's exit code."""
    process = desk.started(
        desk.pytest_command("--pdb", "-k", AUTH, "--conformance-report-dir", "out", prefix="F031"),
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdin=subprocess.PIPE,
    )
    out, _ = process.communicate("p result.requirement, result.observed\nq\n", timeout=TIMEOUT_S)
    assert "entering PDB" in out
    assert "('AUTH-1', '200')" in out
    assert process.returncode == 1
    assert run_json(desk.place / "out")["verdict"] == "nonconformant"


@pytest.mark.slow
def test_alluredir_and_junitxml_are_written_by_pytests_own_plugins(desk: Desk) -> None:
    """One result an item, the invariants too, and a failure is a failure in each."""
    given = ["-p", "allure_pytest", "--alluredir", "allure", "--junitxml", "junit.xml", "-k", AUTH]
    done = desk.pytest(*given, "--conformance-report-dir", "out", prefix="F031")
    assert done.code == 1, done.text
    allure = [json.loads(path.read_text()) for path in (desk.place / "allure").glob("*-result.json")]
    failed = {key for key, outcome in checks(run_json(desk.place / "out")).items() if outcome == "failed"}
    assert len([result for result in allure if result["status"] in ("failed", "broken")]) == len(failed)
    cases = list(ET.parse(desk.place / "junit.xml").iter("testcase"))
    assert len([case for case in cases if case.find("failure") is not None]) == len(failed)
    assert "a_defective_credential_is_answered_401[getApiKeyIdentity-absent]" in {case.get("name") for case in cases}


@pytest.mark.slow
def test_invariants_show_as_items(desk: Desk) -> None:
    """They are judged on all exchanges at the end, and reported one an operation that was sent anything."""
    done = desk.pytest("-v", "-k", AUTH, "--conformance-report-dir", "out")
    assert "invariants.py::ENV-1[getApiKeyIdentity] PASSED" in done.out
    assert "ENV-1[checkoutPublicCart]" not in done.out
    assert "%]" in done.out and "[1" + "00%]" in done.out


@pytest.mark.slow
def test_tests_of_ones_own_count_too(desk: Desk) -> None:
    """A session that also runs a failing test of its user's does not exit 0, nor does the suite take it for its own."""
    (desk.place / "test_mine.py").write_text("def test_mine():\n    assert False\n")
    done = desk.pytest(
        str(desk.place / "test_mine.py"), "-k", f"({AUTH}) or test_mine", "--conformance-report-dir", "out"
    )
    assert done.code in (1, 3)
    assert "1 failed" in done.out.splitlines()[-1]
    assert "failed" not in checks(run_json(desk.place / "out")).values()


BAD = {
    "no profile": ([], [], 2, ["--conformance-profile"]),
    "profile missing": (["--profile", "nope.toml"], [], 2, ["nope.toml"]),
    "variable without value": (["--profile", "mini.toml", "--var", "x"], [], 2, ["--conformance-var", "NAME=VALUE"]),
    "no number": (["--profile", "mini.toml"], ["--conformance-concurrency", "many"], 2, ["--conformance-concurrency"]),
    "out of bounds": (["--profile", "mini.toml"], ["--conformance-concurrency", "0"], 2, ["from 1 up"]),
    "no profile to collect": ([], ["--collect-only"], 2, ["--conformance-profile"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_its_exit_code(desk: Desk, case: str) -> None:
    target, options, code, words = BAD[case]
    (desk.place / "mini.toml").write_text(
        'name = "mini"\nbase_url = "http://127.0.0.1:9"\n[authorization]\nformat = "Bearer {key}"\n'
    )
    done = desk.pytest(*options, target=target)
    assert done.code == code, done.text
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("Exit: ")
    assert [word for word in words if word not in done.err] == []
    assert desk.left_behind() == ["mini.toml"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("-p", "xdist.plugin", "-n", "2")], ids=["one process", "two"])
def test_an_unreachable_target_is_one_line_and_leaves_reports(desk: Desk, more: tuple[str, ...]) -> None:
    """As with the commands, so that a pipeline which collects them shows why nothing was judged."""
    (desk.place / "mini.toml").write_text(
        'name = "mini"\nbase_url = "http://127.0.0.1:9"\n[authorization]\nformat = "Bearer {key}"\n'
    )
    done = desk.pytest(*more, "--conformance-report-dir", "out", target=["--profile", "mini.toml"])
    assert (done.code, len(done.err.splitlines())) == (4, 1), done.text
    assert "127.0.0.1:9: cannot connect" in done.err
    run = run_json(desk.place / "out")
    assert (run["verdict"], run["complete"], "cannot connect" in run["interrupted"]) == ("incomplete", False, True)
    assert (desk.place / "out" / "junit.xml").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["-k", "no_such_check"], "deselected"),
        (["-k", "and and"], "is not a valid expression"),
        (["-m", "(("], "is not a valid expression"),
    ],
    ids=["matches nothing", "no keyword expression", "no marker expression"],
)
def test_an_empty_selection_is_exit_2(desk: Desk, given: list[str], words: str) -> None:
    """pytest's own exit codes for these would mean `target unreachable` and `the suite erred`."""
    done = desk.pytest(*given)
    assert done.code == 2
    assert words in done.out
    assert desk.left_behind() == []
