"""Which part of a run a process has, and the values that a run gives itself where none are given."""

from __future__ import annotations

import contextlib
import random
import secrets as random_source
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from conformance.journal.segments import PreviousSegments


@dataclass(frozen=True)
class RunPart:
    """What one process has of a run, beside its options: all of it, or the share of a worker, or the rest."""

    worker: str = ""
    """The xdist worker's name; empty where the run is not split."""
    share: tuple[int, int] = (0, 1)
    """Which worker this is, and of how many: a run that is split sends no more than one that is not."""
    run: str = ""
    """The run's name, where another process gave it one."""
    again: str = ""
    """The command that repeats the run, where another process knows it."""
    keys: Mapping[str, str] | None = field(default=None, repr=False)
    """The credentials, where the controller sent them here: nothing of the run is on this machine."""
    dry: bool = False
    """Nothing is going to be sent: no secret is needed."""
    earlier: PreviousSegments | None = None
    """What this is the rest of, where a run is resumed; `report_dir` is then its folder."""


def suite_version() -> str:
    with contextlib.suppress(PackageNotFoundError):
        return version("commerce-conformance")
    return "0+unknown"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def run_name() -> str:
    """Short, new for each run, in letters and digits: everything that the suite creates begins with it."""
    return "c" + format(int(time.time()), "x") + random_source.token_hex(2)


def new_seed() -> int:
    """For a run that was asked for none."""
    return random.SystemRandom().randrange(2**32)
