"""A journal that somebody else began: its torn last line, and who may write."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from conformance.core.errors import JournalError
from conformance.journal.journal import Journal, repair
from conformance.journal.lines import FixtureSpent, ResourceCreated, SegmentEnded, SegmentResumed
from conformance.journal.reader import read

LINES = [FixtureSpent("a", 1), ResourceCreated("cart", "ä\n\"'{}", ("1", "2")), SegmentEnded("then")]
RESUMED = SegmentResumed(2, "killed", 1, "c2", "now")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "journal.ndjson"
    journal = Journal(path)
    for line in LINES:
        journal.append(line)
    journal.close()
    return path


def test_wherever_it_was_cut_off_it_is_read_and_goes_on(whole: Path) -> None:
    """Cut after any byte: all full lines are there, and what is appended stands on a line of its own."""
    raw = whole.read_bytes()
    for cut in range(len(raw) + 1):
        whole.write_bytes(raw[:cut])
        full = raw[:cut].count(b"\n") + (raw[cut : cut + 1] == b"\n")
        assert list(read(whole)) == LINES[:full]
        repair(whole)
        journal = Journal(whole)
        journal.append(RESUMED)
        journal.close()
        assert list(read(whole)) == [*LINES[:full], RESUMED]


@pytest.mark.parametrize("count", [1, 4095, 4096, 100_000])
def test_zeros_at_the_end_stand_for_a_line_that_was_not_written(whole: Path, count: int) -> None:
    """A file system leaves them where the machine went down before the data of a longer file were on the disk."""
    raw = whole.read_bytes()
    whole.write_bytes(raw + bytes(count))
    assert list(read(whole)) == LINES
    repair(whole)
    assert whole.read_bytes() == raw


def test_zeros_before_another_line_are_damage(whole: Path) -> None:
    raw = whole.read_bytes()
    whole.write_bytes(raw + bytes(5000) + b"\n" + raw)
    with pytest.raises(JournalError, match="line 4 is not JSON"):
        list(read(whole))


def test_what_is_whole_stays_as_it_is(whole: Path) -> None:
    raw = whole.read_bytes()
    repair(whole)
    assert whole.read_bytes() == raw


def test_what_cannot_be_mended_is_said(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="No such file"):
        repair(tmp_path / "journal.ndjson")


WRITER = """
import sys, time
from pathlib import Path
from conformance.journal.journal import Journal
from conformance.journal.lines import FixtureSpent
journal = Journal(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    journal.append(FixtureSpent("x" * 3000, number))
    if number == 50:
        print("well begun", flush=True)
"""


@pytest.fixture
def writer(tmp_path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "journal.ndjson")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "well begun\n"
    return process


def test_a_killed_writer_loses_at_most_the_line_that_it_was_at(tmp_path: Path, writer: subprocess.Popen[str]) -> None:
    """What it had written when it was killed is there, and what it wrote last is whole or left out."""
    seen = (tmp_path / "journal.ndjson").read_bytes().count(b"\n")
    writer.kill()
    writer.communicate()
    numbers = [line.place for line in read(tmp_path / "journal.ndjson")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= seen >= 50


def test_two_processes_never_write_one_journal(tmp_path: Path, writer: subprocess.Popen[str]) -> None:
    """The second is told so; one that waits gets its turn as soon as the first has ended, however it did."""
    path = tmp_path / "journal.ndjson"
    try:
        with pytest.raises(JournalError, match="another process is writing it"):
            Journal(path)
        started = time.monotonic()
        threading.Timer(0.3, writer.kill).start()
        Journal(path, wait_s=60).append(SegmentEnded(""))
        assert 0.3 <= time.monotonic() - started < 50
    finally:
        writer.kill()
        writer.communicate()
