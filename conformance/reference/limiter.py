"""The rate limiter: fixed windows for each bucket, by default one for each caller and operation.

The default limit is never reached in practice; the control app lowers it (`set`) and restores it (`restore`).
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Callable

from sqlalchemy import delete, insert, select

from conformance.reference.call import Call
from conformance.reference.store import Store
from conformance.reference.tables import hits, meta

_SWITCH = "rate_limit"


class Limiter:
    """Counts in memory. For several processes on one store, see `SharedLimiter`."""

    def __init__(self) -> None:
        self._override: tuple[int, float] | None = None
        self._windows: dict[str, tuple[float, int]] = {}
        self._lock = threading.Lock()
        self.calls = 0
        """Number of calls counted, over all buckets."""

    def set_limit(self, limit: int, window_s: float) -> None:
        with self._lock:
            self._override = (limit, window_s)
            self._windows.clear()

    def restore(self) -> None:
        with self._lock:
            self._override = None
            self._windows.clear()

    def limit(self, default: tuple[int, float]) -> tuple[int, float]:
        return self._override or default

    def count_call(self) -> int:
        with self._lock:
            self.calls += 1
            return self.calls

    def count_request(
        self, bucket: str, window_s: float, clock: Callable[[], float] = time.monotonic
    ) -> tuple[int, float]:
        """Counts one request; returns the count in its window, and the seconds until the next window."""
        now = clock()
        with self._lock:
            start, count = self._windows.get(bucket, (now, 0))
            if now - start >= window_s:
                start, count = now, 0
            self._windows[bucket] = (start, count + 1)
        return count + 1, window_s - (now - start)


class SharedLimiter(Limiter):
    """Keeps its switch, and the counts of a lowered limit, in the store, for all processes on it.

    Each process counts the default limit, which is never reached, for itself.
    """

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    def set_limit(self, limit: int, window_s: float) -> None:
        with self._store.write() as db:
            db.execute(delete(hits))
            db.execute(delete(meta).where(meta.c.name == _SWITCH))
            db.execute(insert(meta).values(name=_SWITCH, value=f"{limit} {window_s}"))

    def restore(self) -> None:
        with self._store.write() as db:
            db.execute(delete(hits))
            db.execute(delete(meta).where(meta.c.name == _SWITCH))

    def limit(self, default: tuple[int, float]) -> tuple[int, float]:
        with self._store.read() as db:
            value = db.execute(select(meta.c.value).where(meta.c.name == _SWITCH)).scalar()
        if value is None:
            return default
        limit, window_s = str(value).split()
        return int(limit), float(window_s)

    def count_request(self, bucket: str, window_s: float, clock: Callable[[], float] = time.time) -> tuple[int, float]:
        if self.limit((-1, 0.0))[0] < 0:
            return super().count_request(bucket, window_s)
        now = clock()
        with self._store.write() as db:
            self._store.lock(db, hashlib.sha256(bucket.encode()).hexdigest())
            row = db.execute(select(hits).where(hits.c.bucket == bucket)).first()
            start, count = (row.window, row.number) if row and now - row.window < window_s else (now, 0)
            db.execute(delete(hits).where(hits.c.bucket == bucket))
            db.execute(insert(hits).values(bucket=bucket, window=start, number=count + 1))
        return count + 1, window_s - (now - start)


def admit(call: Call) -> float | None:
    """None to admit a call, or the seconds to wait."""
    rules = call.policy.limits
    limit, window_s = call.limiter.limit((rules.limit, rules.window_s))
    count, wait_s = call.limiter.count_request(rules.bucket(call), window_s)
    return wait_s if count > limit else None


def by_key(call: Call) -> str:
    """Each key is counted separately for each operation; anonymous callers share a count."""
    return f"{call.caller.name if call.caller else 'anonymous'}:{call.operation}"


def by_installation(call: Call) -> str:
    return call.caller.installation if call.caller else "anonymous"


def by_operation(call: Call) -> str:
    return call.operation


def by_address(_call: Call) -> str:
    """All clients of a test have the same address."""
    return "address"


def retry_after(seconds: float) -> tuple[tuple[str, str], ...]:
    return (("Retry-After", str(max(1, math.ceil(seconds)))),)
