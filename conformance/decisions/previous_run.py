"""A run and its reports folder -> the run with its differences from the previous run of the same target and profile."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from conformance.core.changes import PreviousRun
from conformance.core.errors import ConformanceError
from conformance.core.model import Run
from conformance.decisions.changes import changes_between
from conformance.decisions.run_folders import is_same_target, page_link, reports_folder, run_files
from conformance.reports.runjson import RunIdentity, load_identity, load_run
from conformance.reports.shaping.text import one_line

MAX_RUNS: Final = 50
"""Number of runs of the folder that are read: those that were written last."""
MAX_BYTES: Final = 50_000_000
"""Maximum size of the run.json of another run that is read."""
_ATTEMPTS: Final = 3
_PAGE: Final = "report.html"


def with_previous_run(run: Run, directory: Path) -> Run:
    """`directory`: the run's own folder. What cannot be read is named; nothing is raised."""
    unread: list[str] = []
    try:
        folder = reports_folder(directory)
        for path in _earlier_runs(run, directory.resolve(), folder, unread)[:_ATTEMPTS]:
            try:
                before = load_run(path)
            except ConformanceError as error:
                unread.append(_problem(path, folder, error))
                continue
            link = page_link(path.parent, directory / _PAGE)
            changes = replace(changes_between(before, run), folder=path.parent.name, link=link)
            return replace(run, previous=PreviousRun(changes, tuple(unread)))
    except OSError as error:
        unread.append(f"the reports folder: {error.strerror or 'it cannot be read'}")
    return replace(run, previous=PreviousRun(unread=tuple(unread)))


def _earlier_runs(run: Run, directory: Path, folder: Path, unread: list[str]) -> list[Path]:
    """The files of runs of the same target and profile that began before this one, the last one first."""
    found: list[tuple[str, Path]] = []
    for path in _last_written(folder):
        if path.parent == directory:
            continue
        try:
            identity = load_identity(path, MAX_BYTES)
        except ConformanceError as error:
            unread.append(_problem(path, folder, error))
            continue
        if _is_same(identity, run) and identity.started_at < run.started_at:
            found.append((identity.started_at, path))
    return [path for _, path in sorted(found, reverse=True)]


def _last_written(folder: Path) -> list[Path]:
    times: list[tuple[float, Path]] = []
    for path in run_files(folder):
        try:
            times.append((path.stat().st_mtime, path))
        except OSError:  # removed meanwhile, or a broken link
            continue
    return [path for _, path in sorted(times, reverse=True)[:MAX_RUNS]]


def _is_same(identity: RunIdentity, run: Run) -> bool:
    return identity.profile.name == run.profile.name and is_same_target(identity.target, run.target)


def _problem(path: Path, folder: Path, error: ConformanceError) -> str:
    return one_line(f"{path.parent.relative_to(folder)}: {error.message}", 300)
