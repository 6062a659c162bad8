"""The embedded default target: the reference service as a process of its own, and the profiles beside it."""

from __future__ import annotations

import json
import selectors
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.core import child_process
from conformance.core.environ import environment as environment
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.package import PACKAGE

READY_S: Final = 30.0
_CHILD: Final = "from conformance.reference.__main__ import main; sys.exit(main())"


@dataclass(frozen=True)
class Embedded:
    base_url: str
    control_url: str
    environment: Mapping[str, str]
    """The variables from which `profiles/reference.toml` takes its keys."""


def bundled_profiles() -> Path:
    """The folder of the profiles that ship with the suite: in the wheel inside the package, in a checkout beside it."""
    inside = PACKAGE / "profiles"
    return inside if inside.is_dir() else PACKAGE.parent / "profiles"


@contextmanager
def reference(*, fault: str = "", variant: str = "", extra: tuple[str, ...] = ()) -> Iterator[Embedded]:
    """The reference service on free loopback ports, as long as the context lasts.

    Raises ConformanceError where it does not come up.
    """
    chosen = [f"--{kind}={name}" for kind, name in (("fault", fault), ("variant", variant)) if name]
    process = subprocess.Popen(
        child_process.command(_CHILD, *extra, *chosen),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        told = json.loads(_first_line(process))
        environment = {f"CONFORMANCE_REFERENCE_{_upper(name)}": key for name, key in told["credentials"].items()}
        yield Embedded(told["base_url"], told["control_url"], environment)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None and process.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(READY_S) else ""
    if not line:
        raise _not_started(process)
    return line


def _not_started(process: subprocess.Popen[str]) -> ConformanceError:
    """Its own exit code tells whose fault it was: 2 for an id that there is not."""
    assert process.stderr is not None
    try:
        exit_code = process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        process.kill()
        exit_code = ConformanceError.exit_code
    told = process.stderr.read().strip().splitlines()
    kind = UsageError if exit_code == UsageError.exit_code else ConformanceError
    return kind(told[-1] if told else f"the reference service said nothing within {READY_S:g} s")
