"""pytest-xdist: each worker gets its share of the items at once, so that its engine can run them concurrently.

Exclusive items go to one worker, when all the others have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling
from xdist.workermanage import WorkerController

from conformance.checks.registry import Instance, all_checks


def share_of(checks: Sequence[Instance], config: pytest.Config) -> list[Instance]:
    """What this worker will be sent of the ordinary checks; the rest it runs when it is asked to."""
    told = config.workerinput  # type: ignore[attr-defined]
    index, count = int(told["workerid"].removeprefix("gw")), int(told["workercount"])
    ordinary = [check for check in checks if not check.check.exclusive]
    return [check for number, check in enumerate(ordinary) if number % count == index % count]


class SharedScheduling(LoadScheduling):
    """Deals the ordinary items out in turn, and the exclusive ones to whoever is left last."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        self._exclusive: list[int] = []

    def schedule(self) -> None:
        if self.collection is not None:
            for node in self.nodes:
                self.check_schedule(node)
            return
        if not self._check_nodes_have_same_collection():
            return
        self.collection = next(iter(self.node2collection.values()))
        names = {check.name for check in all_checks() if check.exclusive}
        alone = [i for i, nodeid in enumerate(self.collection) if nodeid.rpartition("::")[2].split("[")[0] in names]
        ordinary = [i for i in range(len(self.collection)) if i not in set(alone)]
        self._exclusive = alone
        nodes = sorted(self.nodes, key=lambda node: int(str(node.gateway.id).removeprefix("gw")))
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
        crashed = super().remove_node(node)
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
    """Registered only where pytest-xdist is."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_configure_node(self, node: WorkerController) -> None:
        from conformance.plugin import session_key

        own = self._config.stash[session_key]
        node.workerinput["conformance"] = {
            "directory": str(own.directory.resolve()),
            "seed": own.seed,
            "run": own.run,
        }

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> SharedScheduling:
        return SharedScheduling(config, log)
