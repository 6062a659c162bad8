"""Strict public readers accept every file: JUnit's two schemas, sarif-multitool, ctrf, har-validator, redocly, and
spectral.

VALIDATORS names a folder with npm's `node_modules` and the two schemas (see `.ci/validators`); without it these tests
are skipped, with CI=true that is a failure.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.reports import ctrf, har, junit, sarif
from tests.support.paths import PROFILES
from tests.support.runs import result, run_of
from tests.support.strict_readers import (
    JUNIT_SCHEMAS,
    errors_of_run,
    judge_all,
    junit_errors,
    make_five_runs,
    npm_errors,
    sarif_errors,
)
from tests.support.values import replace


@pytest.fixture(scope="module")
def validators() -> Path:
    folder = os.environ.get("VALIDATORS")
    if not folder:
        assert not os.environ.get("CI"), "VALIDATORS must name the folder of `.ci/validators` where CI is set"
        pytest.skip("VALIDATORS does not name the folder that `.ci/validators` fills")
    return Path(folder)


def _runs(small: Run) -> Iterator[tuple[str, Run]]:
    """A run for each verdict, and one that was cut short."""
    names = ("getApiKeyIdentity", "quotePublicCart")
    passed = [result("VER-1", name, Outcome.PASSED) for name in names]
    yield "conformant", run_of(passed)
    yield "incomplete", run_of([*passed, result("AUTH-1", names[0], Outcome.UNSTATED, fact="credentials")])
    yield "failed", run_of([*passed, result("AUTH-1", names[0], Outcome.FAILED, observed="200", signature="a" * 12)])
    yield "many", small
    yield "interrupted", replace(small, interrupted="SIGINT", complete=False)


@pytest.fixture(params=["conformant", "incomplete", "failed", "many", "interrupted", "hostile"])
def run(request: pytest.FixtureRequest, small: Run, hostile: Run) -> Run:
    return {**dict(_runs(small)), "hostile": hostile}[request.param]


@pytest.mark.parametrize("schema", JUNIT_SCHEMAS)
def test_junit_is_valid(validators: Path, run: Run, schema: str, tmp_path: Path) -> None:
    """For the schema of Jenkins' xUnit plugin, and for that of Apache Ant's reports."""
    pytest.importorskip("lxml.etree")
    assert junit_errors(validators, junit.write_file(run, tmp_path), schema) == []


def test_sarif_multitool_finds_no_error(validators: Path, run: Run, tmp_path: Path) -> None:
    """With the rules of SARIF and those of GitHub; a warning is not an error."""
    assert sarif_errors(validators, sarif.write_file(run, tmp_path), tmp_path) == []


@pytest.mark.parametrize(("reader", "write"), [("ctrf", ctrf.write_file), ("har-validator", har.write_file)])
def test_a_reader_of_npm_accepts_the_file(
    validators: Path, run: Run, tmp_path: Path, reader: str, write: Callable[[Run, Path], Path]
) -> None:
    """The validators of the formats' own packages."""
    assert npm_errors(validators, write(run, tmp_path), reader) == []


@pytest.mark.slow
def test_real_runs_have_no_error(validators: Path, tmp_path: Path) -> None:
    """Five: conformant, incomplete, one fault, ten faults, interrupted; all their files, and all readers."""
    pytest.importorskip("lxml.etree")
    lines: list[str] = []
    assert judge_all(validators, make_five_runs(tmp_path), tmp_path, lines.append) == 0, "\n".join(lines)
    assert len(lines) == 5 * 5 + 1


def test_a_wrong_file_has_errors(validators: Path, tmp_path: Path) -> None:
    """The readers' answers are read: each finds one in a file that is not a report."""
    pytest.importorskip("lxml.etree")
    (tmp_path / "junit.xml").write_text("<testsuite><testcase/><nonsense/></testsuite>")
    for name in ("report.sarif", "ctrf-report.json", "exchanges.har"):
        (tmp_path / name).write_text('{"version": "2.1.0", "runs": [{"tool": {}}], "log": {}}')
    found = dict(errors_of_run(validators, tmp_path, tmp_path))
    assert [reader for reader, errors in found.items() if not errors] == []


@pytest.fixture(params=["contract", "reference", "guides/heron", "guides/kestrel"])
def openapi(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a file in `tmp_path`: the OpenAPI document, or one with a profile filled in."""
    file = tmp_path / "openapi.yaml"
    if request.param == "contract":
        file.write_bytes((resources.files("conformance.contract") / "openapi.yaml").read_bytes())
    else:
        profile = str(PROFILES / f"{request.param}.toml")
        outcome = CliRunner().invoke(main, ["openapi", "--profile", profile, "-o", str(file)])
        assert outcome.exit_code == 0, outcome.output
    return file.name


def test_redocly_finds_nothing(validators: Path, openapi: str, tmp_path: Path) -> None:
    """No error and no warning under its recommended rules."""
    quiet = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    command = [str(validators / "node_modules/.bin/redocly"), "lint", "--format=json", openapi]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=quiet, timeout=120)
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert report["problems"] == []
    assert report["totals"]["errors"] == report["totals"]["warnings"] == 0


def test_spectral_finds_no_error(validators: Path, openapi: str, tmp_path: Path) -> None:
    """Under its rules for OpenAPI, and no warning but one, which does not know OpenAPI 3.1.

    The requirements of an API key may list names of roles there (Security Requirement Object); the rule looks for them
    among the scopes that only OAuth has.
    """
    (tmp_path / "ruleset.yaml").write_text('extends: ["spectral:oas"]\n')
    tool = str(validators / "node_modules/.bin/spectral")
    command = [tool, "lint", openapi, "--ruleset", "ruleset.yaml", "--format", "json", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    found = json.loads(done.stdout)
    assert [one for one in found if one["severity"] == 0] == [], done.stderr
    assert {one["code"] for one in found} <= {"oas3-operation-security-defined"}
