"""Temporary environment variables, and the environment of processes that run this package."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_SAFE_PATH: Final = "PYTHONSAFEPATH"
_MARKER: Final = "conformance"


@contextmanager
def safe_import_path() -> Iterator[None]:
    """A Python process that is started in this context imports no module from the current folder.

    It calls `restore_environment` before it starts another program, which may need modules of that folder.
    """
    with environment({_SAFE_PATH: os.environ.get(_SAFE_PATH) or _MARKER}):
        yield


def restore_environment() -> None:
    """Restores the environment for other programs, in a process that was started in `safe_import_path`."""
    if os.environ.get(_SAFE_PATH) == _MARKER:
        del os.environ[_SAFE_PATH]


@contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Sets the variables while the context lasts; None removes one."""
    previous = {name: os.environ.get(name) for name in variables}
    _set(variables)
    try:
        yield
    finally:
        _set(previous)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
