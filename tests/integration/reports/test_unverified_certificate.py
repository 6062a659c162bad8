"""A run that did not verify the target's certificate says so wherever it says its verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.core.run_options import RunOptions
from conformance.decisions import certificate, gate_report
from conformance.decisions.gate import Policy, decide
from conformance.engine.options import RunPart
from conformance.engine.run_head import run_head
from conformance.engine.session import Session
from conformance.judge.assemble import assemble
from conformance.judge.scope import UNVERIFIED
from conformance.reports import write_reports
from conformance.reports.terminal import summary_lines, verdict_line
from tests.support import journals
from tests.support.runs import result, run_of
from tests.unit.decisions.test_certificate import PRIVATE, TODAY

FILES = ("run.json", "report.html", "summary.md", "junit.xml", "ctrf-report.json")


def conformant(*, unverified: bool) -> Run:
    names = ("getApiKeyIdentity", "quotePublicCart")
    return run_of([result("AUTH-1", name, Outcome.PASSED) for name in names], unverified=unverified)


@pytest.mark.parametrize("unverified", [True, False])
def test_every_report_says_it(unverified: bool, tmp_path: Path) -> None:
    run = conformant(unverified=unverified)
    write_reports(run, tmp_path)
    said = {name: UNVERIFIED in (tmp_path / name).read_text(encoding="utf-8") for name in FILES}
    assert said == dict.fromkeys(FILES, unverified)
    assert (UNVERIFIED in verdict_line(run)) is (UNVERIFIED in "\n".join(summary_lines(run))) is unverified
    assert json.loads((tmp_path / "run.json").read_bytes())["unverified"] is unverified
    assert ('<property name="certificate"' in (tmp_path / "junit.xml").read_text(encoding="utf-8")) is unverified


def test_gate_and_certificate_say_it(tmp_path: Path) -> None:
    """What is signed holds it too."""
    run = conformant(unverified=True)
    write_reports(run, tmp_path, ["runjson"])
    (tmp_path / "journal.ndjson").write_text('{"kind":"run"}\n{"kind":"end"}\n')
    assert UNVERIFIED in gate_report.answer(decide(run, Policy(), today=TODAY), run)
    signed = certificate.create_certificate(run, tmp_path, PRIVATE, tier="all", today=TODAY, days=90)
    assert UNVERIFIED in certificate.read_certificate(signed).scope


def test_the_judge_takes_it_from_the_journal() -> None:
    """For the whole interface and for each tier."""
    run = assemble(journals.journal([journals.exchange(1)], end=journals.END, unverified=True))
    assert run.unverified
    assert all(scope.summary.endswith(UNVERIFIED) for scope in (run.scope, *(t.scope for t in run.tiers.values())))


@pytest.mark.parametrize(
    ("url", "verify", "unverified"),
    [
        ("https://shop.example", "false", True),
        ("https://shop.example", "true", False),
        ("http://shop.example", "false", False),
    ],
)
def test_it_is_about_a_target_that_has_a_certificate(url: str, verify: str, unverified: bool, tmp_path: Path) -> None:
    """Over http there is none to verify."""
    path = tmp_path / "p.toml"
    path.write_text(f'name = "p"\nbase_url = "{url}"\nauthorization.format = "Bearer {{key}}"\ntls.verify = {verify}\n')
    session = Session(RunOptions(profile=path), RunPart(dry_run=True))
    assert run_head(session, (), "", ()).unverified is unverified
