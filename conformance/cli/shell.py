"""How a command ends: an error is one line and an exit code of the suite. Python and click would exit with 1, which
means that the target does not conform."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from conformance.core.errors import ConformanceError

_INTERRUPTED = 130


class Commands(click.Group):
    """A group of commands that end so."""

    def main(self, *args: Any, standalone_mode: bool = True, **rest: Any) -> Any:
        plain: Callable[..., Any] = super().main
        if not standalone_mode:
            return plain(*args, standalone_mode=False, **rest)
        if sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__:
            sys.stdout, sys.stderr = _heard(sys.stdout, _Heard), _heard(sys.stderr, _HeardOf)
        sys.exit(_code(partial(plain, *args, standalone_mode=False, **rest)))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConformanceError as error:
            _say(str(error))
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            _say("interrupted")
            ctx.exit(_INTERRUPTED)
        except (click.exceptions.Exit, click.Abort, click.ClickException):
            raise
        except Exception as error:  # noqa: BLE001 - nothing above catches it
            _say(f"the suite erred: {_described(error)} (CONFORMANCE_TRACEBACK=1 shows where)")
            ctx.exit(ConformanceError.exit_code)


def _code(command: Callable[[], Any]) -> int:
    try:
        code = command()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):  # outside of any command, or while an error is printed
        click.echo("error: interrupted", err=True)
        return _INTERRUPTED
    except OSError as error:  # while an error is printed
        click.echo(f"error: the suite erred: {error}", err=True)
        return ConformanceError.exit_code
    return code if isinstance(code, int) else 0


class _Heard(io.TextIOWrapper):
    """Standard output: when its reader is gone, further output is discarded, and the exit code stays the same.

    A character that the encoding lacks is written as a question mark.
    """

    lost: type[OSError] = BrokenPipeError
    """The error on which output is discarded."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except self.lost:
            self._forget()
        return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except self.lost:
            self._forget()

    def _forget(self) -> None:
        """Discards all further output."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


class _HeardOf(_Heard):
    """Standard error: if a message cannot be written, as on a full disk, the exit code still stands."""

    lost = OSError


def _heard(stream: Any, made: type[_Heard]) -> Any:
    if not isinstance(stream, io.TextIOWrapper):  # closed by the caller, for example
        return stream
    return made(stream.buffer, stream.encoding, "replace", line_buffering=stream.line_buffering)


def _say(text: str) -> None:
    from conformance.client.redaction.secrets import clean_with_all

    click.echo(f"error: {' '.join(clean_with_all(text).split())}", err=True)


def _described(error: Exception) -> str:
    if os.environ.get("CONFORMANCE_TRACEBACK"):
        import traceback

        from conformance.client.redaction.secrets import clean_with_all

        click.echo(clean_with_all(traceback.format_exc()), err=True)
    return f"{type(error).__name__}: {error}"
