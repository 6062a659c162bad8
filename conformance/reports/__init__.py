"""Reports: files that are pure functions of a `Run`.

A format is one module of this package with `write_file(run, directory) -> Path`; putting it here is all it takes.
What formats share lives in `shaping`, what only the page needs in `page`.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from conformance.core.errors import ConformanceError, ReportDirError, UsageError
from conformance.core.model import Run

__all__ = ["FORMATS", "Writer", "html", "runjson", "shaping", "summary", "terminal", "write_reports"]

Writer = Callable[[Run, Path], Path]

_NO_FILE = frozenset({"terminal"})


def _write(name: str, run: Run, directory: Path) -> Path:
    """Imported on use: nobody waits for Jinja2 who asked for JUnit."""
    module = importlib.import_module(f"{__name__}.{name}")
    written: Path = module.write_file(run, directory)
    return written


FORMATS: Mapping[str, Writer] = MappingProxyType(
    {
        found.name: partial(_write, found.name)
        for found in pkgutil.iter_modules(__path__)
        if not found.ispkg and found.name not in _NO_FILE
    }
)
"""Every format by name; each writes its file or folder into a directory and returns where."""


def write_reports(run: Run, directory: Path, formats: Iterable[str] | None = None) -> list[Path]:
    """Write the run in these formats, or in all, into the directory, and return the paths.

    A format that fails leaves the others be. Raises UsageError for an unknown format, ReportDirError where the
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
    written, failed = [], {}
    for name in names:
        try:
            written.append(FORMATS[name](run, directory))
        except Exception as error:  # noqa: BLE001 whatever failed, the other formats are still wanted
            failed[name] = error
    if failed:
        told = "; ".join(f"{name}: {type(error).__name__}: {error}" for name, error in failed.items())
        first = next(iter(failed.values()))
        raise ConformanceError(
            f"not written: {told}", where=str(directory), hint=f"{len(written)} of {len(names)} formats were written"
        ) from first
    return written


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, FORMATS, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(FORMATS)}"
