"""A run is read from the file of its journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.errors import JournalError
from conformance.core.outcomes import Outcome
from conformance.journal.lines import Line, encode
from conformance.judge.assemble import Assembly, assemble, load
from tests.support.journals import END, exchange, journal, result

LINES = journal(
    [exchange(1), exchange(2, 401), exchange(3, None, retry_of="x2"), exchange(2, 400)],
    [result("a"), result("b", Outcome.FAILED), result("a", Outcome.WARNED)],
    left=[result("c")],
    end=END,
)


def text(lines: list[Line]) -> bytes:
    return b"".join(map(encode, lines))


def test_a_journal_in_a_file_is_the_run_of_its_lines(tmp_path: Path) -> None:
    """Read from the file, and from its lines in memory."""
    path = tmp_path / "journal.ndjson"
    path.write_bytes(text(LINES))
    assert list(load(path).exchanges) == list(assemble(LINES).exchanges)


def test_a_wrong_line_is_named_with_its_number(tmp_path: Path) -> None:
    """A file that is not there, a line that is not JSON, and one of another shape."""
    path = tmp_path / "journal.ndjson"
    with pytest.raises(JournalError):
        load(path)
    path.write_bytes(text(LINES[:3]) + b'{"kind": "res\n' + text(LINES[3:]))
    with pytest.raises(JournalError, match=r"line 4 is not JSON \(a run writes whole lines"):
        load(path)
    path.write_bytes(text(LINES[:3]) + b'{"kind": "result"}\n' + text(LINES[3:]))
    with pytest.raises(JournalError, match="line 4"):
        load(path)


@pytest.mark.parametrize("ahead", range(len(LINES)))
def test_a_journal_that_still_grows_is_read_in_parts(tmp_path: Path, ahead: int) -> None:
    """However many lines were read before the others were written: the run is that of the whole file."""
    path, assembly = tmp_path / "journal.ndjson", Assembly(tmp_path / "journal.ndjson")
    path.write_bytes(text(LINES[:ahead]))
    assembly.read(ahead)
    assert assembly.line_count == ahead
    with path.open("ab") as file:
        file.write(text(LINES[ahead:]))
    assert assembly.run() == load(path)


def test_a_wrong_line_after_what_was_read_in_parts_is_an_error(tmp_path: Path) -> None:
    """Of what was read before, no run is made."""
    path, assembly = tmp_path / "journal.ndjson", Assembly(tmp_path / "journal.ndjson")
    path.write_bytes(text(LINES[:2]) + b"no JSON\n" + text(LINES[2:]))
    assembly.read(2)
    with pytest.raises(JournalError, match="line 3 is not JSON"):
        assembly.run()
