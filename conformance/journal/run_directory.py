"""The folder of a run: claimed before the first request, and read after the run, even if it was killed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Final

from conformance.core.errors import ReportDirError
from conformance.journal.exchange_store import Place
from conformance.journal.journal import NAME
from conformance.journal.lines import Line
from conformance.journal.reader import read_with_places

_WORKER_JOURNALS: Final = "journal-*.ndjson"
_HINT: Final = "name another one with --report-dir"
_MAX_RIVALS: Final = 100
"""Runs that begin at once, each of which claims the folder that was unused."""


def claim_directory(requested: Path | None, target: str) -> tuple[Path, list[Path]]:
    """Creates an empty folder for the reports; returns it with the folders that were created for it.

    Raises ReportDirError where that is impossible.
    """
    if requested is not None:
        return _claim(requested, exist_ok=True)
    for _ in range(_MAX_RIVALS):
        directory = _unused_path(Path("reports") / _folder_name(target))
        with contextlib.suppress(_ClaimedError):
            return _claim(directory, exist_ok=False)
    raise ReportDirError("other runs claim every folder", where="reports", hint=_HINT)


class _ClaimedError(ReportDirError):
    """Another run has claimed the folder."""


def _claim(directory: Path, *, exist_ok: bool) -> tuple[Path, list[Path]]:
    created: list[Path] = []
    try:
        created += [path for path in (directory, *directory.parents) if not path.exists()]
        directory.mkdir(parents=True, exist_ok=exist_ok)
        if any(directory.iterdir()):
            raise ReportDirError("the report directory is not empty", where=str(directory), hint=_HINT)
        (directory / NAME).touch(exist_ok=False)  # of two runs that begin at once, one gets the folder
    except OSError as error:
        for path in created:
            if path.is_symlink():
                problem, hint = f"broken symbolic link to {path.readlink()}", f"remove it, or {_HINT}"
                raise ReportDirError(problem, where=str(path), hint=hint) from None
        if isinstance(error, FileExistsError) and not exist_ok:  # the folder is the other run's: it stays
            raise _ClaimedError("another run has claimed it", where=str(directory), hint=_HINT) from None
        remove_empty(created)
        problem = f"the report directory cannot be used: {error.strerror}"
        raise ReportDirError(problem, where=str(directory), hint=_HINT) from None
    return directory, created


def _folder_name(target: str) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', target)}-{stamp}"


def _unused_path(directory: Path) -> Path:
    """Two runs that begin in the same second get different folders."""
    candidates = (directory.with_name(f"{directory.name}-{number}") for number in count(2))
    return next(path for path in chain([directory], candidates) if not path.exists())


def remove_empty(directories: Iterable[Path]) -> None:
    """Removes folders up to the first that is not empty."""
    with contextlib.suppress(OSError):
        for path in directories:
            path.rmdir()


def read_lines(directory: Path) -> Iterator[tuple[Line, Place]]:
    """The lines of a run's journal, followed by the journals of workers of a killed run.

    `directory`: the run's, or a journal file. Raises JournalError where one cannot be read.
    """
    paths = journal_paths(directory) if directory.is_dir() else (directory,)
    return chain.from_iterable(read_with_places(path) for path in paths)


def journal_paths(directory: Path) -> tuple[Path, ...]:
    return (directory / NAME, *worker_journals(directory))


def worker_journals(directory: Path) -> list[Path]:
    """The journals of workers, which are joined when all have ended."""
    return sorted(directory.glob(_WORKER_JOURNALS))
