"""Python processes that run this package and end with the process that started them."""

from __future__ import annotations

import sys
from typing import Final

from conformance.core.package import PACKAGE

_PROGRAM: Final = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback from the middle of an import
sys.stdout.reconfigure(encoding="utf-8")  # which its parent reads, whatever encoding the terminal has
sys.stderr.reconfigure(encoding="utf-8")
parent = os.dup(0)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
def end_with_parent():
    os.read(parent, 1)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end_with_parent, daemon=True).start()
sys.path.insert(0, sys.argv.pop(1))
import conformance
del sys.path[0]
"""


def command(statements: str, *arguments: object) -> list[str]:
    """A command line that runs `statements`, for `Popen(..., stdin=PIPE)`: the process ends when the pipe is closed.

    `sys.argv[1:]` are the arguments. Neither the current folder nor that of this package is searched for modules.
    """
    return [sys.executable, "-P", "-c", _PROGRAM + statements, str(PACKAGE.parent), *map(str, arguments)]
