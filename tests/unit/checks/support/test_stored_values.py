"""Drawn values are kept by what they were drawn from, and nothing about the cache is ever an error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.checks.support import stored_values
from conformance.checks.support.stored_values import StoredValues
from conformance.checks.support.strategies import Edit

EDITS = [Edit("/a", 1.5), Edit("/b", is_removal=True), Edit("/c", {"é": [None, True]})]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored_values, "cache_directory", lambda: tmp_path)
    return tmp_path / "generated"


def _stored(document: str = "d") -> StoredValues[Edit]:
    return StoredValues(Edit, {"of": document})


def test_what_was_stored_is_loaded() -> None:
    """Equal values, of the same type."""
    _stored().save(1, EDITS)
    assert _stored().load(1) == EDITS


def test_another_origin_has_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Document, seed and versions decide; a few seeds stand for all."""
    _stored().save(1, EDITS)
    assert _stored("other").load(1) is None
    assert _stored().load(2) is None
    assert _stored().load(1 + 4) == EDITS
    monkeypatch.setattr(stored_values, "_versions", lambda: ["2"])
    assert _stored().load(1) is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"values": [{"no": 1}]}', b'{"values": 1}', b"\xff", b"[" * 99999]
)
def test_a_damaged_file_is_as_none(folder: Path, content: bytes) -> None:
    """And the next save replaces it."""
    _stored().save(1, EDITS)
    (file,) = folder.iterdir()
    file.write_bytes(content)
    assert _stored().load(1) is None
    _stored().save(1, EDITS)
    assert _stored().load(1) == EDITS


def test_values_are_drawn_once() -> None:
    """The second time they are there."""
    drawn: list[int] = []

    def draw(seed: int) -> list[Edit]:
        drawn.append(seed)
        return EDITS

    assert _stored().load_or_generate(7, draw) == _stored().load_or_generate(7, draw) == EDITS
    assert drawn == [7 % 4]


def test_a_full_disk_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left behind."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    _stored().save(1, EDITS)
    assert list(folder.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    """Such as a file in its place."""
    (tmp_path / "generated").write_text("", encoding="utf-8")
    _stored().save(1, EDITS)
    assert _stored().load(1) is None


def test_the_oldest_files_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are never more than the stated number, and none is too large."""
    monkeypatch.setattr(stored_values, "_MAX_FILES", 3)
    for number in range(5):
        _stored(str(number)).save(1, EDITS)
        for age, file in enumerate(sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)):
            os.utime(file, (1000 - age, 1000 - age))
    assert len(list(folder.iterdir())) == 3
    assert _stored("0").load(1) is None
    assert _stored("4").load(1) == EDITS
    monkeypatch.setattr(stored_values, "_MAX_BYTES", 10)
    _stored("9").save(1, EDITS)
    assert _stored("9").load(1) is None
