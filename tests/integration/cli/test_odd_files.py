"""What is not a journal is refused at once, whatever it is: a pipe, a folder, a device, a gigabyte."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.journal.journal import Journal
from conformance.journal.lines import FixtureSpent, ResourceCreated
from conformance.journal.reader import LONGEST_LINE, read
from conformance.reports import runjson
from tests.support.runs import run_of

GIGABYTE = 1_000_000_000


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(GIGABYTE)


def _repeated(line: bytes, times: int) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(line * times) and None  # type: ignore[func-returns-value]


ODD: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a gigabyte of zeros": _sparse,
    "blank lines": _repeated(b"\n", 5_000_000),
    "JSON of something else": _repeated(b'{"kind":"exchange"}\n', 2_000_000),
}
COMMANDS: dict[str, Callable[[Path, Path], list[str]]] = {
    "report": lambda odd, _: ["report", str(odd)],
    "rerun": lambda odd, _: ["rerun", str(odd), "--show"],
    "gate": lambda odd, _: ["gate", str(odd)],
    "baseline": lambda odd, good: ["gate", str(good), "--baseline", str(odd)],
    "compare": lambda odd, good: ["compare", str(odd), str(good)],
    "explain": lambda odd, _: ["explain", "AUTH-1", "--run", str(odd)],
    "merge": lambda odd, _: ["merge", str(odd)],
    "resume": lambda odd, _: ["run", "--resume", str(odd)],
    "certify": lambda odd, good: ["certify", str(odd), "--key", str(good / "key.pem")],
}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    folder = tmp_path / "good"
    folder.mkdir()
    (folder / "key.pem").write_text("none")
    return folder


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"baseline", "compare"}))
@pytest.mark.parametrize("place", ["in a folder", "itself"])
def test_what_is_no_journal_is_refused_within_a_second(
    tmp_path: Path, good: Path, kind: str, command: str, place: str
) -> None:
    """In one line with exit code 2, and before it was read to its end."""
    odd = tmp_path / "odd"
    journal = odd
    if place == "in a folder":
        odd.mkdir()
        journal = odd / "journal.ndjson"
    ODD[kind](journal)
    began = time.process_time()
    done = CliRunner().invoke(main, COMMANDS[command](odd, good))
    taken = time.process_time() - began
    assert done.exit_code == 2, done.output
    assert "odd" in done.output and done.output.startswith("error: ") and len(done.output.splitlines()) == 1
    assert taken < 1.0


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a gigabyte of zeros"])
def test_history_goes_on_without_a_run_json_that_is_none(tmp_path: Path, kind: str) -> None:
    """It is named, and the others are told."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    runjson.write_file(run_of([]), tmp_path / "a")
    ODD[kind](tmp_path / "b" / "run.json")
    began = time.process_time()
    done = CliRunner().invoke(main, ["history", str(tmp_path)])
    assert (done.exit_code, str(tmp_path / "b") in done.output) == (0, True), done.output
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a device", "blank lines"])
def test_verify_refuses_them_as_files_of_a_run(tmp_path: Path, kind: str) -> None:
    """Any certificate will do: the files are looked at after it."""
    from conformance.decisions.certificate import Certificate, compare_files

    ODD[kind](tmp_path / "journal.ndjson")
    told = Certificate.__new__(Certificate)
    object.__setattr__(told, "digests", {"run.json": "", "journal.ndjson": ""})
    began = time.process_time()
    differing, unreadable = compare_files(told, tmp_path)
    assert any("journal.ndjson" in line for line in [*differing, *unreadable])
    assert time.process_time() - began < 5.0


def test_verify_says_that_a_folder_is_no_certificate(tmp_path: Path) -> None:
    """The folder of a run stands where its certificate is needed."""
    done = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert (done.exit_code, "is a folder: name a file" in done.output) == (2, True), done.output


def test_a_long_journal_is_read(tmp_path: Path) -> None:
    """With lines of some megabytes, and 100,000 of them."""
    journal = Journal(tmp_path / "journal.ndjson")
    journal.append(ResourceCreated("cart", "open", ("x" * 1000,) * 9000))
    for number in range(100_000):
        journal.append(FixtureSpent("a", number))
    for length in range(4050, 4110):  # around the size in which lines are first looked at
        journal.append(FixtureSpent("x" * length, 1))
    journal.close()
    assert sum(1 for _ in read(tmp_path / "journal.ndjson")) == 100_061
    assert LONGEST_LINE > 9_000_000


@pytest.mark.parametrize("kind", ["a pipe", "a device"])
@pytest.mark.parametrize("command", ["run", "doctor", "openapi"])
def test_a_profile_is_a_file(tmp_path: Path, kind: str, command: str) -> None:
    """A pipe, such as `<(...)` of a shell, is empty when it is read again; nobody may ever write to it."""
    ODD[kind](tmp_path / "odd")
    done = CliRunner().invoke(main, [command, "--profile", str(tmp_path / "odd")])
    assert done.exit_code == 2, done.output
    assert f"is {kind}, not a file" in done.output and "write it to a file" in done.output
