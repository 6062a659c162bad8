"""A run over gateways that share no folder with it (`--tx ssh=...`, `--tx socket=...`): the near side.

Each gateway is asked first whether it has the same checks, and is sent the profile with its files. What else its part
of the run needs comes with pytest-xdist's own message, and its journal comes back with its reports.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import execnet
import pytest

from conformance.checks.support.registry import check_set_digest
from conformance.client.redaction.secrets import clean_with_all
from conformance.core.environ import safe_import_path
from conformance.core.errors import UsageError
from conformance.core.run_options import RunOptions
from conformance.runner.distributed.profile_bundle import bundle_of
from conformance.runner.distributed.worker import LINES, PREPARE, VERSIONS, packed
from conformance.runner.items import ending_key, session_key
from conformance.runner.options import pytest_words

_PATIENCE_S: Final = 60.0


class Gateways:
    """A pytest plugin; does nothing where all processes are started from here, in this folder."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.elsewhere = False
        self.children: dict[str, int] = {}
        """The process ids of the gateways that are children of this process, by the gateways' ids."""
        self._folders: dict[str, tuple[str, str]] = {}
        """Where each gateway has its folder and, in it, the profile."""
        self._files: dict[str, int] = {}
        self._starting = ExitStack()

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        try:
            return (yield)
        except (execnet.HostNotFound, EOFError, OSError, execnet.RemoteError) as error:
            problem = UsageError(
                f"a gateway cannot be had: {_line(error)}", where="--tx", hint="is it up, with Python?"
            )
        except UsageError as error:
            problem = error
        except ValueError as error:
            problem = UsageError(f"no gateway is written like this: {_line(error)}", where="--tx")
        finally:
            self._starting.close()
        self._config.stash[ending_key].fail(str(problem), problem.exit_code)
        pytest.exit(str(problem), returncode=problem.exit_code)

    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[execnet.XSpec]) -> None:
        self._starting.enter_context(safe_import_path())
        self.elsewhere = any(not spec.popen or spec.chdir for spec in specs)
        if not self.elsewhere:
            return
        if config.getoption("lf", False):
            raise UsageError("no gateway knows what failed here", where="--lf", hint="use --only, or -n")
        # no gateway gets a copy of pytest: it has one beside the suite
        asked = {Path(root).resolve() for root in (*config.option.rsyncdir, *config.getini("rsyncdirs"))}
        manager = config.pluginmanager.getplugin("dsession").nodemanager
        manager.roots = [root for root in manager.roots if root in asked]

    def pytest_xdist_newgateway(self, gateway: execnet.Gateway) -> None:
        pid, parent = _answer(gateway, "import os; channel.send([os.getpid(), os.getppid()])")
        if parent == os.getpid():
            self.children[gateway.id] = pid
        if not self.elsewhere:
            return
        lacks, checks, contract = _answer(gateway, VERSIONS)
        own = self._config.stash[session_key]
        if lacks:
            hint = "install it there, with pytest-xdist"
            raise UsageError(f"the suite is not there: {_line(lacks)}", where=str(gateway.spec), hint=hint)
        if (checks, contract) != (check_set_digest(), own.contract.digest):
            raise UsageError("another version of the suite is there", where=str(gateway.spec), hint="install this one")
        assert own.options.profile is not None
        folder, profile, words = _answer(gateway, PREPARE, packed(bundle_of(own.options.profile)))
        self._folders[gateway.id] = folder, profile
        # pytest-xdist sends the command line as it finds it here
        expressions = replace(RunOptions(), keyword=own.options.keyword, markers=own.options.markers)
        params = self._config.invocation_params
        self._config.invocation_params = replace(params, args=(*words, *pytest_words(expressions)))

    def complete_input(self, gateway: str, sent: dict[str, Any]) -> dict[str, Any]:
        """What a worker is sent, with what a process on another machine needs beside it."""
        if not self.elsewhere:
            return sent
        folder, profile = self._folders[gateway]
        options = {**sent["options"], "profile": profile, "report_dir": folder}
        part = {**sent["part"], "keys": self._config.stash[session_key].keys}
        return {**sent, "options": options, "part": part}

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> Iterator[None]:
        """In a thread of the gateway's: what goes wrong is kept for the end."""
        self.received(data.get("worker_id", ""), data)
        return (yield)

    def received(self, worker: str, told: Mapping[str, Any] | None) -> None:
        """Keeps the lines of the journal that a report, or the last word of a process, brought along."""
        lines = told.pop(LINES, b"") if isinstance(told, dict) else b""
        if not lines:
            return
        own = self._config.stash[session_key]
        try:
            if worker not in self._files:
                path = own.directory / f"journal-{worker}.ndjson"
                self._files[worker] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            while lines:
                lines = lines[os.write(self._files[worker], lines) :]
        except OSError as error:
            self._config.stash[ending_key].fail(f"{own.directory}: {error.strerror} (free some space and run again)")

    def pytest_unconfigure(self) -> None:
        for file in self._files.values():
            os.close(file)


def _answer(gateway: execnet.Gateway, source: str, *sent: Any) -> Any:
    """What a piece of Python sends back that runs there, once it has ended: a gateway runs one at a time."""
    channel = gateway.remote_exec(source)
    for value in sent:
        channel.send(value)
    answer = channel.receive(_PATIENCE_S)
    channel.waitclose(_PATIENCE_S)
    return answer


def _line(text: object) -> str:
    return (clean_with_all(str(text)).strip().splitlines() or [type(text).__name__])[-1][:300]
