"""Standard output and error of a process without secrets: what a fixture's function or a library prints is not ours."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, Final

_MAX_LINE: Final = 64 * 1024
_MAX_OUTPUT: Final = 1024 * 1024
_SECRETS: Final = "conformance.client.redaction.secrets"


class RedactedOutput(io.TextIOWrapper):
    """A text stream that redacts whole lines: `print` writes a line in pieces, and a secret may be among several.

    A character that the encoding lacks is written as a question mark.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        super().__init__(stream.buffer, stream.encoding, "replace", line_buffering=stream.line_buffering)
        self._stream = stream  # its end would close the buffer
        self._line = ""
        self._lock = RLock()

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # by which libraries recognise a stream of text
            raise TypeError("write() argument must be str")
        if (output := _OUTPUT.get()) is not None and output.append(self, text):
            return len(text)
        with self._lock:
            self._line += text
            if self._line.endswith("\n") or len(self._line) > _MAX_LINE:
                self._write_line()
        return len(text)

    def flush(self) -> None:
        if (output := _OUTPUT.get()) is not None and not output.is_complete:
            return
        with self._lock:
            self._write_line()
            super().flush()

    def close(self) -> None:
        """Closes nothing: the buffer is also that of the stream which this one replaces."""
        if not self.closed:
            self.flush()

    def _write_line(self) -> None:
        text, self._line = self._line, ""
        if text:
            super().write(_clean(text))


class DeferredOutput:
    """What a function prints before the secrets among its results are known."""

    def __init__(self) -> None:
        self._texts: list[tuple[RedactedOutput, str]] = []
        self._length = 0
        self.is_complete = False
        """Whether the function has ended; a thread or task that it has started may print later."""

    def append(self, stream: RedactedOutput, text: str) -> bool:
        """Defers a text; beyond a bound it is discarded. False: the function has ended, and nothing is deferred."""
        if self.is_complete:
            return False
        self._length += len(text)
        if self._length <= _MAX_OUTPUT:
            self._texts.append((stream, text))
        return True

    def write(self, results: Iterable[str]) -> None:
        """Writes it without known secrets, and without these results of the function, which may be secrets."""
        from conformance.client.redaction.secrets import Secrets

        self.is_complete = True
        if not self._texts:
            return
        secrets = Secrets()
        secrets.add_ephemeral_secrets("fixture", results)
        for stream, text in self._texts:
            stream.write(text)
        for stream in dict(self._texts):
            stream.flush()
        del secrets  # all secrets of this process are redacted as long as they exist


_OUTPUT: ContextVar[DeferredOutput | None] = ContextVar("_OUTPUT", default=None)


@contextmanager
def defer_output(results: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Defers what is printed within this context, and writes it at the end, redacted. `results`: called at the end."""
    token = _OUTPUT.set(output := DeferredOutput())
    try:
        yield
    finally:
        _OUTPUT.reset(token)
        output.write(results())


def _clean(text: str) -> str:
    """The text without the secrets of any run. No module of secrets has been imported: there are none."""
    secrets: Any = sys.modules.get(_SECRETS)
    clean = getattr(secrets, "clean_with_all", None)  # it is missing while the module is imported
    return str(clean(text)) if clean else text


@contextmanager
def redact_output() -> Iterator[None]:
    """Redacts what is printed within this context, unless the streams are captured or redacted already."""
    previous = sys.stdout, sys.stderr
    streams = [_redacting_stream(stream) for stream in previous]
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        for stream in streams:
            if isinstance(stream, RedactedOutput):
                stream.flush()
        if sys.stdout is streams[0]:
            sys.stdout = previous[0]
        if sys.stderr is streams[1]:
            sys.stderr = previous[1]


def _redacting_stream(stream: Any) -> Any:
    return RedactedOutput(stream) if type(stream) is io.TextIOWrapper else stream
