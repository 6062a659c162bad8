"""`run.json`: the whole run as data. Its shape is published in `run.schema.json` (JSON Schema 2020-12)."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from conformance.core import codec, model
from conformance.core.errors import JournalError
from conformance.core.files import open_regular
from conformance.core.model import Run
from conformance.reports.shaping.grouping import bound_texts
from conformance.reports.shaping.text import dumps, map_strings, utf8, write

FILE = "run.json"
MAX_BYTES = 500_000_000
"""Maximum size of a run.json in bytes."""
SCHEMA = Path(__file__).with_name("run.schema.json")


def render(run: Run) -> str:
    return dumps(_plain(run))


def to_json(run: Run) -> dict[str, Any]:
    """The run as a JSON value that `run.schema.json` accepts; exchanges stay in the journal."""
    return map_strings(_plain(run), utf8)


def _plain(run: Run) -> dict[str, Any]:
    value: dict[str, Any] = codec.to_json(bound_texts(run))
    return value


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, render(run))


@cache
def schema() -> dict[str, Any]:
    """The published JSON Schema of `run.json`."""
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return loaded


def load_run(path: Path) -> Run:
    """Reads the run of a `run.json`, or of the folder that contains one, without exchanges.

    Raises JournalError where the file is missing, is no JSON, or has another shape or schema version.
    """
    path = path / FILE if path.is_dir() else path
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                raise JournalError(f"has more than {MAX_BYTES:,} bytes: it is no run.json", where=str(path))
            value = json.load(file)
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise JournalError(reason, where=str(path), hint="name a run.json or the folder that holds one") from error
    except ValueError as error:
        raise JournalError("not a JSON document", where=str(path), hint="was the run cut short?") from error
    version = value.get("schema_version") if isinstance(value, dict) else None
    if version != model.SCHEMA_VERSION:
        problem = f"schema_version is {version!r}, and this suite reads {model.SCHEMA_VERSION}"
        raise JournalError(problem, where=str(path), hint="use the suite version that wrote it")
    try:
        return codec.from_json(Run, value)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise JournalError(f"not the shape of a run: {error}", where=str(path)) from error
