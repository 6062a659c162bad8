"""Hundreds of targets are judged in one process: what one of them took is free for the next."""

from __future__ import annotations

import gc

from conformance.core.model import Exchange
from conformance.engine.session import Session
from conformance.runner import kill_matrix as matrix


def test_a_row_leaves_nothing_of_its_run_behind() -> None:
    """A run's objects refer to each other in circles; they are gone when its row is told, and not some time later."""
    gc.collect()
    before = _held()
    (row,) = matrix.judge_subjects([matrix.Subject("F003")], jobs=1)
    assert row.fine
    assert _held() <= before


def _held() -> int:
    """Sessions and exchanges in this process: other tests may have left some."""
    return sum(isinstance(one, (Session, Exchange)) for one in gc.get_objects())
