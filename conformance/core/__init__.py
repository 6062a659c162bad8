"""Modules that every room may use: errors, the model of a run, JSON, exit codes, environment variables, interrupts."""

__all__ = [
    "changes",
    "child_process",
    "defaults",
    "environ",
    "errors",
    "exit_codes",
    "files",
    "gc_tuning",
    "interrupts",
    "json_pointer",
    "key_change",
    "messages",
    "model",
    "option",
    "outcomes",
    "package",
    "paths",
    "run_options",
    "strict_json",
    "traffic",
]
