"""The search for canaries finds what it is meant to find: a secret planted in any form, in any file of a run."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.hostile.canary.search import FORMS, PART, PIECE, Search
from tests.support.commands import Desk, shared_reference

pytestmark = pytest.mark.e2e

CANARY = "cnry-0a1b2c3d/+=&\"<%~'4e5f6a7b"
SEARCH = Search({CANARY: "key"})
FILES = (
    "journal.ndjson", "run.json", "report.html", "junit.xml", "summary.md", "ctrf-report.json", "exchanges.har",
    "report.sarif", "allure-results/0-attachment.txt", "badge.svg", "certificate.json", "the terminal",
)  # fmt: skip


FORMATS = {
    "allure-results", "allurerc.json", "ctrf-report.json", "exchanges.har", "journal.ndjson", "junit.xml",
    "report.html", "report.sarif", "run.json", "summary.md",
}  # fmt: skip


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_planted_is_found(form: str, file: str, tmp_path: Path) -> None:
    """Each form in each file."""
    for spelt in FORMS[form](CANARY):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * 500 + spelt.encode() + b"y" * 500)
        assert any(form in hit for hit in SEARCH.found_in_files(tmp_path)[file])


@pytest.mark.parametrize("at", [0, 1, 7, len(CANARY) - PART])
@pytest.mark.parametrize("form", FORMS)
def test_a_part_of_a_key_is_found(form: str, at: int) -> None:
    """Any 12 characters in a row, in each form; not 11."""
    search = Search({}, parts_of={CANARY: "key"})
    for spelt in FORMS[form](CANARY[at : at + PART]):
        assert any("part of key" in hit for hit in search.found_in(b"xyz" + spelt.encode() + b"xyz"))
    assert not search.found_in(CANARY[at : at + PART - 1].encode())


@pytest.mark.parametrize("before", [-5, 0, 3])
def test_it_is_found_across_the_pieces_in_which_a_long_text_is_read(before: int) -> None:
    """Wherever it begins."""
    assert SEARCH.found_in(b"x" * (PIECE + before) + CANARY.encode() + b"y" * 1000)


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "a longer user:", '{"ticket":"', '{"a":"bc","code":"'])
@pytest.mark.parametrize("behind", ["", "x", "xy", '"}'])
@pytest.mark.parametrize("alphabet", [base64.b64encode, base64.urlsafe_b64encode])
def test_it_is_found_in_the_base64_of_whatever_holds_it(before: str, behind: str, alphabet: object) -> None:
    """As in Basic credentials, or a request that is sent back whole."""
    text = alphabet(f"{before}{CANARY}{behind}".encode())  # type: ignore[operator]
    assert SEARCH.found_in(b"Authorization: Basic " + text)
    assert SEARCH.found_in(b"data:" + text.rstrip(b"="))


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    """Nor what only looks like it."""
    (tmp_path / "a").write_text(json.dumps({"key": CANARY[:-1], "other": CANARY[1:]}) + "«credential:full»")
    assert SEARCH.found_in_files(tmp_path) == {}


def test_a_name_of_a_file_is_searched_too(tmp_path: Path) -> None:
    (tmp_path / CANARY.encode().hex()).touch()
    assert len(SEARCH.found_in_files(tmp_path)) == 1


def test_what_a_run_would_write_is_found_in_every_format(tmp_path: Path) -> None:
    """A canary that got into the journal gets into every report that is made of it, and is found in each."""
    canary = "cnry0a1b2c3d4e5f6a7b"
    desk = Desk(tmp_path, shared_reference())
    given = ("-k", "AUTH-1 and getApiKeyIdentity", "--report-dir", "out", "-q")
    assert desk.conformance("run", *desk.target("F031"), *given).code in (1, 3)
    journal = tmp_path / "out" / "journal.ndjson"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "exchange":
            line["exchange"]["response"]["body"] = canary
        if line["kind"] == "result":
            line["result"].update(outcome="failed", message=f"{canary} was seen")
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = desk.conformance("report", "out")
    assert done.code == 0, done.text
    found = {name.split("/")[0] for name in Search({canary: "key"}).found_in_files(tmp_path / "out")}
    assert found | {"allurerc.json"} == {path.name for path in (tmp_path / "out").iterdir()} >= FORMATS
    assert Search({canary: "key"}).found_in(desk.conformance("explain", "AUTH-1", "--run", "out").out.encode())
