"""Reports: files that are pure functions of a `Run`.

A format is one module of this package with `write_file(run, directory) -> Path`; no other registration is needed.
What formats share lives in `shaping`, what only the page needs in `page`.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from types import MappingProxyType

from conformance.core.errors import ConformanceError, ReportDirError, UsageError
from conformance.core.model import Run

__all__ = ["FORMATS", "ParallelWriter", "Writer", "load", "write_reports"]

Writer = Callable[[Run, Path], Path]

_NO_FILE = frozenset({"terminal"})
_CONCURRENCY = 2
"""A format that writes thousands of files mostly waits for the disk; others are written meanwhile."""


def _write(name: str, run: Run, directory: Path) -> Path:
    """Imported on use: JUnit does not wait for the import of Jinja2."""
    module = importlib.import_module(f"{__name__}.{name}")
    path: Path = module.write_file(run, directory)
    return path


FORMATS: Mapping[str, Writer] = MappingProxyType(
    {
        module_info.name: partial(_write, module_info.name)
        for module_info in pkgutil.iter_modules(__path__)
        if not module_info.ispkg and module_info.name not in _NO_FILE
    }
)
"""Every format by name; each writes its file or folder into a directory and returns where."""


def load(names: Iterable[str]) -> None:
    """Imports the modules of these formats."""
    for name in names:
        importlib.import_module(f"{__name__}.{name}")


ParallelWriter = Callable[[str], Path]
"""Writes a format of the same run by its name in another process; on any exception the format is written here."""


def write_reports(
    run: Run, directory: Path, formats: Iterable[str] | None = None, *, parallel: ParallelWriter | None = None
) -> list[Path]:
    """Write the run in these formats, or in all, into the directory, and return the paths.

    A failing format does not prevent the others. Raises UsageError for an unknown format, ReportDirError where the
    directory cannot be used, and ConformanceError naming every format that failed once the others are written.
    """
    names = list(FORMATS) if formats is None else list(dict.fromkeys(formats))
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"there is no report format {name!r}", hint=_nearest(name))
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportDirError(f"not usable as a report directory: {error.strerror}", where=str(directory)) from error
    load(names)  # before the threads start: concurrent imports may see partial modules
    paths, errors, write = [], {}, _writing(run, directory, parallel)
    pool = ThreadPoolExecutor(_CONCURRENCY, "reports")
    try:
        for name, writing in [(name, pool.submit(write, name)) for name in names]:
            try:
                paths.append(writing.result())
            except Exception as error:  # noqa: BLE001 - the other formats are still written
                errors[name] = error
    finally:
        pool.shutdown(cancel_futures=True)
    if errors:
        problems = "; ".join(f"{name}: {type(error).__name__}: {error}" for name, error in errors.items())
        first = next(iter(errors.values()))
        raise ConformanceError(
            f"not written: {problems}", where=str(directory), hint=f"{len(paths)} of {len(names)} formats were written"
        ) from first
    return paths


def _writing(run: Run, directory: Path, parallel: ParallelWriter | None) -> Callable[[str], Path]:
    """Writes a format in the other process while that is free, otherwise here."""
    free = Lock()

    def write(name: str) -> Path:
        if parallel is not None and free.acquire(blocking=False):
            try:
                with contextlib.suppress(Exception):  # a failure there is repeated here, or is harmless
                    return parallel(name)
            finally:
                free.release()
        return FORMATS[name](run, directory)

    return write


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, FORMATS, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(FORMATS)}"
