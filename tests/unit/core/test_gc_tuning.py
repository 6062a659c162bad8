"""Collections are rare during a run, and as usual after it, unless the process ends with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

NESTED = """
import gc
from conformance.core.gc_tuning import reduce_collections
before = gc.get_threshold()
with reduce_collections():
    reduced = gc.get_threshold()
    with reduce_collections():
        pass
    print(gc.get_threshold() == reduced != before)
print(gc.get_threshold() == before and gc.get_freeze_count() == 0)
"""
UNTIL_EXIT = """
import gc
from conformance.core.gc_tuning import reduce_collections, reduce_until_exit
before = gc.get_threshold()
reduce_until_exit()
first = gc.get_threshold()
with reduce_collections():
    pass
reduce_until_exit()
print(first == gc.get_threshold() != before)
print(gc.get_freeze_count() > 0)
"""


@pytest.mark.parametrize("script", [NESTED, UNTIL_EXIT], ids=["the last user restores them", "a command keeps them"])
def test_the_thresholds_are_restored_unless_the_process_ends_with_its_run(script: str) -> None:
    """Users may be nested, as a run and the judgement of its journal are; what existed at the start is not searched."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True", "True"]
