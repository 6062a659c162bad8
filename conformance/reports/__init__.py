"""Reports: files that are pure functions of a `Run`.

A format is one module of this package with `write_file(run, directory) -> Path`; no other registration is needed.
What formats share lives in `shaping`, what only the page needs in `page`.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from conformance.core.errors import ConformanceError, ReportDirError, UsageError
from conformance.core.forked_call import ForkedCall, can_fork
from conformance.core.model import Run
from conformance.reports.shaping.bounded_run import bound_texts

__all__ = ["FORMATS", "Writer", "html", "import_formats", "runjson", "shaping", "summary", "terminal", "write_reports"]

Writer = Callable[[Run, Path], Path]

_NO_FILE = frozenset({"terminal"})
_FORKED = frozenset({"ctrf", "har", "html", "summary"})
"""Formats that a second processor writes, if there is one: together they take as long as the others."""
_FEW_EXCHANGES = 500
"""All formats of a smaller run take less time than a fork is worth."""


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
    bounded = bound_texts(run)  # once for all formats
    outcomes = _write_all(names, bounded, directory)
    errors = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Exception)}
    if errors:
        problems = "; ".join(f"{name}: {type(error).__name__}: {error}" for name, error in errors.items())
        first = next(iter(errors.values()))
        raise ConformanceError(
            f"not written: {problems}",
            where=str(directory),
            hint=f"{len(names) - len(errors)} of {len(names)} formats were written",
        ) from first
    return [outcome for outcome in outcomes.values() if isinstance(outcome, Path)]


def _write_all(names: Sequence[str], run: Run, directory: Path) -> Mapping[str, Path | Exception]:
    """The path that each format was written to, or why it was not, in the order of the names."""
    forked_names = [name for name in names if name in _FORKED]
    forked = None
    if forked_names and len(forked_names) < len(names) and len(run.exchanges) > _FEW_EXCHANGES and can_fork():
        with contextlib.suppress(OSError):  # no process can be started: this one writes all
            forked = ForkedCall(partial(_write_each, forked_names, run, directory))
    outcomes = _write_each([name for name in names if forked is None or name not in _FORKED], run, directory)
    if forked is not None:
        try:
            outcomes |= forked.result()
        except ChildProcessError:
            outcomes |= _write_each(forked_names, run, directory)
    return {name: outcomes[name] for name in names}


def _write_each(names: Iterable[str], run: Run, directory: Path) -> dict[str, Path | Exception]:
    outcomes: dict[str, Path | Exception] = {}
    for name in names:
        try:
            outcomes[name] = FORMATS[name](run, directory)
        except Exception as error:  # noqa: BLE001 - the other formats are still written
            outcomes[name] = error
    return outcomes


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, FORMATS, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(FORMATS)}"
