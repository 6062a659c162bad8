"""Collections are rare during a run, and as usual after it, unless the process ends with it."""

from __future__ import annotations

import gc
import subprocess
import sys

from conformance.core.gc_tuning import reduce_collections

UNTIL_EXIT = """
import gc
from conformance.core.gc_tuning import reduce_collections, reduce_until_exit
reduce_until_exit()
first = gc.get_threshold()
with reduce_collections():
    pass
reduce_until_exit()
print(first == gc.get_threshold() != (700, 10, 10), gc.get_freeze_count() > 0)
"""


def test_the_thresholds_are_restored_by_the_last_user() -> None:
    """Users may be nested, as a run and the judgement of its journal are."""
    before = gc.get_threshold()
    with reduce_collections():
        reduced = gc.get_threshold()
        with reduce_collections():
            pass
        assert gc.get_threshold() == reduced != before
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_a_process_that_ends_with_its_run_keeps_them() -> None:
    """No user restores them, and what existed at the start is not searched at the end."""
    done = subprocess.run([sys.executable, "-c", UNTIL_EXIT], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True", "True"]
