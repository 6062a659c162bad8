"""Temporary environment variables, and the environment of processes that run this package."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_SAFE_PATH: Final = "PYTHONSAFEPATH"
_OURS: Final = "conformance"


@contextmanager
def own_processes() -> Iterator[None]:
    """A Python process that is started in this context imports no module from the current folder.

    It calls `restore_environment` before it starts another program, which may need modules of that folder.
    """
    with environment({_SAFE_PATH: os.environ.get(_SAFE_PATH) or _OURS}):
        yield


def restore_environment() -> None:
    """Restores the environment for other programs, in a process that was started in `own_processes`."""
    if os.environ.get(_SAFE_PATH) == _OURS:
        del os.environ[_SAFE_PATH]


@contextmanager
def environment(wanted: Mapping[str, str | None]) -> Iterator[None]:
    """Sets the variables while the context lasts; None removes one."""
    before = {name: os.environ.get(name) for name in wanted}
    _set(wanted)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
