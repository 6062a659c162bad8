"""Sends webhook deliveries: one thread for each process, notified when a transaction may have added one.

Only loopback addresses are contacted; other deliveries are marked `skipped` without any traffic. A failed delivery is
retried with growing pauses, `ATTEMPTS` times in all. Workers that share a store claim a delivery before sending it.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import logging
import threading
import time
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import SQLAlchemyError

from conformance.reference.store import Store
from conformance.reference.tables import deliveries
from conformance.reference.webhooks import is_loopback

ATTEMPTS = 4
PAUSES_S = (0.1, 0.5, 2.0)
TIMEOUT_S = 2.0
LEASE_S = 10.0

_log = logging.getLogger(__name__)
_DUE = (
    select(deliveries)
    .where(deliveries.c.state == "pending", deliveries.c.due_at <= bindparam("now"))
    .order_by(deliveries.c.due_at)
    .limit(20)
)
_CLAIM = (
    update(deliveries)
    .where(deliveries.c.id == bindparam("key"), deliveries.c.attempts == bindparam("seen"))
    .values(attempts=deliveries.c.attempts + 1, due_at=bindparam("until"))
)
_SETTLE = (
    update(deliveries).where(deliveries.c.id == bindparam("key")).values(state=bindparam("to"), due_at=bindparam("at"))
)


class Courier:
    """`watch` a store, `wake` after an event was written, `stop` at the end."""

    def __init__(self) -> None:
        self._woken: dict[int, Store] = {}
        self._bell = threading.Condition()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)

    def watch(self, store: Store) -> None:
        """Sends the deliveries that an earlier process did not send."""
        self.wake(store)

    def wake(self, store: Store) -> None:
        with self._bell:
            self._woken[id(store)] = store
            if not self._thread.is_alive() and not self._is_stopped:
                self._thread.start()
            self._bell.notify()

    def stop(self) -> None:
        with self._bell:
            self._is_stopped = True
            self._bell.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        later: dict[int, tuple[float, Store]] = {}
        while True:
            with self._bell:
                due = min((at for at, _ in later.values()), default=None)
                if not self._woken and not self._is_stopped:
                    self._bell.wait(None if due is None else max(0.0, due - time.time()))
                if self._is_stopped:
                    return
                stores, self._woken = self._woken, {}
            stores.update({key: store for key, (at, store) in later.items() if at <= time.time()})
            for key, store in stores.items():
                later.pop(key, None)
                pause = self._deliver(store)
                if pause is not None:
                    later[key] = (time.time() + pause, store)

    def _deliver(self, store: Store) -> float | None:
        """Sends the due deliveries; returns the seconds until the next one, or None."""
        try:
            with store.read() as db:
                rows = db.execute(_DUE, {"now": time.time()}).all()
            for row in rows:
                _send(store, row)
            return _next_due(store)
        except SQLAlchemyError:
            if not self._is_stopped:
                _log.warning("deliveries could not be read", exc_info=True)
            return None


def _next_due(store: Store) -> float | None:
    pending = select(deliveries.c.due_at).where(deliveries.c.state == "pending").order_by(deliveries.c.due_at).limit(1)
    with store.read() as db:
        due = db.execute(pending).scalar()
    return None if due is None else max(0.0, float(due) - time.time())


def _send(store: Store, row: Any) -> None:
    now = time.time()
    with store.write() as db:
        claim = {"key": row.id, "seen": row.attempts, "until": now + LEASE_S}
        if not db.execute(_CLAIM, claim).rowcount:
            return
    attempts = row.attempts + 1
    state, at = _outcome(row, attempts, now)
    with store.write() as db:
        db.execute(_SETTLE, {"key": row.id, "to": state, "at": at})


def _outcome(row: Any, attempts: int, now: float) -> tuple[str, float]:
    if not is_loopback(row.url):
        return "skipped", now
    if _post(row):
        return "delivered", now
    return ("failed", now) if attempts >= ATTEMPTS else ("pending", now + PAUSES_S[attempts - 1])


def _post(row: Any) -> bool:
    stamp = str(int(time.time()))
    signature = hmac.new(row.secret.encode(), f"{stamp}.{row.payload}".encode(), hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "Webhook-Id": row.id,
        "Webhook-Timestamp": stamp,
        "Webhook-Signature": f"v1={signature}",
    }
    try:
        url = urlsplit(row.url)
        path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        with closing(http.client.HTTPConnection(url.hostname or "", url.port or 80, timeout=TIMEOUT_S)) as connection:
            connection.request("POST", path, row.payload.encode(), headers)
            return 200 <= connection.getresponse().status < 300
    except (OSError, http.client.HTTPException, ValueError):
        return False
