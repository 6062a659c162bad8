"""Reports: files that are pure functions of a `Run`.

A format is one module of this package with `write_file(run, directory) -> Path`; no other registration is needed.
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
from conformance.reports.shaping.bounded_run import bound_texts

__all__ = ["FORMATS", "Writer", "html", "import_formats", "runjson", "shaping", "summary", "terminal", "write_reports"]

Writer = Callable[[Run, Path], Path]

_NO_FILE = frozenset({"terminal"})
_FIRST = ("runjson", "junit", "summary", "html")
_LAST = "allure"
"""On a disk that fills up: its thousands of files must not take the room of the others."""


def _write(name: str, run: Run, directory: Path) -> Path:
    """Imported on use: JUnit does not wait for the import of Jinja2."""
    module = importlib.import_module(f"{__name__}.{name}")
    path: Path = module.write_file(run, directory)
    return path


def import_formats() -> None:
    """Imports all formats, so that `write_reports` need not."""
    for name in FORMATS:
        importlib.import_module(f"{__name__}.{name}")


FORMATS: Mapping[str, Writer] = MappingProxyType(
    {
        module_info.name: partial(_write, module_info.name)
        for module_info in pkgutil.iter_modules(__path__)
        if not module_info.ispkg and module_info.name not in _NO_FILE
    }
)
"""Every format by name; each writes its file or folder into a directory and returns where."""


def write_reports(run: Run, directory: Path, formats: Iterable[str] | None = None) -> list[Path]:
    """Write the run in these formats, or in all, into the directory, and return the paths.

    A failing format does not prevent the others. Raises UsageError for an unknown format, ReportDirError where the
    directory cannot be used or has files of others in the place of a format, and ConformanceError naming every format
    that failed once the others are written.
    """
    names = sorted(FORMATS if formats is None else dict.fromkeys(formats), key=_rank)
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"there is no report format {name!r}", hint=_nearest(name))
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportDirError(f"not usable as a report directory: {error.strerror}", where=str(directory)) from error
    paths: list[Path] = []
    errors: dict[str, list[str]] = {}
    first_error: Exception | None = None
    is_usage = True
    bounded = bound_texts(run)  # once for all formats
    for name in names:
        try:
            paths.append(FORMATS[name](bounded, directory))
        except Exception as error:  # noqa: BLE001 - the other formats are still written
            first_error = first_error or error
            is_usage = is_usage and isinstance(error, UsageError)
            errors.setdefault(_problem(error), []).append(name)
    if errors:
        problems = "; ".join(f"{', '.join(failed)}: {problem}" for problem, failed in errors.items())
        written = f"{len(paths)} of {len(names)} were written"
        raise (ReportDirError if is_usage else ConformanceError)(
            f"not written: {problems}",
            where=str(directory),
            hint=written if is_usage else f"{written}; `conformance report {directory}` writes all again",
        ) from first_error
    return paths


def _problem(error: Exception) -> str:
    """Of the file system its own words, of the suite the message; of anything else, which is an error of the suite, the
    type too."""
    if isinstance(error, ConformanceError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"


def _rank(name: str) -> int:
    """The place of a format in the order of writing: what others are made of and read first, then the small ones."""
    return _FIRST.index(name) if name in _FIRST else len(_FIRST) + (name == _LAST)


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, FORMATS, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(FORMATS)}"
