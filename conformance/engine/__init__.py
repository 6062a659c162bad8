"""One run: session, options, scheduler, check runner, start-up, resume, first failure (design, Engine)."""

__all__ = ["in_process", "open_context", "options", "resume", "scheduler", "session", "startup"]
