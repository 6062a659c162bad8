"""A journal that is read while it is written tells in the end what it tells at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core.errors import JournalError
from conformance.core.model import Outcome
from conformance.journal.lines import Line, encode
from conformance.judge.assemble import IncrementalReader, assemble, load
from tests.support.journals import END, exchange, journal, result

LINES = journal(
    [exchange(1), exchange(2, 401), exchange(3, None, retry_of="x2"), exchange(2, 400)],
    [result("a"), result("b", Outcome.FAILED), result("a", Outcome.WARNED)],
    left=[result("c")],
    end=END,
)


def text(lines: list[Line]) -> bytes:
    return b"".join(map(encode, lines))


WHOLE = text(LINES)


@given(cuts=st.lists(st.integers(0, len(WHOLE)), max_size=8))
def test_wherever_it_had_come_to_when_it_was_read(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    """In the middle of a line, too."""
    path = tmp_path_factory.mktemp("growing") / "journal.ndjson"
    growing = IncrementalReader(path)
    for cut in sorted(cuts):
        path.write_bytes(WHOLE[:cut])
        growing.read_on()
    path.write_bytes(WHOLE)
    run = growing.run()
    assert run == load(path)
    assert list(run.exchanges) == list(assemble(LINES).exchanges)


def test_what_is_wrong_is_told_in_the_end_as_it_would_be_at_once(tmp_path: Path) -> None:
    """With its place; also where it was read before, and was wrong then."""
    path = tmp_path / "journal.ndjson"
    growing = IncrementalReader(path)
    with pytest.raises(JournalError):
        growing.read_on()
    path.write_bytes(text(LINES[:3]))
    growing.read_on()
    path.write_bytes(text(LINES[:3]) + b'{"kind": "res\n' + text(LINES[3:]))
    for read in (growing.read_on, growing.run):
        with pytest.raises(JournalError, match="line 4 is no JSON"):
            read()
    path.write_bytes(text(LINES[:3]) + b'{"kind": "result"}\n' + text(LINES[3:]))
    with pytest.raises(JournalError) as told:
        growing.run()
    with pytest.raises(JournalError) as at_once:
        load(path)
    assert str(told.value) == str(at_once.value)
