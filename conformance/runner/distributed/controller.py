"""The controller of a run over gateways that share no folder with it (`--tx ssh=...`, `--tx socket=...`).

Each gateway must have the same checks, and receives the profile with its files. The worker's other input is part of
pytest-xdist's own message. Its journal is returned with its reports.
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
from conformance.core.disk_space import space_hint
from conformance.core.environ import safe_import_path
from conformance.core.errors import UsageError
from conformance.core.run_options import RunOptions
from conformance.runner.distributed.profile_bundle import bundle_of
from conformance.runner.distributed.worker import LINES, PREPARE, VERSIONS, pack
from conformance.runner.items import ending_key, session_key
from conformance.runner.options import pytest_words

_ANSWER_TIMEOUT_S: Final = 60.0


class Gateways:
    """A pytest plugin; inactive if all processes are children of this one that run in its folder."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.is_remote = False
        self.children: dict[str, int] = {}
        """Process ids of the gateways that are children of this process, by gateway id."""
        self._folders: dict[str, tuple[str, str]] = {}
        """(folder, path of the profile in it) on the gateway's machine, by gateway id."""
        self._files: dict[str, int] = {}
        self._start_context = ExitStack()

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        try:
            return (yield)
        except (execnet.HostNotFound, EOFError, OSError, execnet.RemoteError) as error:
            problem = UsageError(
                f"a gateway cannot be opened: {_last_line(error)}", where="--tx", hint="is the host up, with Python?"
            )
        except UsageError as error:
            problem = error
        except ValueError as error:
            problem = UsageError(f"not a gateway specification: {_last_line(error)}", where="--tx")
        finally:
            self._start_context.close()
        self._config.stash[ending_key].fail(str(problem), problem.exit_code)
        pytest.exit(str(problem), returncode=problem.exit_code)

    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[execnet.XSpec]) -> None:
        self._start_context.enter_context(safe_import_path())
        self.is_remote = any(not spec.popen or spec.chdir for spec in specs)
        if not self.is_remote:
            return
        if config.getoption("lf", False):
            raise UsageError("the last failures are unknown to gateways", where="--lf", hint="use --only, or -n")
        # pytest is not copied to a gateway: it is installed there with the suite
        user_roots = {Path(root).resolve() for root in (*config.option.rsyncdir, *config.getini("rsyncdirs"))}
        manager = config.pluginmanager.getplugin("dsession").nodemanager
        manager.roots = [root for root in manager.roots if root in user_roots]

    def pytest_xdist_newgateway(self, gateway: execnet.Gateway) -> None:
        pid, parent = _run_remotely(gateway, "import os; channel.send([os.getpid(), os.getppid()])")
        if parent == os.getpid():
            self.children[gateway.id] = pid
        if not self.is_remote:
            return
        import_error, checks, contract = _run_remotely(gateway, VERSIONS)
        run_session = self._config.stash[session_key]
        if import_error:
            hint = "install it there, with pytest-xdist"
            raise UsageError(
                f"the suite is not installed there: {_last_line(import_error)}", where=str(gateway.spec), hint=hint
            )
        if (checks, contract) != (check_set_digest(), run_session.contract.digest):
            raise UsageError("the suite there has another version", where=str(gateway.spec), hint="install this one")
        assert run_session.options.profile is not None
        folder, profile, words = _run_remotely(gateway, PREPARE, pack(bundle_of(run_session.options.profile)))
        self._folders[gateway.id] = folder, profile
        # pytest-xdist sends these words to the worker as its command line
        expressions = replace(RunOptions(), keyword=run_session.options.keyword, markers=run_session.options.markers)
        params = self._config.invocation_params
        self._config.invocation_params = replace(params, args=(*words, *pytest_words(expressions)))

    def complete_input(self, gateway: str, base_input: dict[str, Any]) -> dict[str, Any]:
        """A worker's input, with the members that a process on another machine needs."""
        if not self.is_remote:
            return base_input
        folder, profile = self._folders[gateway]
        options = {**base_input["options"], "profile": profile, "report_dir": folder}
        part = {**base_input["part"], "keys": self._config.stash[session_key].keys}
        return {**base_input, "options": options, "part": part}

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> Iterator[None]:
        """Runs in a thread of the gateway: errors are recorded for the end of the run."""
        self.store_lines(data.get("worker_id", ""), data)
        return (yield)

    def store_lines(self, worker: str, data: Mapping[str, Any] | None) -> None:
        """Removes the journal lines from the data of a report, or from a worker's output, and writes them to a file."""
        lines = data.pop(LINES, b"") if isinstance(data, dict) else b""
        if not lines:
            return
        run_session = self._config.stash[session_key]
        try:
            if worker not in self._files:
                path = run_session.directory / f"journal-{worker}.ndjson"
                self._files[worker] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            while lines:
                lines = lines[os.write(self._files[worker], lines) :]
        except OSError as error:
            hint = f" ({space_hint(error)})" if space_hint(error) else ""
            self._config.stash[ending_key].fail(f"{run_session.directory_name}: {error.strerror}{hint}")

    def pytest_unconfigure(self) -> None:
        for file in self._files.values():
            os.close(file)


def _run_remotely(gateway: execnet.Gateway, source: str, *arguments: Any) -> Any:
    """Runs Python source in a gateway and returns the value that it sends. A gateway runs one source at a time."""
    channel = gateway.remote_exec(source)
    for value in arguments:
        channel.send(value)
    answer = channel.receive(_ANSWER_TIMEOUT_S)
    channel.waitclose(_ANSWER_TIMEOUT_S)
    return answer


def _last_line(text: object) -> str:
    return (clean_with_all(str(text)).strip().splitlines() or [type(text).__name__])[-1][:300]
