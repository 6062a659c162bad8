"""What a run leaves to its second process, and what not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.core.elsewhere import Elsewhere
from conformance.engine import aside
from conformance.journal import journal


@pytest.mark.parametrize(("size", "shared"), [(0, True), (aside.LONG, True), (aside.LONG + 1, False), (None, False)])
def test_only_runs_of_a_usual_size_are_held_in_two_processes(tmp_path: Path, size: int | None, shared: bool) -> None:
    """The memory of a long run must not grow twice; where there is no journal, nobody reads one."""
    if size is not None:
        (tmp_path / journal.NAME).touch()
        os.truncate(tmp_path / journal.NAME, size)
    other = Elsewhere()
    try:
        assert (aside.Reading(other, tmp_path).writer() is not None) is shared
    finally:
        other.close()
    assert aside.Reading(None, tmp_path).writer() is None
