"""How a command ends: an error is one line and an exit code of the suite. Python and click would exit with 1, which
means that the target does not conform."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from conformance.cli.options import name_variable
from conformance.client.redaction.output import RedactedOutput
from conformance.core.disk_space import space_hint
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.exit_codes import EXIT_CODES, EXIT_INTERRUPTED
from conformance.core.file_handles import with_remedy
from conformance.core.interrupts import find_interrupt
from conformance.core.messages import shorten

_MAX_WORD = 300
_LONG_WORD = re.compile(rf"\S{{{_MAX_WORD + 1},}}")
_MAX_MESSAGE = 2000


class CommandGroup(click.Group):
    """A group of commands that end so."""

    def main(self, *args: Any, standalone_mode: bool = True, **rest: Any) -> Any:
        click_main: Callable[..., Any] = super().main
        if not standalone_mode:
            return click_main(*args, standalone_mode=False, **rest)
        if sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__:
            sys.stdout, sys.stderr = _wrap_stream(sys.stdout, _OutputStream), _wrap_stream(sys.stderr, _ErrorStream)
        code: Any
        try:
            code = _exit_code(partial(click_main, *args, standalone_mode=False, **rest))
        except SystemExit as ending:
            code = ending.code
        sys.exit(_require_output(code))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConformanceError as error:
            name_variable(error, ctx)
            _print_error(str(error))
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            _print_error("interrupted")
            ctx.exit(EXIT_INTERRUPTED)
        except (click.exceptions.Exit, click.Abort, click.ClickException):
            raise
        except Exception as error:  # noqa: BLE001 - nothing above catches it
            if find_interrupt(error):
                _print_error("interrupted")
                ctx.exit(EXIT_INTERRUPTED)
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
                _print_error(f"{os.fsdecode(error.filename or '')}: {error.strerror}")
                ctx.exit(UsageError.exit_code)
            _print_error(f"the suite erred: {_describe(error)} (CONFORMANCE_TRACEBACK=1 shows where)")
            ctx.exit(ConformanceError.exit_code)


def _exit_code(command: Callable[[], Any]) -> int:
    try:
        code = command()
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        click.echo(_shorten(text.getvalue()), err=True, nl=False)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):  # outside of any command, or while an error is printed
        click.echo("error: interrupted", err=True)
        return EXIT_INTERRUPTED
    except OSError as error:  # while an error is printed
        click.echo(with_remedy(f"error: the suite erred: {error}"), err=True)
        return ConformanceError.exit_code
    return code if isinstance(code, int) else 0


def _require_output(code: Any) -> Any:
    """The exit code of a command, which is an error where standard output could not be written."""
    if not isinstance(sys.stdout, _OutputStream):
        return code
    sys.stdout.flush()
    if (error := sys.stdout.write_error) is None:
        return code
    is_verdict = code in EXIT_CODES.values() and code != ConformanceError.exit_code
    complete = "the command went on to its end, and its files, such as reports, are complete" if is_verdict else ""
    hint = "; ".join(part for part in (complete, space_hint(error)) if part)
    _print_error(str(ConformanceError(f"{error.strerror}", where="standard output", hint=hint)))
    return ConformanceError.exit_code if is_verdict else code


class _OutputStream(RedactedOutput):
    """Standard output: when it cannot be written, further output is discarded, and the command goes on. The exit code
    stays where the reader or terminal is gone."""

    is_terminal = False
    write_error: OSError | None = None
    """Why it could not be written; None where its reader is gone."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._discard_output(error)
        return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._discard_output(error)

    def _is_ignored(self, _error: OSError) -> bool:
        return isinstance(_error, BrokenPipeError) or (self.is_terminal and _error.errno == errno.EIO)

    def _discard_output(self, error: OSError) -> None:
        """Discards all further output."""
        if not self._is_ignored(error):
            self.write_error = error
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


class _ErrorStream(_OutputStream):
    """Standard error: if a message cannot be written, as on a full disk, the exit code still stands."""

    def _is_ignored(self, _error: OSError) -> bool:
        return True


def _wrap_stream(stream: Any, stream_type: type[_OutputStream]) -> Any:
    if not isinstance(stream, io.TextIOWrapper):  # closed by the caller, for example
        return stream
    wrapped = stream_type(stream)
    wrapped.is_terminal = stream.isatty()  # once it is closed, it is a terminal no more
    return wrapped


def _print_error(text: str) -> None:
    from conformance.client.redaction.secrets import clean_with_all
    from conformance.reports.shaping.text import visible

    click.echo(f"error: {with_remedy(visible(_shorten(' '.join(clean_with_all(text).split()))))}", err=True)


def _shorten(text: str) -> str:
    """A message without the middle of a long argument of the command line, or of the whole."""
    return shorten(_LONG_WORD.sub(lambda match: shorten(match[0], _MAX_WORD), text), _MAX_MESSAGE)


def _describe(error: Exception) -> str:
    if os.environ.get("CONFORMANCE_TRACEBACK"):
        import traceback

        from conformance.client.redaction.secrets import clean_with_all

        click.echo(clean_with_all(traceback.format_exc()), err=True)
    return f"{type(error).__name__}: {error}"
