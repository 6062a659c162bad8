"""Run folders -> the comparison of their runs: many are read in parallel, and one that is damaged is named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from msgspec import structs

from conformance.core.environ import safe_import_path
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.model import Run
from conformance.decisions.behaviour import Behaviour, behaviour
from conformance.decisions.comparison import Comparison, compare
from conformance.decisions.run_folders import page_link
from conformance.judge.assemble import load

_PARALLEL_FROM: Final = 4
"""From this number of runs on, reading them in parallel is faster."""


@dataclass(frozen=True, slots=True)
class _LoadedRun:
    """A run without its exchanges, and its behaviour."""

    folder: Path
    run: Run
    behaviour: Behaviour


def compare_folders(folders: Sequence[Path], *, force: bool = False, page: Path | None = None) -> Comparison:
    """Compares the runs that can be read with the first of them, and names the others.

    `page`: the file that will link to them. Raises the first error if the first run or all others cannot be read, and
    UsageError as `compare` does.
    """
    loaded = _load_all(folders)
    errors = [entry for entry in loaded if isinstance(entry, ConformanceError)]
    runs = [entry for entry in loaded if isinstance(entry, _LoadedRun)]
    if isinstance(loaded[0], ConformanceError) or len(runs) < 2:
        raise errors[0] if errors else UsageError("there is nothing to compare with")
    comparison = compare(
        [entry.run for entry in runs],
        [entry.folder.name for entry in runs],
        force=force,
        known_behaviours=[entry.behaviour for entry in runs],
        links=[page_link(entry.folder, page) for entry in runs],
    )
    return replace(comparison, unread=tuple(map(str, errors)))


def _load_all(folders: Sequence[Path]) -> list[_LoadedRun | ConformanceError]:
    if len(folders) < _PARALLEL_FROM or (os.cpu_count() or 1) == 1:
        return [_load(folder) for folder in folders]
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with safe_import_path(), ProcessPoolExecutor(min(4, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        return list(pool.map(_load, folders))


def _load(folder: Path) -> _LoadedRun | ConformanceError:
    try:
        run = load(folder)
    except ConformanceError as error:
        return error
    return _LoadedRun(folder, structs.replace(run, exchanges=()), behaviour(run))
