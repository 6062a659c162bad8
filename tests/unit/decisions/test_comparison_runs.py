"""Run folders side by side, of which some may be damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.errors import ConformanceError
from conformance.decisions.comparison_runs import compare_folders
from conformance.journal.journal import NAME, Journal
from tests.support.journals import END, journal


def kept(folder: Path) -> Path:
    folder.mkdir()
    lines = Journal(folder / NAME)
    for line in journal((), end=END):
        lines.append(line)
    lines.close()
    return folder


def test_a_damaged_run_is_named_and_the_others_are_compared(tmp_path: Path) -> None:
    """A file of something else, and a folder without a run."""
    good = [kept(tmp_path / name) for name in ("a", "b")]
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / NAME).write_text('{"kind": "else"}\n')
    comparison = compare_folders([*good, tmp_path / "foreign", tmp_path / "missing"])
    assert [environment.name for environment in comparison.environments] == ["a", "b"]
    assert len(comparison.unread) == 2
    assert "foreign" in comparison.unread[0] and "missing" in comparison.unread[1]


def test_without_a_first_or_a_second_run_nothing_is_compared(tmp_path: Path) -> None:
    """All others are measured by the first."""
    good = kept(tmp_path / "a")
    for folders in ([tmp_path / "missing", good, good], [good, tmp_path / "missing"]):
        with pytest.raises(ConformanceError, match="missing"):
            compare_folders(folders)
