"""Checks run in threads beside pytest: what pytest looks into must not just be on its way into memory there."""

from __future__ import annotations

import subprocess
import sys

from tests.support.commands import TIMEOUT_S

PROGRAM = """
import inspect, re, sys
import _pytest.runner, _pytest.reports
from conformance.engine.open_context import load_sender

load_sender()
looked_into = {name for module in (_pytest.runner, _pytest.reports)
               for name in re.findall(r'sys\\.modules\\.get\\("(\\w+)"', inspect.getsource(module))}
before = set(sys.modules)
import hypothesis.stateful, hypothesis.strategies, conformance.checks.support.strategies
print(len(looked_into), sorted(looked_into & (set(sys.modules) - before)))
"""


def test_what_pytest_looks_into_is_there_before_hypothesis_is_imported() -> None:
    """Else a failed check may end the run with `partially initialized module 'unittest'`."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    )
    count, late = done.stdout.split(" ", 1)
    assert int(count) > 0, "pytest says it otherwise by now: look for how"
    assert late.strip() == "[]"
