"""Importing this imports all that a run would import on the way: for the process that the runs of many targets are
forked from, which pays once for what each of them would pay. Nothing else imports it: a command starts with as little
as it needs."""

from __future__ import annotations

from importlib import import_module

from conformance import reports
from conformance.checks.support.registry import all_checks, check_set_digest
from conformance.engine.open_context import load_sender

load_sender()
all_checks()
check_set_digest()
reports.load(reports.FORMATS)
for name in ("hypothesis.stateful", "trio.testing"):  # what draws, and what httpcore looks for when it sends
    import_module(name)
