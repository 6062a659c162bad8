"""A command, not a test: counts what each check costs and writes `conformance/checks/support/costs.json`.

Run it after a check was added or changed: `python -m tests.matrix.count_costs`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance.checks.support import costs
from conformance.engine.in_process import complete, patched_profile, reference_options
from conformance.engine.session import Session
from conformance.journal.journal import MemoryJournal
from conformance.reference.registry import variants
from conformance.runner import embedded_reference as embedded


def counted(service: embedded.Embedded, folder: Path) -> Iterator[costs.Costs]:
    profile = embedded.bundled_profiles() / "reference.toml"
    for name in ("", *variants()):
        options = reference_options(service.base_url, service.control_url, name, profile, folder / (name or "plain"))
        own = patched_profile(options, variants()[name].profile) if name else None
        session = Session(options, own, MemoryJournal())
        session.claim()
        run = complete(session, session.instances)
        assert session.runtime is not None
        print(name or "reference", run.verdict, f"{run.traffic.requests:,} requests", flush=True)
        yield costs.count_costs(run, session.runtime.fixtures.use_counts)


def main() -> None:
    with (
        embedded.reference() as service,
        embedded.environment(service.environment),
        tempfile.TemporaryDirectory() as folder,
    ):
        table = costs.to_table(costs.merge_maximum(counted(service, Path(folder))))
    lines = (f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in table.items())
    costs.FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
