"""A run over gateways that share no folder with it (`--tx ssh=...`, `--tx socket=...`): the near side.

Each gateway is asked first whether it has the same checks. It is sent all that its part of the run needs, and its
journal comes back with its reports.
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
from execnet.gateway_bootstrap import HostNotFound

from conformance.checks.support.registry import check_set_digest
from conformance.client.redaction.secrets import clean_with_all
from conformance.core.environ import own_processes
from conformance.core.errors import UsageError
from conformance.runner.distributed.profile_bundle import bundle_of
from conformance.runner.distributed.worker import LINES, VERSIONS, WORK, packed
from conformance.runner.items import ending_key, session_key

_PATIENCE_S: Final = 60.0
_TOLD: Final = ("base-url", "concurrency", "deadline", "examples", "shard")
_TOLD_ALL: Final = ("var", "limit", "only")


class Gateways:
    """A pytest plugin; does nothing where all processes are started from here, in this folder."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.elsewhere = False
        self._files: dict[str, int] = {}
        self._starting = ExitStack()

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        try:
            return (yield)
        except (HostNotFound, EOFError, OSError, execnet.RemoteError) as error:
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
        self._starting.enter_context(own_processes())
        self.elsewhere = any(not spec.popen or spec.chdir for spec in specs)
        if not self.elsewhere:
            return
        if config.getoption("lf", False):
            raise UsageError("no gateway knows what failed here", where="--lf", hint="use --only, or -n")
        # each gets a command line of its own, and no copy of pytest: it has one beside the suite
        config.invocation_params = replace(config.invocation_params, args=())
        asked = {Path(root).resolve() for root in (*config.option.rsyncdir, *config.getini("rsyncdirs"))}
        manager = config.pluginmanager.getplugin("dsession").nodemanager
        manager.roots = [root for root in manager.roots if root in asked]

    def pytest_xdist_newgateway(self, gateway: execnet.Gateway) -> None:
        if not self.elsewhere:
            return
        channel = gateway.remote_exec(VERSIONS)
        lacks, checks, contract = channel.receive(_PATIENCE_S)
        channel.waitclose(_PATIENCE_S)
        own = self._config.stash[session_key]
        if lacks:
            hint = "install it there, with pytest-xdist"
            raise UsageError(f"the suite is not there: {_line(lacks)}", where=str(gateway.spec), hint=hint)
        if (checks, contract) != (check_set_digest(), own.contract.digest):
            raise UsageError("another version of the suite is there", where=str(gateway.spec), hint="install this one")

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_getremotemodule(self) -> str | None:
        return WORK if self.elsewhere else None

    def told(self) -> dict[str, Any]:
        """What a process elsewhere needs beside what every worker is told."""
        if not self.elsewhere:
            return {}
        own = self._config.stash[session_key]
        return {"bundle": packed(bundle_of(own.options.profile)), "keys": own.keys, "arguments": self._arguments()}

    def _arguments(self) -> list[str]:
        option = self._config.option
        given = [f"--conformance-{name}={v}" for name in _TOLD if (v := getattr(option, _dest(name))) is not None]
        given += [f"--conformance-{name}={v}" for name in _TOLD_ALL for v in getattr(option, _dest(name))]
        expressions = (("-k", option.keyword), ("-m", option.markexpr))
        return [*given, *(word for name, text in expressions if text for word in (name, text))]

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


def _dest(name: str) -> str:
    return f"conformance_{name.replace('-', '_')}"


def _line(text: object) -> str:
    return (clean_with_all(str(text)).strip().splitlines() or [type(text).__name__])[-1][:300]
