"""What commands on finished runs share: their arguments, and the files that they read and write."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

import click

RUN_DIR = click.argument("run_dir", type=click.Path(path_type=Path))
_COMMAND: Final = "    again  "
"""The beginning of a line with the command that runs a check again."""
_MIN_WIDTH: Final = 40
_MAX_BYTES: Final = 64_000_000
_F = TypeVar("_F", bound=Callable[..., Any])


def file_option(*names: str, help: str) -> Callable[[_F], _F]:  # noqa: A002 - click's own name
    return click.option(*names, type=click.Path(path_type=Path), metavar="FILE", help=help)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a standard stream is a terminal; None is one that the shell has closed."""
    return stream is not None and stream.isatty()


def echo_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def echo_wrapped(lines: Iterable[str], hang: int = 4) -> None:
    """Prints lines; on a terminal they are wrapped at words to its width, but for commands to copy.

    `hang`: the columns before the second line of a text.
    """
    if not is_terminal(sys.stdout):
        echo_lines(lines)
        return
    from conformance.reports.terminal import wrap

    width = max(shutil.get_terminal_size().columns, _MIN_WIDTH)
    for line in lines:
        echo_lines([line] if line.startswith(_COMMAND) else wrap(line, width, hang))


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Makes the folder of a file that is written here. Raises UsageError where that, or the writing, is impossible."""
    from conformance.core.errors import UsageError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise UsageError(error.strerror or "cannot be written", where=str(path)) from None


def write_text(path: Path | None, text: str) -> None:
    if path is not None:
        with _write_errors(path):
            path.write_text(text, encoding="utf-8")


def require_writable(path: Path | None) -> None:
    """Raises UsageError where a file cannot be written, before long work whose result it is to hold.

    A file that is not there is not left behind: an interrupted command leaves none that is empty.
    """
    if path is None:
        return
    with _write_errors(path):
        is_new = not path.exists()
        path.open("ab").close()
        if is_new:
            path.unlink()


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises UsageError if it cannot be read, or is larger than any file of the suite."""
    from conformance.core.errors import UsageError

    if path.is_dir():
        raise UsageError("is a folder: name a file", where=str(path))
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(path)) from None
    if len(data) > _MAX_BYTES:
        raise UsageError(f"has more than {_MAX_BYTES:,} bytes", where=str(path))
    return data


def today() -> str:
    return datetime.now(UTC).date().isoformat()
