"""`conformance demo`: the reference service, certified in one command, and all that it promises looked up."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest

import conformance.reports
from conformance.contract import load_contract
from conformance.journal.lines import json_schema
from tests.support.commands import Desk, Done, checks, journal_lines, run_json, shared_reference

pytestmark = pytest.mark.e2e

REPORTS = {
    "allure-results", "allurerc.json", "ctrf-report.json", "exchanges.har", "journal.ndjson", "junit.xml",
    "report.html", "report.sarif", "run.json", "summary.md",
}  # fmt: skip


@dataclass(frozen=True)
class Demo:
    """One whole run, and what lies in its folder."""

    done: Done
    place: Path
    run: dict[str, Any]
    journal: list[dict[str, Any]]

    def lines(self, kind: str) -> list[dict[str, Any]]:
        return journal_lines(self.place, kind)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    desk = Desk(tmp_path_factory.mktemp("demo"), shared_reference())
    done = desk.conformance("demo")
    (place,) = (desk.place / "reports").iterdir()
    lines = [json.loads(line) for line in (place / "journal.ndjson").read_text().splitlines()]
    return Demo(done, place, run_json(place), lines)


def test_the_reference_is_conformant(demo: Demo) -> None:
    """Exit 0, every check ran, and nothing that the interface requires stayed open."""
    assert (demo.done.code, demo.done.err) == (0, ""), demo.done.text
    assert (demo.run["verdict"], demo.run["complete"], demo.run["filtered"]) == ("conformant", True, False)
    assert {tier["verdict"] for tier in demo.run["tiers"].values()} == {"conformant"}
    assert len(checks(demo.run)) >= 400
    undecided = ("inconclusive", "untested", "failed", "broken")
    assert [r for r in demo.run["results"] if r["level"] == "required" and r["outcome"] in undecided] == []


def test_public_operations_are_called_without_credentials(demo: Demo) -> None:
    """Everywhere but in the checks that are about a credential on them."""
    public = {operation.id for operation in load_contract().select("public")}
    sent = [line for line in demo.lines("exchange") if line["operation"] in public]
    named = {name.lower() for line in sent for name, _ in line["request"]["headers"]}
    keyed = [line for line in sent if any(name.lower() == "authorization" for name, _ in line["request"]["headers"])]
    assert {line["check"].partition("[")[0] for line in keyed} == {
        "check_public::a_bogus_credential_on_a_public_operation_is_recorded",
        "check_public::a_key_of_few_scopes_is_no_obstacle",
        "check_authorization::a_public_operation_treats_a_bad_credential_as_stated",
        "check_idempotency::a_header_that_is_ignored_makes_no_other_call",
    }
    assert len(sent) > 500
    assert "accept" in named
    with_key = {line["check"].partition("[")[0] for line in sent if line["credential"]}
    assert with_key == {"check_public::a_key_of_few_scopes_is_no_obstacle"}


def test_it_says_how_far_it_is_and_where_the_report_lies(demo: Demo) -> None:
    """One line at the start, one every few seconds, then the verdict, and the report's path last."""
    lines = demo.done.out.splitlines()
    number = f"{len(checks(demo.run)):,}"
    assert re.fullmatch(
        rf"target http://127\.0\.0\.1:\d+, profile reference: {number} checks, at most 16 concurrent requests", lines[0]
    )
    assert any(re.fullmatch(rf"  [\d,]+/{number} checks, [\d,]+ requests.*, \d+ s", line) for line in lines)
    verdict = next(number for number, line in enumerate(lines) if line.startswith("✓ CONFORMANT"))
    assert all(line.startswith(("target", "  ")) for line in lines[:verdict])
    total = len(demo.run["results"])
    assert f"  {total:,} results of {number} checks and {total - len(checks(demo.run))} invariants: " in demo.done.out
    assert lines[-1] == f"report: reports/{demo.place.name}/report.html"
    assert re.fullmatch(r"reference-\d{8}-\d{6}", demo.place.name)


