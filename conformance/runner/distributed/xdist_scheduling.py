"""Scheduling for pytest-xdist: each worker receives all its items at the start, so that its engine runs them together.

Exclusive items are sent to one worker after all other workers have ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling
from xdist.workermanage import WorkerController

from conformance.checks.support.registry import Instance, all_checks
from conformance.core.errors import UsageError
from conformance.engine.session import Session
from conformance.profile.shares import check_shareable
from conformance.runner.distributed.controller import Gateways
from conformance.runner.items import session_key
from conformance.runner.options import WORKER_INPUT, worker_input
from conformance.runner.sharding import dealt, selection_of

SECRETS = "conformance_secrets"
"""The key of the secrets that a worker knows, in its output to the controller, which is sent through a pipe."""
_INTERRUPTED = "keyboard-interrupt"
"""The error that pytest-xdist reports for a worker ended by Ctrl-C."""


def share_of(checks: Sequence[Instance], config: pytest.Config) -> list[Instance]:
    """The ordinary checks of this worker, and all exclusive ones, since any worker may be sent those."""
    ordinary, exclusive = dealt(checks, *config.stash[session_key].part.share)
    return [*ordinary, *exclusive]


class SharedScheduling(LoadScheduling):
    """Distributes the ordinary items round robin; the last running worker gets the exclusive ones."""

    def __init__(
        self, config: pytest.Config, log: Any, begin: Callable[[Sequence[str]], None], numbers: Mapping[str, int]
    ) -> None:
        super().__init__(config, log)
        self._numbers = numbers
        self._exclusive: list[int] = []
        self._begun = False
        self._begin = begin

    def schedule(self) -> None:
        if self._begun:
            for node in self.nodes:
                self.check_schedule(node)
            return
        if len(set(map(tuple, self.node2collection.values()))) > 1:
            what = "the workers collected different checks"
            report = pytest.CollectReport(nodeid="", outcome="failed", longrepr=what, result=[])
            self.config.hook.pytest_collectreport(report=report)
            return
        collection: list[str] = next(iter(self.node2collection.values()))
        self.collection, self._begun = collection, True
        self._begin(collection)
        names = {check.name for check in all_checks() if check.exclusive}
        alone = [i for i, nodeid in enumerate(collection) if nodeid.partition("::")[2].split("[")[0] in names]
        ordinary = [i for i in range(len(collection)) if i not in set(alone)]
        self._exclusive = alone
        nodes = sorted(self.nodes, key=lambda node: self._numbers[node.gateway.id])
        for index, node in enumerate(nodes):
            share = ordinary[index :: len(nodes)]
            self.node2pending[node].extend(share)
            if share:
                node.send_runtest_some(share)
            if index or not alone:
                node.shutdown()
        self._maybe_send_exclusive()

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
        if self.pending:
            super().check_schedule(node, duration)

    def remove_node(self, node: WorkerController) -> str | None:
        crashed: str | None = super().remove_node(node)
        self._maybe_send_exclusive()
        return crashed

    def _maybe_send_exclusive(self) -> None:
        if self._exclusive and len(self.nodes) == 1:
            last = self.nodes[0]
            self.node2pending[last].extend(self._exclusive)
            last.send_runtest_some(self._exclusive)
            self._exclusive = []
            last.shutdown()

    @property
    def tests_finished(self) -> bool:
        return not self._exclusive and super().tests_finished


class Sharing:
    """A pytest plugin, registered with pytest-xdist only: starts the workers' parts of the run, and ends them."""

    def __init__(self, config: pytest.Config, gateways: Gateways) -> None:
        self._config = config
        self._gateways = gateways
        self._numbers: dict[str, int] = {}
        """The worker's number from 0, by gateway id."""
        self._nodes: list[WorkerController] = []
        """The running workers."""

    def pytest_configure_node(self, node: WorkerController) -> None:
        own = self._session
        workers = int(node.workerinput["workercount"])
        try:
            check_shareable(own.profile, workers)
        except UsageError as error:
            pytest.exit(str(error), returncode=error.exit_code)
        share = (self._numbers.setdefault(node.gateway.id, len(self._numbers)), workers)
        node.workerinput[WORKER_INPUT] = self._gateways.complete_input(node.gateway.id, worker_input(own, share))

    def end_workers(self, signal_name: str) -> None:
        """Ends all workers, so that none writes while their journals are joined.

        Ctrl-C in a terminal has reached them already; any other signal reached this process only.
        """
        if signal_name != signal.SIGINT.name:
            for node in self._nodes:
                if (pid := self._gateways.children.get(node.gateway.id)) is not None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGINT)
        if self._nodes:
            self._config.pluginmanager.getplugin("dsession").nodemanager.teardown_nodes()
            self._nodes.clear()

    def pytest_testnodeready(self, node: WorkerController) -> None:
        self._nodes.append(node)

    def pytest_testnodedown(self, node: WorkerController, error: object) -> None:
        """Adds the worker's secrets to those of the run. The checks of a crashed worker are not run."""
        self._nodes = [other for other in self._nodes if other is not node]
        last_word = getattr(node, "workeroutput", None) or {}
        self._session.secrets.add_ephemeral_secrets("worker", last_word.pop(SECRETS, ()))
        self._gateways.received(node.gateway.id, last_word)
        if error and error != _INTERRUPTED:
            from conformance.runner.items import ending_key

            told = " ".join(str(error).split())
            self._config.stash[ending_key].fail(f"the suite erred: worker {node.gateway.id} ended: {told}")

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> SharedScheduling:
        return SharedScheduling(config, log, self._begin, self._numbers)

    def _begin(self, nodeids: Sequence[str]) -> None:
        """Writes the journal's first line when the workers have collected their items."""
        parts = (nodeid.partition("::") for nodeid in nodeids)
        told = {f"{PurePosixPath(file).stem}::{name}" for file, _, name in parts}
        if selected := [instance for instance in self._session.instances if instance.id in told]:
            self._session.write_head(selected, selection_of(self._session, self._config))

    @property
    def _session(self) -> Session:
        return self._config.stash[session_key]
