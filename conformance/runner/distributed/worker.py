"""A part of a run on another machine, in a gateway of execnet: the far side, and what the near side sends it.

Of the run nothing need be there but this suite. The profile with its files, the secrets and the seed come through the
gateway, and the journal's lines go back through it; the secrets are written to no file. This is also a pytest plugin,
which clears up.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from conformance.core.environ import environment, restore_environment
from conformance.core.package import CONFIGURATION, PACKAGE
from conformance.runner.distributed.profile_bundle import Bundle

LINES: Final = "conformance_lines"
"""Under this name a report, and the last word of a process, carry lines of the journal."""
VERSIONS: Final = """
try:
    from conformance.checks.support.registry import check_set_digest
    from conformance.contract import load_contract
    import xdist
    channel.send(["", check_set_digest(), load_contract().digest])
except ImportError as error:
    channel.send([str(error), "", ""])
"""
"""Run in each gateway before anything else."""
PREPARE: Final = "from conformance.runner.distributed.worker import prepare\nprepare(channel)\n"
"""Run in each gateway before pytest-xdist's own."""
_OF_XDIST: Final = ("PYTHONPATH", "PYTEST_XDIST_TESTRUNUID", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
"""Variables that it sets; a gateway may serve another run afterwards."""
_prepared = ExitStack()


def packed(bundle: Bundle) -> dict[str, Any]:
    """A bundle as execnet sends it."""
    return {**asdict(bundle), "files": dict(bundle.files), "environment": dict(bundle.environment)}


def prepare(channel: Any) -> None:
    """Receives a profile for the run that comes next in this process; sends folder, path and pytest's words."""
    restore_environment()
    pytest_unconfigure()  # of a run that never began
    folder = _prepared.enter_context(tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True))
    bundle = Bundle(**channel.receive())
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": None}
    kept = {name: os.environ.get(name) for name in _OF_XDIST}
    _prepared.enter_context(environment({**kept, **bundle.environment, **own}))
    channel.send([folder, str(bundle.unpack(Path(folder))), _arguments()])


def pytest_unconfigure() -> None:
    """Removes the profile, and puts the environment back."""
    _prepared.close()


def _arguments() -> list[str]:
    """None of them is a path by itself: pytest-xdist would look for it on the near side."""
    plugins = ("conformance.runner.plugin", "conformance.runner.distributed.worker", "xdist.plugin")
    words = [f"-p{name}" for name in (*plugins, "no:terminal", "no:cacheprovider")]
    return [*words, "-s", f"--config-file={CONFIGURATION}", f"--rootdir={PACKAGE}", "--pyargs", "conformance.checks"]
