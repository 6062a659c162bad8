"""The default target of `conformance demo`: the reference service in a process of its own; the bundled profiles."""

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
_CHILD_SOURCE: Final = "from conformance.reference.__main__ import main; sys.exit(main())"


@dataclass(frozen=True)
class EmbeddedReference:
    base_url: str
    control_url: str
    environment: Mapping[str, str]
    """The environment variables with the keys of `profiles/reference.toml`."""


def bundled_profiles() -> Path:
    """The folder of the bundled profiles: inside the package in a wheel, beside it in a checkout."""
    packaged = PACKAGE / "profiles"
    return packaged if packaged.is_dir() else PACKAGE.parent / "profiles"


@contextmanager
def reference(*, fault: str = "", variant: str = "", extra: tuple[str, ...] = ()) -> Iterator[EmbeddedReference]:
    """Runs the reference service on free loopback ports. Raises ConformanceError if it does not start."""
    target_options = [f"--{kind}={name}" for kind, name in (("fault", fault), ("variant", variant)) if name]
    process = subprocess.Popen(
        child_process.command(_CHILD_SOURCE, *extra, *target_options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        startup_info = json.loads(_first_line(process))
        variables = {
            f"CONFORMANCE_REFERENCE_{_variable_suffix(name)}": key for name, key in startup_info["credentials"].items()
        }
        yield EmbeddedReference(startup_info["base_url"], startup_info["control_url"], variables)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _variable_suffix(name: str) -> str:
    return name.upper().replace("-", "_")


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None and process.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(READY_S) else ""
    if not line:
        raise _startup_error(process)
    return line


def _startup_error(process: subprocess.Popen[str]) -> ConformanceError:
    """The error for a process that did not start. Its exit code is 2 for an unknown fault or variant."""
    assert process.stderr is not None
    try:
        exit_code = process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        process.kill()
        exit_code = ConformanceError.exit_code
    error_lines = process.stderr.read().strip().splitlines()
    error_class = UsageError if exit_code == UsageError.exit_code else ConformanceError
    return error_class(error_lines[-1] if error_lines else f"the reference service did not start within {READY_S:g} s")
