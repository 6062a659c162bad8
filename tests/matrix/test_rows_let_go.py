"""Hundreds of targets are judged in one process: what one of them took is free for the next."""

from __future__ import annotations

import gc

from conformance import matrix
from conformance.model import Exchange
from conformance.session import Session


def test_a_row_leaves_nothing_of_its_run_behind() -> None:
    """A run's objects refer to each other in circles; they are gone when its row is told, and not some time later."""
    gc.collect()
    before = _held()
    (row,) = matrix.rows([matrix.Subject("F003")], jobs=1)
    assert row.fine
    assert _held() <= before


def _held() -> int:
    """Sessions and exchanges in this process: other tests may have left some."""
    return sum(isinstance(one, (Session, Exchange)) for one in gc.get_objects())
