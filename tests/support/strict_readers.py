"""Public readers of the formats that a run's files are in: the errors that each finds in a file.

`VALIDATORS=FOLDER python -m tests.support.strict_readers` makes the five runs of the table, with `python -m
tests.support.strict_readers REPORTS...` judges the folders of finished runs, and prints the errors of each reader.
`.ci/validators` fills the folder that VALIDATORS names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.support.commands import Desk, shared_reference
from tests.support.situations import SITUATIONS

FIVE = ("conformant", "incomplete", "one-fault", "ten-faults", "interrupted")
JUNIT_SCHEMAS = ("junit-10.xsd", "windyroad.xsd")
_SCRIPTS = {
    "ctrf": "require('ctrf').validateStrict(JSON.parse(require('fs').readFileSync(process.argv[1])))",
    "har-validator": "require('har-validator').har(JSON.parse(require('fs').readFileSync(process.argv[1]))).catch("
    "error => { console.error(JSON.stringify(error.errors)); process.exit(1) })",
}
_TIMEOUT_S = 300


def junit_errors(validators: Path, file: Path, schema: str) -> list[str]:
    """For the schema of Jenkins' xUnit plugin, or for that of Apache Ant's reports. Needs lxml."""
    from lxml import etree

    rules = etree.XMLSchema(etree.parse(str(validators / schema)))
    rules.validate(etree.parse(str(file), etree.XMLParser(huge_tree=True)))
    return [str(error.message) for error in rules.error_log]


def sarif_errors(validators: Path, file: Path, place: Path) -> list[str]:
    """With the rules of SARIF and of GitHub; a warning is not an error. `place`: a folder for the tool's answer."""
    found = place / "found.sarif"
    tool = validators / "node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
    command = [str(tool), "validate", str(file), "--rule-kind", "Sarif;Gh", "--output", str(found)]
    environment = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}  # it needs no ICU then
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S)
    if not found.is_file():
        return [done.stdout + done.stderr]
    results = json.loads(found.read_text(encoding="utf-8-sig"))["runs"][0].get("results", [])
    return [f"{one['ruleId']}: {one['message']}" for one in results if one.get("level") == "error"]


def npm_errors(validators: Path, file: Path, reader: str) -> list[str]:
    """`ctrf` or `har-validator`: the validators of the formats' own packages."""
    command = ["node", "-e", _SCRIPTS[reader], str(file)]
    done = subprocess.run(command, cwd=validators, capture_output=True, text=True, timeout=_TIMEOUT_S)
    return [] if done.returncode == 0 else [done.stderr.strip() or f"exit code {done.returncode}"]


def errors_of_run(validators: Path, folder: Path, place: Path) -> Iterator[tuple[str, list[str]]]:
    """Each reader's name, and the errors that it finds in the run's file."""
    folder = folder.resolve()
    for schema in JUNIT_SCHEMAS:
        yield schema, junit_errors(validators, folder / "junit.xml", schema)
    yield "sarif-multitool", sarif_errors(validators, folder / "report.sarif", place)
    yield "ctrf", npm_errors(validators, folder / "ctrf-report.json", "ctrf")
    yield "har-validator", npm_errors(validators, folder / "exchanges.har", "har-validator")


def make_five_runs(place: Path) -> list[Path]:
    """The folders of the runs, which the reference service is judged in."""
    desk = Desk(place, shared_reference())
    return [SITUATIONS[name](desk).parent for name in FIVE]


def judge_all(validators: Path, folders: Iterable[Path], place: Path, write: Callable[[str], object] = print) -> int:
    """Writes a line for each run and reader; returns the number of errors."""
    total = 0
    for folder in folders:
        for reader, errors in errors_of_run(validators, folder, place):
            total += len(errors)
            write(f"{folder.name}: {reader}: {len(errors)} errors")
            for error in errors[:5]:
                write(f"  {error[:400]}")
    write(f"{total} errors")
    return total


def main(names: list[str]) -> None:
    validators = os.environ.get("VALIDATORS")
    if not validators:
        sys.exit("VALIDATORS must name the folder that `.ci/validators` fills")
    with tempfile.TemporaryDirectory() as text:
        place = Path(text)
        folders = [Path(name) for name in names] or make_five_runs(place)
        sys.exit(bool(judge_all(Path(validators).resolve(), folders, place)))


if __name__ == "__main__":
    main(sys.argv[1:])
