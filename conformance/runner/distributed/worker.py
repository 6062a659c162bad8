"""A worker on another machine, in a gateway of execnet, and the sources that the controller runs in that gateway.

Only this suite must be installed there. The worker receives the profile with its files, the secrets and the seed
through the gateway, and returns journal lines; it writes secrets to no file. As a pytest plugin it cleans up.
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
"""The key of journal lines in the data of a report and in a worker's output."""
VERSIONS: Final = """
try:
    from conformance.checks.support.registry import check_set_digest
    from conformance.contract import load_contract
    import xdist
    channel.send(["", check_set_digest(), load_contract().digest])
except ImportError as error:
    channel.send([str(error), "", ""])
"""
"""Run first in each gateway. Sends [import error, digest of the checks, digest of the contract]."""
PREPARE: Final = "from conformance.runner.distributed.worker import prepare\nprepare(channel)\n"
"""Run in each gateway before pytest-xdist's own source."""
_XDIST_VARIABLES: Final = ("PYTHONPATH", "PYTEST_XDIST_TESTRUNUID", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
"""Environment variables that pytest-xdist sets; a gateway may serve another run afterwards."""
_run_context = ExitStack()


def pack(bundle: Bundle) -> dict[str, Any]:
    """A bundle as plain values that execnet can send."""
    return {**asdict(bundle), "files": dict(bundle.files), "environment": dict(bundle.environment)}


def prepare(channel: Any) -> None:
    """Receives a profile for the next run in this process; sends [folder, path of the profile, pytest's arguments]."""
    restore_environment()
    pytest_unconfigure()  # of a run that did not begin
    folder = _run_context.enter_context(tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True))
    bundle = Bundle(**channel.receive())
    pytest_variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": None}
    xdist_variables = {name: os.environ.get(name) for name in _XDIST_VARIABLES}
    _run_context.enter_context(environment({**xdist_variables, **bundle.environment, **pytest_variables}))
    channel.send([folder, str(bundle.unpack(Path(folder))), _pytest_arguments()])


def pytest_unconfigure() -> None:
    """Removes the profile and restores the environment."""
    _run_context.close()


def _pytest_arguments() -> list[str]:
    """pytest's arguments. None is a bare path: pytest-xdist would look for it on the controller's machine."""
    plugins = ("conformance.runner.plugin", "conformance.runner.distributed.worker", "xdist.plugin")
    words = [f"-p{name}" for name in (*plugins, "no:terminal", "no:cacheprovider")]
    return [*words, "-s", f"--config-file={CONFIGURATION}", f"--rootdir={PACKAGE}", "--pyargs", "conformance.checks"]
