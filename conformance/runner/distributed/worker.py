"""A part of a run on another machine, in a gateway of execnet: the far side, and what the near side sends it.

Of the run nothing need be there but this suite. The profile with its files, the secrets and the seed come through the
gateway, and the journal's lines go back through it; the secrets are written to no file.
"""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from conformance.core.environ import as_it_was, environment
from conformance.core.package import CONFIGURATION, PACKAGE
from conformance.runner.distributed.profile_bundle import Bundle
from conformance.runner.options import WORKER_INPUT

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
WORK: Final = "from conformance.runner.distributed.worker import serve\nserve(channel)\n"
"""Run in each gateway in place of pytest-xdist's own."""


_OF_XDIST: Final = ("PYTHONPATH", "PYTEST_XDIST_TESTRUNUID", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
"""Variables that it sets; a gateway may serve another run afterwards."""


def packed(bundle: Bundle) -> dict[str, Any]:
    """A bundle as execnet sends it."""
    return {**asdict(bundle), "files": dict(bundle.files), "environment": dict(bundle.environment)}


def serve(channel: Any) -> None:
    """Does what a worker of pytest-xdist does, with a profile and a command line of its own."""
    import xdist.remote

    as_it_was()
    worker_input, _, options, path = channel.receive()
    told = worker_input[WORKER_INPUT]
    folder = Path(tempfile.mkdtemp(prefix="conformance-"))
    bundle = Bundle(**told.pop("bundle"))
    try:
        told["options"] |= {"profile": str(bundle.unpack(folder)), "report_dir": str(folder)}
        given = _Given(channel, (worker_input, _arguments(told.pop("arguments")), options, path))
        source = compile(inspect.getsource(xdist.remote), xdist.remote.__file__, "exec")
        own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": None}
        kept = {name: os.environ.get(name) for name in _OF_XDIST}
        with environment({**kept, **bundle.environment, **own}):
            exec(source, {"__name__": "__channelexec__", "channel": given})  # noqa: S102 - as execnet would do it
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Given:
    """A channel whose first message is known already."""

    def __init__(self, channel: Any, first: Any) -> None:
        self._channel = channel
        self._first = [first]

    def receive(self, *arguments: Any) -> Any:
        return self._first.pop() if self._first else self._channel.receive(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)


def _arguments(rest: list[str]) -> list[str]:
    plugins = "-p conformance.runner.plugin -p xdist.plugin -p no:terminal -p no:cacheprovider"
    given = [*plugins.split(), "-s", "-c", str(CONFIGURATION)]
    return [*given, "--rootdir", str(PACKAGE), *rest, str(PACKAGE / "checks")]
