"""Variables of the environment, for a while, and what processes of this suite begin with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_SAFE_PATH: Final = "PYTHONSAFEPATH"
_OURS: Final = "conformance"


@contextmanager
def own_processes() -> Iterator[None]:
    """A Python that is started meanwhile takes no module of the current folder for one of the standard library.

    It calls `restore_environment` before it starts anything of others: what they start may be meant to look there.
    """
    with environment({_SAFE_PATH: os.environ.get(_SAFE_PATH) or _OURS}):
        yield


def restore_environment() -> None:
    """In such a process: the environment as it is for everybody else."""
    if os.environ.get(_SAFE_PATH) == _OURS:
        del os.environ[_SAFE_PATH]


@contextmanager
def environment(wanted: Mapping[str, str | None]) -> Iterator[None]:
    """The variables, set as long as the context lasts; one that is None is not there."""
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
