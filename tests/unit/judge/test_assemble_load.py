"""A run is read from the file of its journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.errors import JournalError
from conformance.core.outcomes import Outcome
from conformance.journal.lines import Line, encode
from conformance.judge.assemble import assemble, load
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
    """A file that is not there, a line that is no JSON, and one of another shape."""
    path = tmp_path / "journal.ndjson"
    with pytest.raises(JournalError):
        load(path)
    path.write_bytes(text(LINES[:3]) + b'{"kind": "res\n' + text(LINES[3:]))
    with pytest.raises(JournalError, match="line 4 is no JSON"):
        load(path)
    path.write_bytes(text(LINES[:3]) + b'{"kind": "result"}\n' + text(LINES[3:]))
    with pytest.raises(JournalError, match="line 4"):
        load(path)
