"""Every format is a pure function of the run, found by its file, bounded, valid, and read by its consumers."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections import Counter
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree as ET

import pytest

from conformance import reports
from conformance.core.errors import ConformanceError, ReportDirError, UsageError
from conformance.core.model import Run, Waiver
from conformance.core.outcomes import Outcome, Verdict
from conformance.reports import FORMATS, allure, ctrf, har, junit, summary, write_reports
from conformance.reports.shaping.bounded_run import bound_texts
from conformance.reports.terminal import summary as rich_summary
from conformance.reports.terminal import summary_lines
from tests.support.runs import OPERATIONS, PAYLOADS, exchange, result, run_of
from tests.support.values import replace

SECRET_FREE = ("allure", "ctrf", "har", "html", "junit", "runjson", "sarif", "summary")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, small: Run) -> Path:
    directory = tmp_path_factory.mktemp("small")
    write_reports(small, directory)
    return directory


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory, hostile: Run) -> Path:
    directory = tmp_path_factory.mktemp("hostile")
    write_reports(hostile, directory)
    return directory


def test_a_format_is_a_file_of_the_package() -> None:
    """Whatever module can write a file is offered, and nothing else is."""
    files = {path.stem for path in Path(reports.__file__).parent.glob("*.py")} - {"__init__", "terminal"}
    assert set(FORMATS) == files == set(SECRET_FREE)


def test_formats_are_imported_on_use(small: Run, tmp_path: Path) -> None:
    """Asking for one format writes one file."""
    assert write_reports(small, tmp_path / "new", ["junit", "junit"]) == [tmp_path / "new" / "junit.xml"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["junit.xml"]


def test_rendering_twice_gives_the_same_bytes(small: Run, written: Path, tmp_path: Path) -> None:
    """A report depends on the run and on nothing else: no clock, no random name inside."""
    write_reports(small, tmp_path)
    for path in sorted(tmp_path.glob("*.*")):
        assert path.read_bytes() == (written / path.name).read_bytes(), path.name
    assert cases(tmp_path) == cases(written)


def test_one_failing_format_leaves_the_others_be(small: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what failed; the rest is there."""

    def fail(run: Run, directory: Path) -> Path:
        raise OSError("disk full")

    changed = {"ctrf": fail, **{name: FORMATS[name] for name in ("junit", "summary")}}
    monkeypatch.setattr(reports, "FORMATS", MappingProxyType(changed))
    with pytest.raises(ConformanceError, match="ctrf: OSError: disk full"):
        write_reports(small, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"junit.xml", "summary.md"}


def test_an_unknown_format_is_refused_with_the_nearest(small: Run, tmp_path: Path) -> None:
    """Before anything is written."""
    with pytest.raises(UsageError, match="did you mean 'junit'"):
        write_reports(small, tmp_path / "x", ["html", "juni"])
    assert not (tmp_path / "x").exists()


