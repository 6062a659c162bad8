"""The tables of the reference service. JSON values are kept as text, times as seconds since 1970: portable SQL."""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()

meta = Table("meta", metadata, Column("name", String(100), primary_key=True), Column("value", Text, nullable=False))

objects = Table(
    # carts, orders, webhook endpoints and hosted sessions: one state machine each, one shape of row
    "objects",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("installation", String(20), nullable=False),
    Column("state", String(20), nullable=False),
    Column("version", Integer, nullable=False),
    Column("data", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Index("objects_by_kind", "installation", "kind", "created_at"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("installation", String(20), nullable=False),
    Column("endpoint", String(100), nullable=False),
    Column("event", String(100), nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", String(100), nullable=False),
    Column("payload", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("due_at", Float, nullable=False),
    Index("deliveries_by_installation", "installation", "created_at"),
    Index("deliveries_due", "state", "due_at"),
)

codes = Table(
    "codes",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("client_id", String(100), nullable=False),
    Column("redirect_uri", Text, nullable=False),
    Column("challenge", String(200), nullable=False),
    Column("method", String(20), nullable=False),
    Column("jkt", String(100), nullable=False),
    Column("issued_at", Float, nullable=False),
    Column("used", Integer, nullable=False),
)

proofs = Table(
    "proofs",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("expires_at", Float, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("client_id", String(100), nullable=False),
    Column("jkt", String(100), nullable=False),
    Column("expires_at", Float, nullable=False),
)

records = Table(
    # idempotency: the answer of a completed call, written in the transaction of its effect
    "records",
    metadata,
    Column("address", String(64), primary_key=True),
    Column("owner", String(200), nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("status", Integer, nullable=False),
    Column("answer", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Index("records_by_owner", "owner", "created_at"),
)

reservations = Table(
    # idempotency: calls in progress, visible to every worker
    "reservations",
    metadata,
    Column("address", String(64), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("expires_at", Float, nullable=False),
)

effects = Table(
    # ground truth for the control app, written in the transaction of each effect
    "effects",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("operation", String(100), nullable=False),
    Column("resource", String(200), nullable=False),
    Column("detail", Text, nullable=False),
    Column("at", Float, nullable=False),
    Index("effects_by_operation", "operation", "resource"),
)

hits = Table(
    # rate limiter, where several processes share one store
    "hits",
    metadata,
    Column("bucket", String(200), primary_key=True),
    Column("window", Float, nullable=False),
    Column("number", Integer, nullable=False),
)
