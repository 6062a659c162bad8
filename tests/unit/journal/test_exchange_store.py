"""A long run does not hold what was said: its exchanges are read from the journal when somebody asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.core.errors import JournalError
from conformance.core.model import Exchange, Message
from conformance.journal.exchange_store import Exchanges, exchanges_by_id
from conformance.journal.lines import ExchangeRecorded, encode
from conformance.journal.reader import read_with_places

COUNT = 200


def line(number: int, **rest: Any) -> ExchangeRecorded:
    message = Message((("Accept", "application/json"),), "é" * number, 2 * number)
    exchange = Exchange(
        id=f"x{number}",
        operation="getApiKeyIdentity",
        method="GET",
        url=f"http://127.0.0.1:9/{number}",
        request=message,
        status=200,
        response=message,
        at=float(number),
        duration_ms=1.5,
        judged=("STA-1", "ENV-1"),
        **rest,
    )
    return ExchangeRecorded(exchange)


def journal(path: Path, numbers: range) -> Path:
    path.write_bytes(b"".join(encode(line(number)) for number in numbers))
    return path


def read(path: Path, held: int, into: Exchanges | None = None) -> tuple[Exchanges, list[Exchange]]:
    exchanges = Exchanges(held) if into is None else into
    for line, place in read_with_places(path):
        if isinstance(line, ExchangeRecorded):
            exchanges.add(line.exchange, place)
    return exchanges, list(exchanges.judged)


@pytest.mark.parametrize("held", [0, 10_000, 10**9])
def test_what_is_read_again_is_what_was_written(tmp_path: Path, held: int) -> None:
    """However much of it is held: in order, by place, by name, in pieces, and more than once."""
    path = journal(tmp_path / "journal.ndjson", range(COUNT))
    exchanges, _ = read(path, held)
    whole, _ = read(path, 10**9)
    assert len(exchanges) == COUNT
    assert list(exchanges) == list(whole) == list(exchanges)
    assert exchanges == whole
    assert exchanges[-1].url.endswith(f"/{COUNT - 1}")
    assert [one.id for one in exchanges[10:13]] == ["x10", "x11", "x12"]
    assert exchanges.by_id["x77"] == whole[77]
    assert "x200" not in exchanges.by_id
    with pytest.raises(IndexError):
        exchanges[COUNT]


def test_the_judgement_sees_the_same_but_for_what_was_said(tmp_path: Path) -> None:
    path = journal(tmp_path / "journal.ndjson", range(COUNT))
    _, slim = read(path, 0)
    _, whole = read(path, 10**9)
    for one, other in zip(slim, whole, strict=True):
        assert (one.id, one.operation, one.status, one.judged, one.findings) == (
            *(other.id, other.operation, other.status),
            *(other.judged, other.findings),
        )
        assert one.request.body == ""
    assert slim[0].judged is slim[1].judged


def test_what_many_have_in_common_is_there_once(tmp_path: Path) -> None:
    _, whole = read(journal(tmp_path / "journal.ndjson", range(COUNT)), 10**9)
    one, other = whole[0], whole[1]
    assert one.judged is other.judged
    assert one.request.headers
    assert all(a is b for a, b in zip(one.request.headers, other.request.headers, strict=True))


def test_one_that_stands_twice_counts_once(tmp_path: Path) -> None:
    """A joining of journals that was killed leaves some lines in two files."""
    first = journal(tmp_path / "journal.ndjson", range(10))
    second = journal(tmp_path / "journal-gw0.ndjson", range(5, 15))
    for held in (0, 10**9):
        exchanges, _ = read(first, held)
        read(second, held, exchanges)
        assert [one.id for one in exchanges] == [f"x{number}" for number in range(15)]


def test_a_journal_that_is_gone_or_changed_is_said(tmp_path: Path) -> None:
    """What is held stays; of the rest it is said where it was."""
    path = journal(tmp_path / "journal.ndjson", range(COUNT))
    exchanges, _ = read(path, 5_000)
    path.write_text("x" * path.stat().st_size)
    assert exchanges[0].id == "x0"
    with pytest.raises(JournalError, match=r"journal\.ndjson: has changed since it was read"):
        list(exchanges)
    path.unlink()
    with pytest.raises(JournalError, match="cannot be read again"):
        exchanges[COUNT - 1]


def test_names_work_wherever_exchanges_are_kept(tmp_path: Path) -> None:
    exchanges, _ = read(journal(tmp_path / "journal.ndjson", range(5)), 0)
    assert dict(exchanges_by_id(exchanges)) == exchanges_by_id(tuple(exchanges))
    assert list(exchanges_by_id(exchanges)) == [f"x{number}" for number in range(5)]
    assert len(exchanges_by_id(exchanges)) == 5
