"""Targets by path prefix: one process serves the reference, every variant and every fault, each with its own store.

`/` is the default target; `/F024/...` that fault; `/F024~3/...` the same fault with separate state; `/D11+F024/...`
both together; `/R001/...` a random target registered under that name.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from conformance.core.errors import UsageError
from conformance.reference import registry
from conformance.reference.call import Call, Request
from conformance.reference.courier import Courier
from conformance.reference.keys import KeyRing
from conformance.reference.limiter import Limiter, SharedLimiter
from conformance.reference.policy import Policy
from conformance.reference.random_targets.boundary import Boundary
from conformance.reference.random_targets.choices import RandomTarget
from conformance.reference.random_targets.policy_builder import policy_of
from conformance.reference.routes import Router
from conformance.reference.store import MEMORY, Store

T = TypeVar("T")
_RANDOM_NAME = re.compile("R[0-9]{1,9}")
_PREFIX = re.compile(rb"/([A-Za-z0-9+]+(?:~[A-Za-z0-9_.-]{1,64})?)(?=/|$)")


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    prefix: bytes
    policy: Policy
    store: Store
    keys: KeyRing
    limiter: Limiter
    router: Router
    boundary: Boundary | None = None
    """The translation of a random target; None: the reference's own names."""

    def needs_no_thread(self, call: Call) -> bool:
        """Whether a call may run in the event loop: it does not wait for another process, and need not overlap."""
        if not call.operation or (call.operation in self.policy.local and not isinstance(self.limiter, SharedLimiter)):
            return True
        return self.store.private and not self.policy.overlap

    async def run(self, work: Callable[[], T]) -> T:
        """Runs work on the store, in a thread where it may have to wait."""
        return work() if self.store.private else await run_in_threadpool(work)

    def call(self, request: Request) -> Call:
        """A new call of this target, with its operation where one matches."""
        call = Call(request, self.policy, self.store, self.keys, self.limiter, time.time())
        segments = self.policy.split(request.path)
        if segments:
            found = self.router.match(request.method, segments)
            if found:
                call.operation, call.path = found
            else:
                call.methods = self.router.methods(segments)
        return call


class Hub:
    """All targets of one process. They share the keys and nothing else."""

    def __init__(self, database: str | None = None, default: str = "reference", is_shared: bool = False) -> None:
        self._database = database or MEMORY
        self._is_shared = is_shared
        self._targets: dict[bytes, Target | None] = {}
        self._lock = threading.Lock()
        self.courier = Courier()
        first = Store(self._database)
        self.keys = KeyRing(first.seed())
        self.default = self._make(default, b"", first)

    def find(self, raw_path: bytes) -> tuple[Target, bytes]:
        """The target of a raw path, and the path relative to it."""
        found = _PREFIX.match(raw_path)
        if found and found[1] != b"api":
            target = self._find_named(found[1])
            if target is not None:
                return target, raw_path[found.end() :] or b"/"
        return self.default, raw_path

    def _find_named(self, name: bytes) -> Target | None:
        if name not in self._targets:
            with self._lock:
                if name not in self._targets:
                    self._targets[name] = self._create(name.decode())
        return self._targets[name]

    def _create(self, name: str) -> Target | None:
        try:
            registry.resolve(name.partition("~")[0])
        except UsageError:
            return None
        return self._make(name, f"/{name}".encode(), Store(self._database, name))

    def _make(self, name: str, prefix: bytes, store: Store) -> Target:
        return self._target(name, prefix, store, registry.resolve(name.partition("~")[0]))

    def _target(
        self, name: str, prefix: bytes, store: Store, policy: Policy, boundary: Boundary | None = None
    ) -> Target:
        self.courier.watch(store)
        limiter = SharedLimiter(store) if self._is_shared else Limiter()
        return Target(name, prefix, policy, store, self.keys, limiter, Router(policy.routes), boundary)

    def serve(self, name: str, policy: Policy) -> None:
        """Makes a target of this policy, with a store of its own, the default one."""
        self._targets[b""] = self.default
        self.default = self._target(name, b"", Store(self._database, name), policy)

    def register(self, name: str, random_target: RandomTarget) -> None:
        """Serves a random target below `/name` in this process. Raises UsageError on a bad name."""
        key = name.encode()
        if not _RANDOM_NAME.fullmatch(name) or self._is_shared or key in self._targets:
            raise UsageError(f"no random target can be named {name}", hint="R and a number, each once, on one worker")
        boundary = Boundary(random_target)
        policy = policy_of(random_target, boundary)
        target = self._target(name, f"/{name}".encode(), Store(self._database, name), policy, boundary)
        with self._lock:
            self._targets[key] = target

    def close(self) -> None:
        self.courier.stop()
        for target in (self.default, *self._targets.values()):
            if target is not None:
                target.store.close()
