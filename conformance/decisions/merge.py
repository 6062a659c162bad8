"""Merges the folders of a run's shards into one folder, as if it had been one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from conformance.core.errors import ConformanceError, UsageError
from conformance.core.model import Run
from conformance.decisions.previous_run import with_previous_run
from conformance.journal.journal import NAME, Journal
from conformance.journal.lines import Line
from conformance.journal.run_directory import claim_directory, read_lines, remove_empty
from conformance.journal.shards import join_shards
from conformance.judge.assemble import load
from conformance.reports import write_reports


def merge_shards(folders: Sequence[Path], report_dir: Path | None = None) -> tuple[Run, Path]:
    """The merged run, and the folder with its journal and reports.

    Raises UsageError where the folders are not all the shards of one run, JournalError where one cannot be read, and
    ReportDirError.
    """
    for folder in folders:
        if not (folder / NAME).is_file():
            raise UsageError("there is no run here", where=str(folder), hint="name the folder that the run printed")
    lines = join_shards((str(folder), partial(_lines, folder)) for folder in folders)
    directory, new_folders = claim_directory(report_dir, "merged")
    try:
        journal = Journal(directory / NAME)
        for line in lines:
            journal.append(line)
        journal.close()
        run = load(directory)
    except ConformanceError:
        (directory / NAME).unlink(missing_ok=True)
        remove_empty(new_folders)
        raise
    write_reports(with_previous_run(run, directory), directory)
    return run, directory


def _lines(folder: Path) -> Iterator[Line]:
    return (line for line, _ in read_lines(folder))
