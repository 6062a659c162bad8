"""A second process of a run: what takes time and sends nothing is worked out there, and holds up nothing that is sent.

It calls functions of this suite, one after the other, and ends with the run that it belongs to, however that ends.
Nobody depends on it: whoever cannot have something from there does it himself.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import Lock, Timer
from typing import Any, Final, TypeVar

from conformance.core.errors import ConformanceError
from conformance.core.package import PACKAGE

T = TypeVar("T")
SAME: Final = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import conformance
del sys.path[0]
"""
"""Begins a program of this suite in another process, whose first argument is `HERE`: it is this very suite there, too,
where another one is installed, and nothing else is taken from its folder."""
HERE: Final = str(PACKAGE.parent)
_CHILD: Final = f"""{SAME}
from conformance.core.elsewhere import serve
serve(sys.argv[1:])
"""


_PATIENCE_S: Final = 60.0
"""Nothing that is done there takes a tenth of it, on any machine that is fit for a run."""


class Unavailable(ConformanceError):
    """It was not done there: nobody is there, it cannot be told, it went wrong, or it came to no end."""


class Elsewhere:
    """The near side. May be called by several threads: each waits for its turn."""

    def __init__(self, beforehand: Sequence[str] = (), *, patience_s: float = _PATIENCE_S) -> None:
        """`beforehand`: modules that are imported there before anything is done, so that it is done alike each time.

        `patience_s`: so long one call is waited for; then it is ended for good.
        """
        self._turn = Lock()
        self._patience_s = patience_s
        self._process: subprocess.Popen[bytes] | None = None
        command = [sys.executable, "-P", "-c", _CHILD, HERE, *beforehand]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the run
            )
        except OSError:  # no room for one more process
            pass

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the function gives there. Raises Unavailable."""
        try:
            asked = pickle.dumps((function, arguments))
        except Exception as error:  # noqa: BLE001 - pickle has many ways to say that a value lives in one process only
            raise Unavailable(f"it cannot be told: {error}") from None
        with self._turn:
            done, given = self._asked(asked)
        if not done:
            raise Unavailable(f"it went wrong there: {given}")
        return given  # type: ignore[no-any-return]

    def _asked(self, asked: bytes) -> tuple[bool, Any]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise Unavailable("nobody is there")
        late = Timer(self._patience_s, process.kill)
        late.daemon = True
        late.start()
        try:
            process.stdin.write(asked)
            process.stdin.flush()
            return pickle.load(process.stdout)  # type: ignore[no-any-return]  # noqa: S301 - written by this suite
        except Exception as error:  # noqa: BLE001 - however it ended in the middle of its word
            self.close()
            raise Unavailable(f"it is gone: {error}") from None
        finally:
            late.cancel()

    def close(self) -> None:
        """Ends it, also in the middle of something. May be called again, and by another thread than one that waits."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # half a word that nobody reads any more
                    assert stream is not None
                    stream.close()


@contextmanager
def elsewhere(beforehand: Sequence[str] = ()) -> Iterator[Elsewhere | None]:
    """A second process for as long as the context lasts; None where there is no processor for it."""
    if _processors() < 2:
        yield None
        return
    other = Elsewhere(beforehand)
    try:
        yield other
    finally:
        other.close()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def serve(beforehand: Sequence[str]) -> None:
    """The far side, until there is nobody left who could ask."""
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    for name in beforehand:
        import_module(name)
    while True:
        try:
            function, arguments = pickle.load(asked)  # noqa: S301 - written by this suite
        except EOFError:
            return
        told.write(_done(function, arguments))
        told.flush()


def _done(function: Callable[..., Any], arguments: Sequence[Any]) -> bytes:
    try:
        return pickle.dumps((True, function(*arguments)))
    except Exception as error:  # noqa: BLE001 - whoever asked does it again, and meets the same
        return pickle.dumps((False, f"{type(error).__name__}: {error}"))
