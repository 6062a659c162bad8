"""Generated values in the user's cache, by document, seed and versions.

It only saves time. A file that is missing, damaged or cannot be written is not an error: the values are generated
again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from conformance.core.package import cache_directory

V = TypeVar("V")
SEEDS: Final = 4
"""The seeds of runs are reduced modulo this number: a run without --seed has a new seed, and must find values too."""
_MAX_FILES: Final = 512
_MAX_BYTES: Final = 512 * 1024
"""Of one file: with all of them 256 MiB at the most, some 2 MiB as a rule."""
_PACKAGES: Final = ("commerce-conformance", "hypothesis", "schemathesis")


class StoredValues(Generic[V]):
    """Values of one type, generated from one document: JSON values, or data classes and tuples of such."""

    def __init__(self, value_type: type[V], document: Mapping[str, Any]) -> None:
        self._value_type = value_type
        self._document = document

    def load_or_generate(self, seed: int, generate: Callable[[int], list[V]]) -> list[V]:
        """The stored values of that seed; else those that `generate` returns for the seed that it is given."""
        values = self.load(seed)
        if values is None:
            values = generate(seed % SEEDS)
            self.save(seed, values)
        return values

    def load(self, seed: int) -> list[V] | None:
        """The values of that seed; None where they are not stored."""
        try:
            found = json.loads(self._path(seed).read_bytes())
            return msgspec.convert(found["values"], list[self._value_type])  # type: ignore[name-defined]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def save(self, seed: int, values: list[V]) -> None:
        """Stores the values, and removes the oldest files where there are too many."""
        path = self._path(seed)
        try:
            content = json.dumps({"values": msgspec.to_builtins(values)}).encode()
            if len(content) > _MAX_BYTES:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_oldest(path.parent)
            _write(path, content)
        except (OSError, ValueError, TypeError, RecursionError):
            return

    def _path(self, seed: int) -> Path:
        origin = json.dumps([self._document, seed % SEEDS, _versions()], sort_keys=True)
        return cache_directory() / "generated" / f"{hashlib.sha256(origin.encode()).hexdigest()}.json"


def _write(path: Path, content: bytes) -> None:
    """The whole file or none. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
    for file in files[: max(0, len(files) - _MAX_FILES + 1)]:
        file.unlink(missing_ok=True)


@cache
def _versions() -> list[str]:
    return [_version(name) for name in _PACKAGES]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
