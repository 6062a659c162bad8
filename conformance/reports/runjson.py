"""`run.json`: the whole run as data. Its shape is published in `run.schema.json` (JSON Schema 2020-12)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from conformance.core.errors import JournalError
from conformance.core.files import open_regular
from conformance.core.model import SCHEMA_VERSION, Run
from conformance.reports.shaping.bounded_run import bound_texts
from conformance.reports.shaping.text import dumps, write

FILE = "run.json"
MAX_BYTES = 500_000_000
"""Maximum size of a run.json in bytes."""
SCHEMA = Path(__file__).with_name("run.schema.json")


def render(run: Run) -> str:
    """The text of `run.json`, which `run.schema.json` accepts; exchanges stay in the journal."""
    value: dict[str, Any] = msgspec.to_builtins(replace(bound_texts(run), exchanges=(), previous=None))
    del value["exchanges"], value["previous"]
    return dumps(value)


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, render(run))


@cache
def schema() -> dict[str, Any]:
    """The published JSON Schema of `run.json`."""
    loaded: dict[str, Any] = msgspec.json.decode(SCHEMA.read_bytes())
    return loaded


def load_run(path: Path) -> Run:
    """Reads the run of a `run.json`, or of the folder that contains one, without exchanges.

    Raises JournalError where the file is missing, is not JSON, or has another shape or schema version.
    """
    return _decode(path, Run, MAX_BYTES)


def load_identity(path: Path, max_bytes: int = MAX_BYTES) -> RunIdentity:
    """Reads only the identity of the run of a `run.json`. Raises JournalError as `load_run` does."""
    return _decode(path, RunIdentity, max_bytes)


class _ProfileName(msgspec.Struct, frozen=True):
    name: str


class RunIdentity(msgspec.Struct, frozen=True):
    """The target and profile of a run, and when it began."""

    target: str
    profile: _ProfileName
    started_at: str


_Value = TypeVar("_Value")


def _decode(path: Path, kind: type[_Value], max_bytes: int) -> _Value:
    path = path / FILE if path.is_dir() else path
    text = _read(path, max_bytes)
    try:
        header = msgspec.json.decode(text, type=_Header)
        if header.schema_version == SCHEMA_VERSION:
            return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise JournalError(f"not the shape of a run: {error}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise JournalError("not a JSON document", where=str(path), hint="was the run cut short?") from error
    writer = f", written by version {header.suite.version} of the suite" if header.suite.version else ""
    problem = f"schema_version is {header.schema_version!r}{writer}; this suite reads {SCHEMA_VERSION}"
    raise JournalError(problem, where=str(path), hint="use the suite version that wrote it")


def _read(path: Path, max_bytes: int) -> bytes:
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > max_bytes:
                raise JournalError(f"has more than {max_bytes:,} bytes", where=str(path))
            return file.read()
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise JournalError(reason, where=str(path), hint="name a run.json or the folder that holds one") from error


class _SuiteVersion(msgspec.Struct, frozen=True):
    version: str = ""


class _Header(msgspec.Struct):
    schema_version: object = None
    suite: _SuiteVersion = _SuiteVersion()
