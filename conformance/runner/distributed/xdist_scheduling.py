"""Scheduling for pytest-xdist: each worker receives all its items at the start, so that its engine runs them together.

Exclusive items are sent to one worker after all other workers have ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import pytest
from xdist.scheduler import LoadScheduling
from xdist.workermanage import WorkerController

from conformance.checks.support.registry import Instance, all_checks
from conformance.core.errors import UsageError
from conformance.engine.session import Session
from conformance.profile.shares import check_shareable
from conformance.runner.distributed.controller import Gateways
from conformance.runner.fail_fast import INTERRUPTED_WORKER
from conformance.runner.items import session_key
from conformance.runner.options import WORKER_INPUT, worker_input
from conformance.runner.priority import select_for_depth
from conformance.runner.sharding import describe_selection, split_checks

SECRETS = "conformance_secrets"
"""The key of the secrets that a worker knows, in its output to the controller, which is sent through a pipe."""
_WORKER_GRACE_S: Final = 20.0
"""Seconds after the deadline in which a worker ends by itself; then it is killed: a stopped one would hold the run."""

_KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Windows has no SIGKILL; its SIGTERM is not handled either."""


def worker_checks(checks: Sequence[Instance], config: pytest.Config) -> list[Instance]:
    """The ordinary checks of this worker, and all exclusive ones, since any worker may be sent those."""
    ordinary, exclusive = split_checks(checks, *config.stash[session_key].part.share)
    return [*ordinary, *exclusive]


class SharedScheduling(LoadScheduling):
    """Distributes the ordinary items round robin; the last running worker gets the exclusive ones."""

    def __init__(
        self,
        config: pytest.Config,
        log: Any,
        write_head: Callable[[Sequence[str]], None],
        worker_numbers: Mapping[str, int],
    ) -> None:
        super().__init__(config, log)
        self._worker_numbers = worker_numbers
        self._exclusive: list[int] = []
        self._is_started = False
        self._write_head = write_head

    def schedule(self) -> None:
        if self._is_started:
            for node in self.nodes:
                self.check_schedule(node)
            return
        if len(set(map(tuple, self.node2collection.values()))) > 1:
            problem = "the workers collected different checks"
            report = pytest.CollectReport(nodeid="", outcome="failed", longrepr=problem, result=[])
            self.config.hook.pytest_collectreport(report=report)
            return
        collection: list[str] = next(iter(self.node2collection.values()))
        self.collection, self._is_started = collection, True
        self._write_head(collection)
        names = {check.name for check in all_checks() if check.exclusive}
        exclusive = [i for i, nodeid in enumerate(collection) if nodeid.partition("::")[2].split("[")[0] in names]
        ordinary = [i for i in range(len(collection)) if i not in set(exclusive)]
        self._exclusive = exclusive
        nodes = sorted(self.nodes, key=lambda node: self._worker_numbers[node.gateway.id])
        for index, node in enumerate(nodes):
            share = ordinary[index :: len(nodes)]
            self.node2pending[node].extend(share)
            if share:
                node.send_runtest_some(share)
            if index or not exclusive:
                node.shutdown()
        self._maybe_send_exclusive()

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
        """Sends nothing: each worker has all its items."""

    def remove_node(self, node: WorkerController) -> str | None:
        """Removes a worker that has ended. If it crashed, no other worker gets its items; returns the first of them."""
        unfinished = self.node2pending.pop(node)
        self._maybe_send_exclusive()
        return self.collection[unfinished[0]] if self.collection and unfinished else None

    def _maybe_send_exclusive(self) -> None:
        if self._exclusive and len(self.nodes) == 1:
            last_node, exclusive = self.nodes[0], self._exclusive
            self._exclusive = []
            if last_node.shutting_down:  # the worker that they were meant for has crashed
                return
            self.node2pending[last_node].extend(exclusive)
            last_node.send_runtest_some(exclusive)
            last_node.shutdown()

    @property
    def tests_finished(self) -> bool:
        return not self._exclusive and super().tests_finished