def test_every_operation_is_exercised_and_nearly_every_answer_seen(demo: Demo) -> None:
    """Of the 20 x 7 cells, those that were not seen have their reason."""
    contract = load_contract()
    coverage, reasons = demo.run["coverage"], demo.run["coverage_reasons"]
    statuses = ("200", "400", "401", "403", "404", "409", "429")
    assert set(coverage) >= {operation.id for operation in contract.all}
    assert [operation for operation, seen in coverage.items() if not seen.get("200")] == []
    cells = [(operation.id, status) for operation in contract.all for status in statuses]
    seen = [(operation, status) for operation, status in cells if coverage[operation].get(status)]
    assert len(cells) == 140
    assert len(seen) >= 95
    assert [cell for cell in set(cells) - set(seen) if not reasons.get(cell[0], {}).get(cell[1])] == []


def test_every_report_is_there_and_what_is_published_as_a_schema_holds(demo: Demo) -> None:
    """Of `run.json`, and of each line of the journal."""
    assert {path.name for path in demo.place.iterdir()} == REPORTS
    schema = json.loads(Path(conformance.reports.__file__).with_name("run.schema.json").read_text())
    jsonschema_rs.validator_for(schema).validate(demo.run)
    line = jsonschema_rs.validator_for(json_schema())
    assert [error.message for one in demo.journal for error in line.iter_errors(one)] == []


def test_the_journal_makes_the_same_run_again(demo: Demo, tmp_path: Path) -> None:
    """The journal is the truth: alone, in another folder, it makes the same files."""
    place = tmp_path / "reports" / "copy"  # beside no other run, with which the page would compare it
    place.mkdir(parents=True)
    shutil.copy(demo.place / "journal.ndjson", place)
    done = Desk(place, shared_reference()).conformance("report", ".")
    assert done.code == 0
    for name in ("run.json", "report.html", "junit.xml", "summary.md"):
        assert (place / name).read_bytes() == (demo.place / name).read_bytes(), name


def test_the_journals_counts_add_up(demo: Demo) -> None:
    """Every planned check has one result, every exchange is counted once, and each result's evidence exists."""
    kinds = Counter(line["kind"] for line in demo.journal)
    assert demo.journal[0]["kind"] == "run"
    assert demo.journal[-1]["kind"] == "end"
    assert (kinds["run"], kinds["end"]) == (1, 1)
    planned = {(p["check"], p["operation"], p["case"]) for p in demo.journal[0]["planned"]}
    told = [(line["check"], line["operation"], line["case"]) for line in demo.lines("result")]
    assert len(told) == len(set(told)) == len(planned)
    assert set(told) == planned == set(checks(demo.run))
    exchanges = demo.lines("exchange")
    assert kinds["exchange"] == demo.run["traffic"]["requests"] == sum(demo.run["traffic"]["by_operation"].values())
    assert sum(demo.run["counts"].values()) == len(demo.run["results"])
    ids = {exchange["id"] for exchange in exchanges}
    assert len(ids) == len(exchanges)
    assert {cited for result in demo.run["results"] for cited in result["exchanges"]} <= ids
    answered = Counter(
        (e["operation"], str(e["status"]))
        for e in exchanges
        if e["status"] is not None and e["operation"] in demo.run["coverage"]
    )
    assert answered == {(op, status): n for op, seen in demo.run["coverage"].items() for status, n in seen.items() if n}


@pytest.mark.slow
def test_no_credential_is_in_any_file(tmp_path: Path) -> None:
    """Not as it is, not URL-encoded, not in base64: of a run whose keys are known, every file is searched."""
    service = shared_reference()
    desk = Desk(tmp_path, service)
    selection = "check_authentication or check_scopes or check_oauth or getApiKeyIdentity"
    done = desk.conformance("run", *desk.target("F031"), "-k", selection, "--report-dir", "out")
    assert done.code == 1
    spellings = {form for secret in service.environment.values() for form in spelt(secret)}
    texts = {path.name: path.read_text() for path in files(tmp_path / "out")} | {"the terminal": done.text}
    assert len(texts) > 10
    assert [name for name, text in texts.items() for form in spellings if form in text] == []


def files(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_file())


def spelt(secret: str) -> set[str]:
    """A secret in the forms in which a careless report holds it; base64 at each of the three offsets."""
    found = {secret, quote(secret, safe=""), secret.removeprefix("sk_")}
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + secret.encode()).decode().rstrip("=")
        found.add(text[4:-2])
        found.add(text[4:-2].replace("+", "-").replace("/", "_"))
    return {form for form in found if len(form) >= 12}
