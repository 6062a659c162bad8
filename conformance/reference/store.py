"""Transactions on any database that SQLAlchemy knows, SQLite in memory by default.

`write()` is one serialisable transaction: BEGIN IMMEDIATE on SQLite, row and advisory locks on other databases. In
memory there is one connection with a lock, released after each transaction, so that steps between two transactions may
interleave as on any other database.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateSchema

from conformance.core.errors import UsageError
from conformance.reference import tables

MEMORY = "sqlite://"


class Store:
    """One target's database. `name` separates targets on one database: a file, or a schema, for each.

    Raises UsageError where the database is not available.
    """

    def __init__(self, url: str = MEMORY, name: str = "") -> None:
        with _database_errors(url):
            self.engine = _engine(url, name)
        self._memory = self.engine.connect() if isinstance(self.engine.pool, StaticPool) else None
        self.private = self._memory is not None
        """Whether only this process uses it, so that no transaction waits for another process."""
        self._lock = threading.Lock()
        self.outbox = False
        """Whether a transaction added a delivery for the courier; only a hint, the table decides."""
        with _database_errors(url):
            self._create()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction; commits at the end of the block, rolls back on an exception."""
        if self._memory is not None:
            with self._lock, self._memory.begin():
                yield self._memory
        else:
            with self.engine.begin() as db:
                yield db

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read-only transaction."""
        if self._memory is not None:
            with self._lock, self._memory.begin():
                yield self._memory
        else:
            with self.engine.connect().execution_options(reading=True) as db:
                yield db

    def lock(self, db: Connection, address: str) -> None:
        """Blocks every other transaction with the same address until this one ends. SQLite needs no such lock."""
        if db.dialect.name == "postgresql":
            number = int(address[:15], 16)
            db.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})

    def setting(self, name: str, default: str) -> str:
        """A value shared by all processes on this store: the first one written wins."""
        with self.read() as db:
            found = db.execute(select(tables.meta.c.value).where(tables.meta.c.name == name)).scalar()
        if found is not None:
            return str(found)
        try:
            with self.write() as db:
                db.execute(insert(tables.meta).values(name=name, value=default))
        except IntegrityError:
            return self.setting(name, default)
        return default

    def seed(self) -> str:
        """The random seed of this store's keys."""
        return self.setting("seed", secrets.token_hex(32))

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
        self.engine.dispose()

    def _create(self) -> None:
        """Creates the tables. Several processes may start concurrently: the losers of the race retry."""
        for attempt in range(5):
            try:
                with self.write() as db:
                    self.lock(db, "5eed5eed5eed5eed")
                    tables.metadata.create_all(db)
                return
            except (IntegrityError, OperationalError, ProgrammingError):
                if attempt == 4:
                    raise
                time.sleep(0.1)


@contextmanager
def _database_errors(url: str) -> Iterator[None]:
    """Turns database errors into UsageError with one line, without the password."""
    try:
        yield
    except ArgumentError:
        raise UsageError("that is not a database URL", where="--database", hint="such as sqlite:///shop.db") from None
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        driver = getattr(error, "name", None) or make_url(url).drivername
        hint = "pip install 'commerce-conformance[postgresql]'" if "psycopg" in driver else "install its driver"
        raise UsageError(f"there is no driver {driver}", where="--database", hint=hint) from None
    except DBAPIError as error:
        safe_url = make_url(url).render_as_string(hide_password=True)
        reason = str(error.orig).strip().partition("\n")[0]
        raise UsageError(f"the database cannot be used: {reason}", where=safe_url, hint="is it up?") from None


def _engine(url: str, name: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(url, name)
    if not name:
        return create_engine(parsed, pool_size=8, max_overflow=16)
    plain = create_engine(parsed)
    schema = "".join(character if character.isalnum() else "_" for character in name.lower())
    with plain.begin() as db:
        db.execute(CreateSchema(schema, if_not_exists=True))
    plain.dispose()
    return create_engine(parsed, pool_size=4, max_overflow=16, connect_args={"options": f"-csearch_path={schema}"})


def _sqlite(url: str, name: str) -> Engine:
    parsed = make_url(url)
    memory = not parsed.database or parsed.database == ":memory:"
    if memory:
        engine = create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})
    else:
        file = f"{parsed.database}.{name}" if name else parsed.database
        engine = create_engine(parsed.set(database=file), pool_size=8, max_overflow=32, connect_args={"timeout": 30})

    @event.listens_for(engine, "connect")
    def configure_connection(connection: Any, _: Any) -> None:
        # the driver would begin read transactions, which cannot be upgraded
        connection.isolation_level = None
        if not memory:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")

    @event.listens_for(engine, "begin")
    def begin_transaction(db: Connection) -> None:
        reading = memory or db.get_execution_options().get("reading")
        connection = db.connection.driver_connection
        assert connection is not None
        connection.execute("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine
