"""Scheduling: how many at once, back-off, what must run alone, control reuse (design, Engine)."""

__all__ = ["in_process", "open_context", "options", "resume", "scheduler", "session", "startup"]
