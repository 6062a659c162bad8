"""What a run was asked for, and the values that it gives itself where it was asked for none."""

from __future__ import annotations

import contextlib
import random
import secrets as random_source
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from conformance.journal.segments import PreviousSegments


@dataclass(frozen=True)
class Options:
    """What a run is asked for; the command line and pytest's options come to this."""

    profile: Path
    base_url: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    report_dir: Path | None = None
    concurrency: int | None = None
    deadline_s: float | None = None
    seed: int | None = None
    examples: int | None = None
    """How many generated requests each property is tried on."""
    limits: Mapping[str, str] = field(default_factory=dict)
    """In place of the profile's, by name and as text."""
    command: str = ""
    """How a person started this run, for the reports' "again"; empty: `conformance run` with these options."""
    worker: str = ""
    """The xdist worker's name; empty where the run is not split."""
    share: tuple[int, int] = (0, 1)
    """Which worker this is, and of how many: a run that is split sends no more than one that is not."""
    shard: tuple[int, int] = (0, 1)
    """Which part of the run this is, from 0, and of how many: the others are runs of their own, perhaps elsewhere."""
    run: str = ""
    keys: Mapping[str, str] | None = field(default=None, repr=False)
    """The credentials, where whoever has them sent them here: nothing of the run is on this machine."""
    dry: bool = False
    """Nothing is going to be sent: no secret is needed."""
    fail_fast: bool = False
    """The run ends at the first failure."""
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
