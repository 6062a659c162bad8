"""One run of a peer against one target: its command, and what its own report says of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.runner.embedded_reference import EmbeddedReference
from tests.benchmarks import peer_document
from tests.benchmarks.common import ROOT
from tests.benchmarks.peer_hooks import proof

LONGEST_S: Final = 120.0
KEY: Final = "CONFORMANCE_REFERENCE_FULL"
SEED: Final = 1


CONFIGURATION: Final = """
[[operations]]
include-operation-id = "exchangeOAuthToken"

[operations.checks.positive_data_acceptance]
expected-statuses = [200, 400, 401, 403, 404, 409, 429]
"""
"""For schemathesis: a code that nobody was given is refused with 400, which no schema can say."""


ERROR: Final = "error"
"""How schemathesis ends an operation that it could not judge, for a broken connection or for reasons of its own."""


@dataclass(frozen=True)
class Told:
    """A peer's verdict. `failures`: what it complains of, as operation and kind."""

    seconds: float
    code: int
    exchanges: int
    failures: frozenset[str]
    problem: str = ""
    began: float = 0.0
    """When its process was started, in seconds since the epoch."""


@dataclass(frozen=True)
class Place:
    """One target, and where its run may write. `answers` are examples of a 200 by operation."""

    service: EmbeddedReference
    prefix: str
    folder: Path
    answers: Mapping[str, Any]

    @property
    def base_url(self) -> str:
        return self.service.base_url + (f"/{self.prefix}" if self.prefix else "")

    @property
    def key(self) -> str:
        return f"Bearer {self.service.environment[KEY]}"

    def prepared(self) -> None:
        """A folder with nothing in it but the document, whose examples name fresh things of this target."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        control = self.service.control_url + (f"/{self.prefix}" if self.prefix else "")
        told = peer_document.document(self.base_url, peer_document.made(control), self.answers)
        (self.folder / "openapi.yaml").write_text(json.dumps(told), encoding="utf-8")


def recorded(service: EmbeddedReference) -> dict[str, Any]:
    """A 200 of each operation of the fault-free service."""
    told = peer_document.document(service.base_url, peer_document.made(service.control_url))
    headers = {"ApiKey": lambda: f"Bearer {service.environment[KEY]}", "DPoP": lambda: proof(service.base_url)}
    return peer_document.answers(service.base_url, told, headers)


class Schemathesis:
    """`schemathesis run`, with the options that its benchmarking guide asks for.

    `reports`: `json`, and `ndjson` for the events too, in `events.ndjson`.
    """

    name = "schemathesis"

    def __init__(self, workers: str = "auto", reports: str = "json") -> None:
        self._workers = workers
        self._reports = reports

    def command(self, base_url: str) -> list[str]:
        options = f"--continue-on-failure --no-shrink --suppress-health-check all --workers {self._workers} --no-color"
        quiet = f"--generation-allow-x00 false --generation-database none --seed {SEED} --report {self._reports}"
        program = str(Path(sys.executable).with_name("schemathesis"))
        report = ["--report-json-path", "report.json", "--report-ndjson-path", "events.ndjson"]
        return [program, "run", "openapi.yaml", "--url", base_url, *options.split(), *quiet.split(), *report]

    def run(self, place: Place) -> Told:
        place.prepared()
        (place.folder / "schemathesis.toml").write_text(CONFIGURATION, encoding="utf-8")
        environment = {
            "API_KEY": place.key,
            "TARGET": place.base_url,
            "SCHEMATHESIS_HOOKS": "tests.benchmarks.peer_hooks",
            "PYTHONPATH": str(ROOT),
        }
        began = time.time()
        seconds, code, out = _run(self.command(place.base_url), environment, place.folder)
        file = place.folder / "report.json"
        if not file.is_file():
            return Told(seconds, code, 0, frozenset(), out[-500:] or "no report", began)
        report = json.loads(file.read_text(encoding="utf-8"))
        kinds = {f"{where}: {one['type']}" for one in report["failures"] for where in one["operations"]}
        errors = {f"{ERROR}: {one.get('title', '')}" for one in report["errors"]}
        return Told(seconds, code, report["test_cases"]["generated"], frozenset(kinds | errors), began=began)


class Specmatic:
    """`specmatic test` by the document's examples.

    Its resiliency tests stay off, as they are unless asked for: with them a run here does not end within LONGEST_S.
    """

    name = "specmatic"

    def __init__(self, jar: Path) -> None:
        self._jar = jar

    def command(self, base_url: str) -> list[str]:
        report = ["--junitReportDir", "junit"]
        return ["java", "-jar", str(self._jar), "test", "openapi.yaml", "--testBaseURL", base_url, *report]

    def run(self, place: Place) -> Told:
        place.prepared()
        environment = {"ApiKey": place.key.removeprefix("Bearer "), "DPoP": proof(place.base_url)}
        began = time.time()
        seconds, code, out = _run(self.command(place.base_url), environment, place.folder)
        files = sorted((place.folder / "junit").glob("*.xml"))
        if not files:
            return Told(seconds, code, 0, frozenset(), out[-500:] or "no report", began)
        cases = [case for file in files for case in ElementTree.parse(file).getroot().iter("testcase")]
        bad = {case.get("name", "") for case in cases if case.find("failure") is not None}
        return Told(seconds, code, len(cases), frozenset(bad), began=began)


def _run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> tuple[float, int, str]:
    """Seconds, exit code and what was printed; an exit code of -9 where it took longer than it may."""
    began = time.perf_counter()
    printed = folder / "printed.txt"
    with printed.open("wb") as out:
        try:
            code = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=LONGEST_S,
            ).returncode
        except subprocess.TimeoutExpired:
            code = -9
    return time.perf_counter() - began, code, printed.read_text(encoding="utf-8", errors="replace")
