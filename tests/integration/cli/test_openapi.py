"""`conformance openapi` writes a document that other tools run on: schemathesis, Prism and Specmatic.

VALIDATORS names a folder with Prism and Specmatic's jar (see `.ci/validators`); without it, or without Java, the tests
of these are skipped; with CI=true that is a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml
from click.testing import CliRunner

from conformance.cli import main
from conformance.contract import load_contract
from conformance.runner.embedded_reference import EmbeddedReference
from tests.support.commands import wait_until
from tests.support.paths import PROFILES

pytestmark = pytest.mark.e2e

CREATE = "/api/v1/open/webhooks/endpoints"
KEY = "6f1c1c5e-3c4b-4f0a-9d55-0a3e5b0c7a11"
WEBHOOK = {"url": "https://hooks.example/a", "events": ["cart.revoked"]}


def _written(folder: Path, *options: str, name: str = "openapi.json") -> Path:
    file = folder / name
    command = ["openapi", "--profile", str(PROFILES / "reference.toml"), *options, "-o", str(file)]
    outcome = CliRunner().invoke(main, command)
    assert (outcome.exit_code, outcome.output) == (0, "")
    return file


def _tool(*places: str) -> Path:
    """A file below VALIDATORS, or the reason why the test is skipped."""
    folder = os.environ.get("VALIDATORS", "")
    file = Path(folder, *places)
    missing = "VALIDATORS is not set" if not folder else "" if file.exists() else f"{file.name} is not in VALIDATORS"
    if not missing and file.suffix == ".jar" and shutil.which("java") is None:
        missing = "there is no java"
    if missing:
        assert not os.environ.get("CI"), missing
        pytest.skip(f"{missing}; `.ci/validators` fills that folder")
    return file


@contextmanager
def _mock(command: list[str], folder: Path, port: int) -> Iterator[httpx.Client]:
    """A tool that answers as the document says."""
    with (folder / "printed.txt").open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
                wait_until(lambda: _answers(client), process)
                yield client
        finally:
            process.terminate()
            process.wait(timeout=30)


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/api/v1/runtime-config").status_code == 200
    except httpx.TransportError:
        return False


def _expect_the_contract(client: httpx.Client) -> None:
    """A good call is answered by its schema; one without a member, and one without the key, are refused."""
    headers = {"Authorization": "Bearer x", "Idempotency-Key": KEY}
    good = client.post(CREATE, json=WEBHOOK, headers=headers)
    assert (good.status_code, list(good.json())) == (200, ["data"]), good.text
    assert client.post(CREATE, json={"url": WEBHOOK["url"]}, headers=headers).status_code >= 400
    assert client.post(CREATE, json=WEBHOOK, headers={"Authorization": "Bearer x"}).status_code >= 400


def test_json_yaml_and_standard_output_are_the_same_document(tmp_path: Path) -> None:
    """The ending of the file's name decides; without a file it is JSON."""
    printed = CliRunner().invoke(main, ["openapi", "--profile", str(PROFILES / "reference.toml")]).output
    as_json = json.loads(_written(tmp_path).read_text(encoding="utf-8"))
    as_yaml = yaml.safe_load(_written(tmp_path, name="openapi.yaml").read_text(encoding="utf-8"))
    assert as_json == as_yaml == json.loads(printed)


def test_the_server_is_the_target(tmp_path: Path) -> None:
    """--base-url overrides the profile's."""
    file = _written(tmp_path, "--base-url", "https://shop.example/x")
    assert json.loads(file.read_text(encoding="utf-8"))["servers"][0]["url"] == "https://shop.example/x"


def test_a_file_that_cannot_be_written_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    """No traceback."""
    command = ["openapi", "--profile", str(PROFILES / "reference.toml"), "-o", str(tmp_path)]
    outcome = CliRunner().invoke(main, command)
    assert outcome.exit_code == 2
    assert outcome.output.startswith("error: ")


def test_schemathesis_runs_on_it(tmp_path: Path, served: EmbeddedReference) -> None:
    """It tests all twenty operations and has no error of its own."""
    _written(tmp_path, "--base-url", served.base_url)
    key = f"Authorization: Bearer {served.environment['CONFORMANCE_REFERENCE_FULL']}"
    options = ["--header", key, "--max-examples", "2", "--phases", "examples,fuzzing", "--seed", "1", "--no-color"]
    report = ["--generation-database", "none", "--report", "json", "--report-json-path", "report.json"]
    program = str(Path(sys.executable).with_name("schemathesis"))
    command = [program, "run", "openapi.json", "--url", served.base_url, *options, *report]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    found = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    count = len(load_contract().operations)
    assert found["errors"] == [], done.stdout
    assert f"Tested: {count}" in done.stdout
    assert f"Selected: {count}/{count}" in done.stdout


def test_prism_answers_by_it(tmp_path: Path, unused_port: int) -> None:
    """A mock that refuses what the document refuses."""
    prism = str(_tool("node_modules", ".bin", "prism"))
    _written(tmp_path)
    with _mock([prism, "mock", "--port", str(unused_port), "openapi.json"], tmp_path, unused_port) as client:
        _expect_the_contract(client)


def test_specmatic_answers_by_it(tmp_path: Path, unused_port: int) -> None:
    """A mock that refuses what the document refuses."""
    jar = str(_tool("specmatic.jar"))
    _written(tmp_path)
    command = ["java", "-jar", jar, "mock", "--host", "127.0.0.1", "--port", str(unused_port), "openapi.json"]
    with _mock(command, tmp_path, unused_port) as client:
        _expect_the_contract(client)
