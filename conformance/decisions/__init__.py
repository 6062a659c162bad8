"""Uses of runs: gate a release, sign a certificate, compare runs, show their history. Pure functions of run files."""

__all__ = [
    "badge",
    "certificate",
    "comparison",
    "comparison_report",
    "comparison_runs",
    "explain_failure",
    "gate",
    "gate_policy",
    "gate_report",
    "history",
    "history_report",
    "merge",
    "previous_run",
    "rerun",
]
