"""A summary of what each hostile mode cost."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, ()) if r.when == "call"]
    told = {r.nodeid.partition("::")[2]: dict(r.user_properties) for r in reports}
    figures = {name: found for name, found in told.items() if "tree_mb" in found}
    if not figures:
        return
    late = max(figures, key=lambda name: figures[name]["beyond_deadline_s"])
    big = max(figures, key=lambda name: figures[name]["tree_mb"])
    terminalreporter.write_line(
        f"hostile modes: {len(figures)}; longest {figures[late]['beyond_deadline_s']} s beyond its deadline ({late}); "
        f"largest tree {figures[big]['tree_mb']} MB ({big})"
    )
