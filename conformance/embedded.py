"""The embedded default target: the reference service as a process of its own, and the profiles that ship with the suite."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.errors import ConformanceError

READY_S: Final = 30.0


@dataclass(frozen=True)
class Embedded:
    base_url: str
    control_url: str
    environment: Mapping[str, str]
    """The variables from which `profiles/reference.toml` takes its keys."""


def bundled_profiles() -> Path:
    """The folder of the profiles that ship with the suite: in the wheel inside the package, in a checkout beside it."""
    package = Path(__file__).parent
    inside = package / "profiles"
    return inside if inside.is_dir() else package.parent / "profiles"


@contextmanager
def reference(*, fault: str = "", variant: str = "", extra: tuple[str, ...] = ()) -> Iterator[Embedded]:
    """The reference service on free loopback ports, as long as the context lasts.

    Raises ConformanceError where it does not come up.
    """
    command = [sys.executable, "-m", "conformance.reference", *extra]
    command += [f"--fault={fault}"] if fault else []
    command += [f"--variant={variant}"] if variant else []
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
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


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """The variables, set as long as the context lasts."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None and process.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(READY_S) else ""
    if not line:
        process.kill()
        problem = (process.stderr.read().strip().splitlines() or [f"said nothing within {READY_S:g} s"])[-1]
        raise ConformanceError(f"the reference service did not start: {problem}")
    return line
