"""Judges the exchanges of HAR files: `conformance observe --har`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, Final, cast

from conformance.client.traffic.har import read_har
from conformance.client.traffic.observation import Observation
from conformance.core import interrupts
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.exit_codes import EXIT_CODES, EXIT_INTERRUPTED
from conformance.core.files import open_regular
from conformance.core.gc_tuning import reduce_collections
from conformance.core.model import Run
from conformance.runner.observe.live_line import LiveLine
from conformance.runner.observe.traffic_run import TrafficOptions, TrafficRun

STDIN: Final = "-"


def observe_files(files: Sequence[Path], options: TrafficOptions, line: LiveLine) -> tuple[Run, Path, int]:
    """The run of these files, its folder, and the exit code. Raises ConformanceError where nothing was judged."""
    names = [f"HAR {'standard input' if str(path) == STDIN else path.name}" for path in files]
    if len(set(names)) < len(names):
        names = [f"HAR {path}" for path in files]
    for path in files:
        with contextlib.nullcontext() if str(path) == STDIN else _open_file(path):
            pass  # a missing file is reported before anything is written
    traffic = TrafficRun(options, names)
    with interrupts.raise_on_signals():
        problem = _record_all(traffic, files, line)
        interrupts.ignore_first_signal()
        return finish_run(traffic, problem)


def finish_run(traffic: TrafficRun, problem: BaseException | None) -> tuple[Run, Path, int]:
    """Writes the reports, and returns the run, its folder and the exit code.

    Raises the problem where nothing was judged; after the reports, where the journal could not be written.
    """
    if not traffic.count and isinstance(problem, ConformanceError):
        traffic.discard()
        raise problem
    reason = str(problem) or "SIGINT" if problem is not None else ""
    run = traffic.finish(reason)
    if isinstance(problem, KeyboardInterrupt):
        return run, traffic.directory, EXIT_INTERRUPTED
    if isinstance(problem, UsageError):
        return run, traffic.directory, problem.exit_code
    if problem is not None:
        hint = f"what was judged before is in {traffic.directory}"
        raise ConformanceError(f"the observation ended early: {reason}", hint=hint) from problem
    return run, traffic.directory, EXIT_CODES[run.verdict]


def _record_all(traffic: TrafficRun, files: Sequence[Path], line: LiveLine) -> BaseException | None:
    """Records every exchange; returns what ended it early."""
    seen: set[int] | None = set() if len(files) > 1 else None
    try:
        with reduce_collections(), line.following(traffic):
            for number, path in enumerate(files):
                with _open_file(path) as file:
                    for found in _new_ones(read_har(file, str(path)), seen):
                        if isinstance(found, str):
                            traffic.skip(found, number)
                        else:
                            traffic.record(found, number)
    except (ConformanceError, KeyboardInterrupt) as problem:
        return problem
    return None


def _new_ones(found: Iterator[Observation | str], seen: set[int] | None) -> Iterator[Observation | str]:
    """Without the exchanges that another file has too: what was sent once must not count as a repetition."""
    for item in found:
        if seen is None or isinstance(item, str):
            yield item
            continue
        identity = hash((item.method, item.url, item.started, item.duration_s, item.request_headers, item.headers))
        yield "recorded in another file too" if identity in seen else item
        seen.add(identity)


@contextlib.contextmanager
def _open_file(path: Path) -> Iterator[BufferedReader]:
    if str(path) == STDIN:
        reader: Any = BufferedReader(cast("RawIOBase", sys.stdin.buffer))
        yield reader
        reader.detach()
        return
    try:
        file = open_regular(path)
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(path)) from None
    with file:
        yield file
