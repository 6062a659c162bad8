"""Paths as people are shown them: relative to the current folder where the file lies below it, else absolute."""

from __future__ import annotations

import shlex
from pathlib import Path


def shown_path(path: str | Path) -> str:
    """The path of the same file, in the form that can be typed here."""
    try:
        return str(Path(path).absolute().relative_to(Path.cwd()))
    except (OSError, ValueError):  # the current folder is gone, or the file lies elsewhere
        return str(path)


def shown_command(command: str, profile: str) -> str:
    """A command of a run with that profile, as it can be typed here."""
    stored, shown = (f"--profile {shlex.quote(path)} " for path in (profile, shown_path(profile)))
    return command.replace(stored, shown, 1) if profile else command
