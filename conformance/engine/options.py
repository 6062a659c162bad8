"""The part of a run that one process has, and the default values of a run."""

from __future__ import annotations

import contextlib
import random
import secrets as random_source
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version

from conformance.journal.segments import PreviousSegments


@dataclass(frozen=True)
class RunPart:
    """The part of a run that one process has: the whole run, a worker's share, or the rest of a resumed run."""

    worker: str = ""
    """The xdist worker's name; empty where the run is not split."""
    share: tuple[int, int] = (0, 1)
    """(index, count): the worker's number from 0, and the number of workers that share the limits of the run."""
    run_name: str = ""
    """The run's name, if another process chose it."""
    rerun_command: str = ""
    """The command that repeats the run, if another process knows it."""
    keys: Mapping[str, str] | None = field(default=None, repr=False)
    """The credentials, if the controller sent them to this machine; None: they are resolved here."""
    dry_run: bool = False
    """No request will be sent, so no secret is resolved."""
    previous_segments: PreviousSegments | None = None
    """The earlier segments of a resumed run; `report_dir` is then its folder."""


def suite_version() -> str:
    with contextlib.suppress(PackageNotFoundError):
        return version("commerce-conformance")
    return "0+unknown"


def utc_timestamp(since: datetime | None = None, elapsed_s: float = 0.0) -> str:
    """The present time, or that of `elapsed_s` seconds after `since`: the clock may have been set in between."""
    time_utc = datetime.now(UTC) if since is None else since + timedelta(seconds=elapsed_s)
    return time_utc.isoformat(timespec="seconds").replace("+00:00", "Z")


def run_name() -> str:
    """A new short name of letters and digits; the name of everything that the suite creates begins with it."""
    return "c" + format(int(time.time()), "x") + random_source.token_hex(2)


def new_seed() -> int:
    """A random seed from 0 to 2**32 - 1."""
    return random.SystemRandom().randrange(2**32)
