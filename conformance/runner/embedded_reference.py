"""The default target of `conformance demo`: the reference service in a process of its own; the bundled profiles."""

from __future__ import annotations

import json
import selectors
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from conformance.core import child_process
from conformance.core.environ import environment as environment
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.package import PACKAGE
from conformance.engine.in_process import merge_patch

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
def stated_profile(*, fault: str = "", variant: str = "") -> Iterator[Path]:
    """The profile that the owner of such a reference service would write: a file, and its schemas beside it.

    It is removed at the end; where nothing differs, it is the bundled profile. Raises UsageError on an unknown id.
    """
    bundled = bundled_profiles() / "reference.toml"
    patches = [patch for patch in _patches(fault, variant) if patch]
    if not patches:
        yield bundled
        return
    import tomlkit

    document = tomllib.loads(bundled.read_text(encoding="utf-8"))
    for patch in patches:
        document = merge_patch(document, patch)
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        schemas = document["schemas"]["file"]
        shutil.copy(bundled.parent / schemas, folder)
        profile = Path(folder) / bundled.name
        profile.write_text(tomlkit.dumps(document), encoding="utf-8")
        yield profile


def _patches(fault: str, variant: str) -> Iterator[Mapping[str, Any]]:
    """What a variant states in another way; a fault that is seeded in a variant states what that one does."""
    if not fault and not variant:
        return
    from conformance.reference.registry import faults, unknown, variants

    known: Mapping[str, Mapping[str, Any]] = {"variant": variants(), "fault": faults()}
    for kind, other, name in (("variant", "fault", variant), ("fault", "variant", fault)):
        if name in known[other]:
            raise UsageError(f"{name} is a {other}, not a {kind}", hint=f"--{other} {name}")
        if name and name not in known[kind]:
            raise unknown(name)
        if name:
            yield known[kind][name].profile


@contextmanager
def reference(*, fault: str = "", variant: str = "", extra: tuple[str, ...] = ()) -> Iterator[EmbeddedReference]:
    """Runs the reference service on free loopback ports. Raises ConformanceError if it does not start."""
    target_options = [f"--{kind}={name}" for kind, name in (("fault", fault), ("variant", variant)) if name]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as error_file:
        process = subprocess.Popen(
            child_process.command(_CHILD_SOURCE, *extra, *target_options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=error_file,  # a pipe would fill up with the tracebacks of a fault: it is not read during a run
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            yield _embedded_reference(process, error_file)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def _embedded_reference(process: subprocess.Popen[str], error_file: IO[str]) -> EmbeddedReference:
    startup_info = json.loads(_first_line(process, error_file))
    variables = {
        f"CONFORMANCE_REFERENCE_{_variable_suffix(name)}": key for name, key in startup_info["credentials"].items()
    }
    return EmbeddedReference(startup_info["base_url"], startup_info["control_url"], variables)


def _variable_suffix(name: str) -> str:
    return name.upper().replace("-", "_")


def _first_line(process: subprocess.Popen[str], error_file: IO[str]) -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(READY_S) else ""
    if not line:
        raise _startup_error(process, error_file)
    return line


def _startup_error(process: subprocess.Popen[str], error_file: IO[str]) -> ConformanceError:
    """The error for a process that did not start. Its exit code is 2 for an unknown fault or variant."""
    try:
        exit_code = process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        process.kill()
        exit_code = ConformanceError.exit_code
    error_file.seek(0)
    error_lines = error_file.read().strip().splitlines()
    error_class = UsageError if exit_code == UsageError.exit_code else ConformanceError
    return error_class(error_lines[-1] if error_lines else f"the reference service did not start within {READY_S:g} s")
