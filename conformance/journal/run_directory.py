"""The folder of a run: claimed before anything is sent, and read again, whatever became of the run."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from conformance.core.errors import JournalError, ReportDirError
from conformance.journal import journal as journals

_PARTS: Final = "journal-*.ndjson"


def claim_directory(wanted: Path | None, target: str) -> tuple[Path, list[Path]]:
    """An empty folder for the reports, and the folders that were made for it.

    Raises ReportDirError where there is none to be had.
    """
    directory = wanted or _unused(Path("reports") / _folder_name(target))
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    hint = "name another one with --report-dir"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise ReportDirError("the report directory is not empty", where=str(directory), hint=hint)
        (directory / journals.NAME).touch()
    except OSError as error:
        remove_empty(made)
        problem = f"the report directory cannot be used: {error.strerror}"
        raise ReportDirError(problem, where=str(directory), hint=hint) from None
    return directory, made


def _folder_name(target: str) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', target)}-{stamp}"


def _unused(directory: Path) -> Path:
    """Two runs that begin in one second get a folder each."""
    others = (directory.with_name(f"{directory.name}-{number}") for number in count(2))
    return next(path for path in chain([directory], others) if not path.exists())


def remove_empty(directories: Iterable[Path]) -> None:
    """Takes folders back, as far as nothing is in them."""
    with contextlib.suppress(OSError):
        for path in directories:
            path.rmdir()


def records_of(directory: Path) -> Iterator[dict[str, Any]]:
    """The lines of a run's journal, and then those that the workers of a killed one left behind.

    Raises JournalError where one cannot be read.
    """
    own, *parts = journals_of(directory)
    return chain(_headed(journals.read(own), own), chain.from_iterable(journals.read(path) for path in parts))


def _headed(records: Iterator[dict[str, Any]], path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a run's own journal. Raises JournalError before the rest of something else is read."""
    for number, record in enumerate(records):
        if not number and record["kind"] != "run":
            raise JournalError("has no first line that says which run it is", where=str(path))
        yield record


def journals_of(directory: Path) -> tuple[Path, ...]:
    return (directory / journals.NAME, *parts_of(directory))


def parts_of(directory: Path) -> list[Path]:
    """The journals of workers, which are joined when all have ended."""
    return sorted(directory.glob(_PARTS))
