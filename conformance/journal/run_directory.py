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


def claim_directory(requested: Path | None, target: str) -> tuple[Path, list[Path]]:
    """Creates an empty folder for the reports; returns it with the folders that were created for it.

    Raises ReportDirError where that is impossible.
    """
    directory = requested or _unused_path(Path("reports") / _folder_name(target))
    created: list[Path] = []
    hint = "name another one with --report-dir"
    try:
        created += [path for path in (directory, *directory.parents) if not path.exists()]
        directory.mkdir(parents=True, exist_ok=requested is not None)
        if any(directory.iterdir()):
            raise ReportDirError("the report directory is not empty", where=str(directory), hint=hint)
        (directory / NAME).touch(exist_ok=False)  # of two runs that begin at once, one gets the folder
    except OSError as error:
        if isinstance(error, FileExistsError) and requested is None:  # another run has claimed it meanwhile
            return claim_directory(None, target)
        remove_empty(created)
        problem = f"the report directory cannot be used: {error.strerror}"
        raise ReportDirError(problem, where=str(directory), hint=hint) from None
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
