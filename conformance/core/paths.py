"""Absolute paths, for files that are used later, and paths for display: relative if the current folder has the file."""

from __future__ import annotations

import shlex
from pathlib import Path


def absolute_path(path: Path) -> Path:
    """The path of the same file when the current folder has changed: a fixture's function may change it."""
    try:
        return path.absolute()
    except OSError:  # the current folder was removed
        return path


def display_path(path: str | Path) -> str:
    """The path of the same file, as it can be typed in the current folder."""
    try:
        return str(Path(path).absolute().relative_to(Path.cwd()))
    except (OSError, ValueError):  # the current folder was removed, or does not contain the file
        return str(path)


def display_command(command: str, profile: str) -> str:
    """A command of a run with that profile, as it can be typed in the current folder."""
    stored, display = (f"--profile {shlex.quote(path)} " for path in (profile, display_path(profile)))
    return command.replace(stored, display, 1) if profile else command