def test_a_directory_that_cannot_be_is_refused(small: Run, tmp_path: Path) -> None:
    """As a ReportDirError, which exits with 2."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ReportDirError):
        write_reports(small, tmp_path / "file" / "reports")


def test_every_file_of_a_hostile_run_is_strict_utf8_and_bounded(attacked: Path) -> None:
    """Surrogates, NULs and megabytes from the target break no file."""
    for path in (p for p in attacked.rglob("*") if p.is_file()):
        text = path.read_bytes().decode("utf-8", "strict")
        assert len(text) < 1_500_000, path.name
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text), path.name


@pytest.mark.parametrize("name", ["small", "hostile"])
def test_junit_is_read_by_a_consumer(name: str, request: pytest.FixtureRequest) -> None:
    """junitparser, which CI actions are built on, counts what the run counted."""
    needed = importlib.import_module if os.environ.get("CI") == "true" else pytest.importorskip
    parser = needed("junitparser")
    run: Run = request.getfixturevalue(name)
    read = parser.JUnitXml.fromstring(junit.render(run).encode())
    seen = Counter(kind(case) for suite in read for case in suite)
    verdicts = Counter(tier.verdict for tier in run.tiers.values())
    gaps = sum(result.keeps_open for result in run.results)
    assert seen["Failure"] == run.counts["failed"] + verdicts[Verdict.NONCONFORMANT]
    assert seen["Error"] == run.counts.get("broken", 0) + gaps + verdicts[Verdict.BROKEN]
    assert seen["passed"] == run.counts.get("passed", 0) + run.counts.get("warned", 0)
    read.update_statistics()
    assert read.tests == len(run.results) + len(run.tiers)


def kind(case: object) -> str:
    outcomes = list(case.result)  # type: ignore[attr-defined]
    return type(outcomes[0]).__name__ if outcomes else "passed"


def test_junit_holds_what_the_schema_of_jenkins_demands(small: Run) -> None:
    """Attributes and order of children as the xunit plugin's junit-10.xsd has them."""
    root = ET.fromstring(junit.render(small).partition("\n")[2])
    order = ["properties", "skipped", "error", "failure", "system-out", "system-err"]
    for case in root.iter("testcase"):
        assert {"name", "classname", "time"} <= set(case.attrib)
        places = [order.index(child.tag) for child in case]
        assert places == sorted(places)
    for suite in root.iter("testsuite"):
        assert {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"} <= set(suite.attrib)
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    assert len(list(root.iter("failure"))) == 5 + 2


def test_junit_never_counts_the_unjudged_as_passed(small: Run) -> None:
    """What keeps the verdict open is an error, with the fact that is missing; what is inapplicable is skipped."""
    root = ET.fromstring(junit.render(small).partition("\n")[2])
    skipped = [one.attrib["message"] for one in root.iter("skipped")]
    errors = [one.attrib["message"] for one in root.iter("error")]
    assert sum(m.startswith("inconclusive: ") for m in errors) == 7
    assert any("enabled by the profile key fixtures.foreign" in m for m in errors)
    assert any("inapplicable: excluded by the profile (rate_limit)" in m for m in skipped)
    assert any(m.startswith("waived until 2026-01-31 by team-edge (EDGE-41): the gateway") for m in skipped)


@pytest.mark.parametrize(
    ("outcome", "tag"),
    [
        (Outcome.PASSED, None),
        (Outcome.FAILED, "failure"),
        (Outcome.UNSTATED, "error"),
        (Outcome.INCONCLUSIVE, "error"),
        (Outcome.BROKEN, "error"),
    ],
)
def test_machines_find_the_verdict_of_a_tier_as_a_test_case(outcome: Outcome, tag: str | None) -> None:
    """One case a tier, which passes only where the tier is conformant; in JUnit and in CTRF."""
    passed = [result("VER-1", name, Outcome.PASSED) for name in ("getApiKeyIdentity", "quotePublicCart")]
    run = run_of([*passed, result("AUTH-1", "getApiKeyIdentity", outcome)])
    root = ET.fromstring(junit.render(run).partition("\n")[2])
    cases = {case.attrib["name"]: case for case in root.iter("testcase") if case.attrib["classname"] == "verdict"}
    assert set(cases) == {"stable is conformant", "candidate is conformant"}
    found = [child.tag for child in cases["stable is conformant"] if child.tag != "system-out"]
    assert found == ([tag] if tag else [])
    assert not [child.tag for child in cases["candidate is conformant"] if child.tag != "system-out"]
    tests = {test["name"]: test for test in ctrf.to_json(run)["results"]["tests"]}
    assert tests["verdict stable is conformant"]["status"] == ("failed" if tag else "passed")
    assert run.tiers["stable"].scope.summary in tests["verdict stable is conformant"]["message"]


def test_ctrf_has_the_members_that_the_specification_requires(small: Run) -> None:
    """Tool, summary whose counts add up, and of each test name, status and duration."""
    report = ctrf.to_json(small)["results"]
    assert report["tool"]["name"]
    counts = report["summary"]
    assert (
        counts["tests"]
        == len(report["tests"])
        == sum(counts[s] for s in ("passed", "failed", "skipped", "pending", "other"))
    )
    assert counts["stop"] - counts["start"] == 60_000
    for test in report["tests"]:
        assert test["name"]
        assert test["status"] in ("passed", "failed", "skipped", "pending", "other")
        assert isinstance(test["duration"], int)
        assert set(test) <= {
            "id",
            "name",
            "status",
            "duration",
            "rawStatus",
            "message",
            "trace",
            "suite",
            "tags",
            "extra",
        }
    assert len({test["id"] for test in report["tests"]}) == len(small.results) + len(small.tiers)


def cases(directory: Path) -> list[dict[str, object]]:
    files = (directory / allure.FOLDER).glob("*-result.json")
    return sorted((json.loads(path.read_text(encoding="utf-8")) for path in files), key=lambda case: str(case["uuid"]))


def test_allure_results_are_complete_and_join_histories(small: Run, written: Path) -> None:
    """One case a result, unique history ids, labels for requirement, operation and tier, attachments that exist."""
    found = cases(written)
    assert len(found) == len({c["historyId"] for c in found}) == len(small.results)
    for case in found:
        labels = {label["name"] for label in case["labels"]}  # type: ignore[attr-defined]
        assert {"epic", "feature", "story", "requirement", "operation", "tier", "severity"} <= labels
        for attachment in case.get("attachments", []):  # type: ignore[attr-defined]
            assert (written / allure.FOLDER / attachment["source"]).is_file()
    invariant = next(c for c in found if str(c["fullName"]).startswith("invariant::ERR-1"))
    assert invariant["statusDetails"]["known"] is True  # type: ignore[index]


def test_har_is_json_whatever_an_exchange_holds(tmp_path: Path) -> None:
    """Lone surrogates too, which no journal has, beside headers that many exchanges share."""
    plain = exchange("x1", OPERATIONS[0])
    odd = replace(plain, url="http://a/\ud800?q=\u202e", request=replace(plain.request, body="\udfff"))
    har.write_file(replace(run_of([]), exchanges=(odd, plain)), tmp_path)
    text = (tmp_path / har.FILE).read_text(encoding="utf-8")
    first, second = json.loads(text)["log"]["entries"]
    assert "\u202e" not in text
    assert first["request"]["postData"]["text"] == "\ufffd"
    assert second["response"]["headers"] == first["response"]["headers"]


def test_texts_are_bounded_once_for_all_formats(small: Run) -> None:
    """What is bounded already is the same value."""
    bounded = bound_texts(
        replace(
            small, results=(*small.results, result("LONG", "getApiKeyIdentity", Outcome.FAILED, message="m" * 10_000))
        )
    )
    assert bound_texts(bounded) is bounded
    assert len(bounded.results[-1].message) < 10_000
    assert len(set(bounded.names)) == len(bounded.results)


def test_har_holds_every_exchange_and_is_har_1_2(small: Run, written: Path) -> None:
    """The members that the HAR 1.2 specification requires of log, entry, request and response."""
    log = json.loads((written / har.FILE).read_text(encoding="utf-8"))["log"]
    assert log["version"] == "1.2"
    assert len(log["entries"]) == len(small.exchanges)
    for entry in log["entries"]:
        assert {"startedDateTime", "time", "request", "response", "cache", "timings"} <= set(entry)
        assert {"method", "url", "httpVersion", "cookies", "headers", "queryString"} <= set(entry["request"])
        assert {"status", "statusText", "content", "redirectURL", "headersSize"} <= set(entry["response"])


def test_sarif_is_read_by_a_consumer(small: Run, written: Path) -> None:
    """sarif-tools counts what failed and what was warned; a waived failure is suppressed, not gone."""
    from sarif.loader import load_sarif_file

    told = load_sarif_file(str(written / "report.sarif"))
    found = Counter(cause.outcome for cause in small.causes)
    by_level = Counter(result["level"] for result in told.get_results())
    assert by_level == {"error": found[Outcome.FAILED], "warning": found[Outcome.WARNED]}
    log = json.loads((written / "report.sarif").read_text())["runs"][0]
    rules = [rule["id"] for rule in log["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in log["results"])
    assert sum("suppressions" in result for result in log["results"]) == 1
    prints = [result["partialFingerprints"]["conformanceCause/v1"] for result in log["results"]]
    assert len(set(prints)) == len(prints)


def test_the_summary_tells_verdict_clause_evidence_and_command(small: Run) -> None:
    """What a reviewer needs without opening anything."""
    text = summary.render(small)
    statement = "A request whose authentication fails is answered 401"
    for needed in ("# ✕ Nonconformant", statement, "`401 with PublicErrorResponse`"):
        assert needed in text
    assert "conformance run --profile profiles/staging.toml" in text
    assert "4 checks could not be judged because of it" in text
    assert "`a fixture is needed: state fixtures.foreign`" in text


def test_the_summary_obeys_no_markup_of_the_target(hostile: Run) -> None:
    """Rendered by a CommonMark implementation, the text yields no tag, link, or heading of its own."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"html": True, "linkify": False})
    tokens = markdown.parse(summary.render(hostile))
    inline = [child for token in tokens for child in token.children or []]
    kinds = {token.type for token in tokens + inline}
    assert not kinds & {"html_inline", "link_open", "image"}
    blocks = {token.content.strip() for token in tokens if token.type == "html_block"}
    assert all(re.fullmatch(r"<details><summary>[\w ,-]+</summary>|</details>", text) for text in blocks), blocks
    headings = [
        tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h1"
    ]
    assert len(headings) == 1
    assert headings[0].startswith("! Broken: ")
    assert len(summary.render(hostile)) < 200_000


def test_the_summary_fits_a_job_page(big: Run) -> None:
    """GitHub refuses more than a mebibyte; a reader tires sooner."""
    assert len(summary.render(big).encode()) <= summary.LIMIT


def test_the_summary_of_ten_faults_fits_into_20_kilobytes() -> None:
    """23 causes on 20 operations, each with an exchange: all are named, the exchanges are folded, and fewer of them."""
    statuses = [str(status) for status in range(401, 424)]
    exchanges = [exchange(f"x{n}", OPERATIONS[n % 20], int(status)) for n, status in enumerate(statuses)]
    failed = [
        result(
            "AUTH-1" if n % 2 else "IDEM-1", operation.id, Outcome.FAILED,
            message=f"a changed payload under a used key was answered {status} and took effect; " + "m" * 300,
            expected="409 " + "e" * 196, observed=status, exchanges=(f"x{n}",), case=f"{status} case",
        )
        for n, status in enumerate(statuses) for operation in OPERATIONS
    ]  # fmt: skip
    run = run_of(failed, exchanges)
    text = summary.render(run)
    assert len(run.causes) == 23
    assert text.count("### ✕ ") == 23
    assert len(text.encode()) <= summary.LIMIT
    assert 0 < text.count("<summary>Exchange") == text.count("~~~text")
    assert text.count("<details>") == text.count("</details>")


def test_the_exchange_of_every_cause_is_folded(small: Run) -> None:
    """In a small run each cause has it; what is not folded is read at once: title, clause, places, command."""
    text = summary.render(small)
    visible = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert text.count("<summary>Exchange") == 2
    assert "~~~text" not in visible
    assert "curl -sS" not in visible
    assert visible.count("~~~sh\nconformance run") == 3


@pytest.mark.parametrize("name", ["small", "big", "hostile"])
def test_the_terminal_gets_nothing_to_obey(name: str, request: pytest.FixtureRequest) -> None:
    """No escape sequence of the target reaches the terminal, in lines or in colours."""
    run: Run = request.getfixturevalue(name)
    lines = summary_lines(run)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "".join(lines))
    assert rich_summary(run).plain == "".join(line + "\n" for line in lines)
    assert len(lines) < 400


def test_the_terminal_tells_cause_clause_and_command(small: Run) -> None:
    """And what fact would enable what was inapplicable."""
    text = "\n".join(summary_lines(small))
    for needed in (
        "AUTH-1: A request whose authentication fails is answered 401.",
        "Instead: a request without a credential was served",
        "expected  401",
        "observed  200",
        "conformance run",
    ):
        assert needed in text
    assert "8 unstated" in text
    verbose = "\n".join(summary_lines(small, verbose=True))
    assert "8 unstated, keeps the verdict open: a fixture is needed: state fixtures.foreign (TEN-1)" in verbose


def test_the_terminal_says_which_waivers_have_expired() -> None:
    """With its last day, and who answers for it; one that holds is not named so."""
    waivers = [
        Waiver("RATE-2", "a gateway", "edge", "EDGE-12", "2025-10-01", "quotePublicCart", state=s)
        for s in ("expired", "unneeded")
    ]
    expired, unneeded = ("\n".join(summary_lines(run_of([], waivers=(waiver,)))) for waiver in waivers)
    assert "The waiver of RATE-2 on quotePublicCart expired on 2025-10-01 (edge, EDGE-12)" in expired
    assert "RATE-2" not in unneeded


def test_an_empty_run_is_written_in_every_format(tmp_path: Path) -> None:
    """A run killed at its start has a report too."""
    empty = replace(run_of([], requirements=(), operations=()), started_at="", finished_at="", interrupted="SIGINT")
    assert len(write_reports(empty, tmp_path)) == len(FORMATS)
    assert "  no results" in summary_lines(empty)


def test_the_payloads_reach_every_report(attacked: Path) -> None:
    """The hostile run is hostile indeed: its text is in each format, disarmed."""
    for name in ("run.json", "junit.xml", "summary.md", "report.html", "ctrf-report.json", "exchanges.har"):
        assert "window.pwned" in (attacked / name).read_text(encoding="utf-8"), name
    assert len(PAYLOADS) == 16


def test_a_cause_is_located_at_the_lines_that_it_is_about(small: Run, written: Path) -> None:
    """Of the profile, by key; the first place also names the operations."""
    found = json.loads((written / "report.sarif").read_text())["runs"][0]["results"]
    places = {cause.signature: cause.places for cause in small.causes}
    assert any(places.values())
    for one in found:
        stated = places[one["partialFingerprints"]["conformanceCause/v1"]]
        lines = [place["physicalLocation"]["region"]["startLine"] for place in one["locations"]]
        assert lines == [place.line for place in stated]
        assert [place["message"]["text"] for place in one["locations"]] == [place.key for place in stated]
        assert "logicalLocations" in one["locations"][0]
