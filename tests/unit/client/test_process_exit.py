"""A fixture's function that calls `os._exit` fails, and never ends a run that looks like a success."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.profile.resources import Fixture
from tests.support.commands import TIMEOUT_S
from tests.unit.client.test_fixtures import failure, provide


@pytest.mark.parametrize("status", [0, 3])
@pytest.mark.parametrize("prefix", ["def", "async def"])
def test_a_function_that_ends_the_process_fails(tmp_path: Path, prefix: str, status: int) -> None:
    """It is the fixture's failure, whether the function runs in a thread or in the event loop."""
    (tmp_path / "leaving.py").write_text(f"import os\n{prefix} make(context):\n    os._exit({status})\n")
    problem = failure(Fixture("order", "open", python="leaving.py:make"), directory=tmp_path).message
    assert problem == f"leaving.py:make raised SystemExit: os._exit({status})"


def test_a_module_that_ends_the_process_fails(tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text("from os import _exit\n_exit(0)\n")
    problem = failure(Fixture("order", "open", python="leaving.py:make"), directory=tmp_path).message
    assert problem == "cannot load leaving.py:make: SystemExit: os._exit(0)"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_a_function_forks_ends_as_it_likes(tmp_path: Path) -> None:
    """`multiprocessing` ends its processes so."""
    (tmp_path / "forking.py").write_text(
        "import os\ndef make(context):\n    child = os.fork()\n    if child == 0:\n        os._exit(0)\n"
        "    return {'id': str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))}\n"
    )
    assert provide(Fixture("order", "open", python="forking.py:make"), directory=tmp_path) == [{"id": "0"}]


LATER = """
import os, threading, time
from conformance.client.process_exit import refuse_process_exit
with refuse_process_exit():
    threading.Thread(target=lambda: (time.sleep(0.2), os._exit({status}))).start()
time.sleep(60)
"""


@pytest.mark.parametrize(("status", "code"), [(0, 5), (3, 3)])
def test_a_thread_that_ends_the_process_later_is_no_success(status: int, code: int) -> None:
    """The thread is none of the function any more."""
    command = [sys.executable, "-c", LATER.format(status=status)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == code
    assert ("there is no verdict" in done.stderr) == (status == 0)