class WorkerShares:
    """A pytest plugin, registered with pytest-xdist only: starts the workers' parts of the run, and ends them."""

    def __init__(self, config: pytest.Config, gateways: Gateways) -> None:
        self._config = config
        self._gateways = gateways
        self._worker_numbers: dict[str, int] = {}
        """The worker's number from 0, by gateway id."""
        self._nodes: list[WorkerController] = []
        """The running workers."""
        self._ready: set[str] = set()
        """The gateway ids of the workers that have been ready."""
        self.crash = ""
        """Which worker ended before its work was done; empty if all did it."""
        self._watchdog: threading.Timer | None = None
        self._has_ended = False

    def pytest_configure_node(self, node: WorkerController) -> None:
        run_session = self._session
        workers = int(node.workerinput["workercount"])
        try:
            check_shareable(run_session.profile, workers)
        except UsageError as error:
            pytest.exit(str(error), returncode=error.exit_code)
        self._start_watchdog()
        share = (self._worker_numbers.setdefault(node.gateway.id, len(self._worker_numbers)), workers)
        node.workerinput[WORKER_INPUT] = self._gateways.complete_input(
            node.gateway.id, worker_input(run_session, share)
        )

    def end_workers(self, signal_name: str) -> None:
        """Ends all workers, so that none writes while their journals are joined.

        Ctrl-C in a terminal has reached them already; any other signal reached this process only.
        """
        if signal_name != signal.SIGINT.name:
            self._signal_children([node.gateway.id for node in self._nodes], signal.SIGINT)
        if self._nodes:
            self._config.pluginmanager.getplugin("dsession").nodemanager.teardown_nodes()
            self._nodes.clear()

    def pytest_testnodeready(self, node: WorkerController) -> None:
        self._nodes.append(node)
        self._ready.add(node.gateway.id)
        self._start_watchdog()  # its deadline begins now

    def _start_watchdog(self, wait_s: float | None = None) -> None:
        """Starts the wait for the end of all workers anew: their whole deadline, or `wait_s`."""
        deadline_s = self._session.deadline_s
        if deadline_s is None or self._has_ended:
            return
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._watchdog = threading.Timer(deadline_s + _WORKER_GRACE_S if wait_s is None else wait_s, self._kill_workers)
        self._watchdog.daemon = True
        self._watchdog.start()

    def _kill_workers(self) -> None:
        """Kills the workers of this machine that hang. Called in the watchdog's thread.

        One that has not been asked to end may only wait for the exclusive items, which it gets when all others ended.
        """
        nodes = tuple(self._nodes)
        ending = [node for node in nodes if node.shutting_down] or nodes
        not_ready = [gateway for gateway in tuple(self._gateways.children) if gateway not in self._ready]
        self._signal_children([*not_ready, *(node.gateway.id for node in ending)], _KILL)
        self._start_watchdog(_WORKER_GRACE_S)

    def _signal_children(self, gateways: Iterable[str], number: signal.Signals) -> None:
        """Sends a signal to the workers that are children of this process, by gateway id."""
        for gateway in gateways:
            if (pid := self._gateways.children.get(gateway)) is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def pytest_unconfigure(self) -> None:
        self._has_ended = True
        if self._watchdog is not None:
            self._watchdog.cancel()

    def pytest_testnodedown(self, node: WorkerController, error: object) -> None:
        """Adds the worker's secrets to those of the run. The checks of a crashed worker are not run."""
        self._nodes = [other for other in self._nodes if other is not node]
        worker_output = getattr(node, "workeroutput", None) or {}
        self._session.secrets.add_ephemeral_secrets("worker", worker_output.pop(SECRETS, ()))
        self._gateways.store_lines(node.gateway.id, worker_output)
        if error and error != INTERRUPTED_WORKER:
            from conformance.runner.items import ending_key

            self.crash = f"worker {node.gateway.id} ended: {' '.join(str(error).split())}"
            self._config.stash[ending_key].fail(f"the suite erred: {self.crash}")

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> SharedScheduling:
        return SharedScheduling(config, log, self._write_head, self._worker_numbers)

    def _write_head(self, nodeids: Sequence[str]) -> None:
        """Writes the journal's first line when the workers have collected their items."""
        split_ids = (nodeid.partition("::") for nodeid in nodeids)
        selected_ids = {f"{PurePosixPath(file).stem}::{name}" for file, _, name in split_ids}
        if selected := [instance for instance in self._session.instances if instance.id in selected_ids]:
            # what a filter dropped was not left out by the depth
            is_whole = select_for_depth(self._session.instances, self._session) == selected_ids
            left_out = [i for i in self._session.instances if i.id not in selected_ids] if is_whole else []
            self._session.write_head(selected, describe_selection(self._session, self._config), left_out)

    @property
    def _session(self) -> Session:
        return self._config.stash[session_key]
