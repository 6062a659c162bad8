"""The second process of a run: it does what it is told, nobody depends on it, and it outlives nobody."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.core.elsewhere import Elsewhere, Unavailable, elsewhere
from tests.support.paths import ROOT

ALONE = """
import sys
from conformance.core.elsewhere import Elsewhere
import os
print(Elsewhere().call(os.getpid), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other() -> Iterator[Elsewhere]:
    made = Elsewhere(["json"])
    yield made
    made.close()


def test_it_gives_what_the_function_gives_in_another_process(other: Elsewhere) -> None:
    """With the arguments that were given, one call after the other."""
    assert other.call(os.getpid) not in (0, os.getpid())
    assert [other.call(divmod, number, 7) for number in range(50)] == [divmod(number, 7) for number in range(50)]


def test_what_a_function_prints_is_no_answer(other: Elsewhere) -> None:
    """A library may write to the standard output whenever it likes."""
    assert other.call(os.system, "echo not an answer") == 0
    assert other.call(print, "nor this") is None
    assert other.call(len, "four") == 4


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(lambda: 1, ()), (int, ("no number",)), (compile, ("1", "", "eval")), (len, (sys,))],
    ids=["cannot be told", "goes wrong", "gives what cannot be told", "takes what cannot be told"],
)
def test_what_cannot_be_had_is_said_and_the_next_call_is_answered(
    other: Elsewhere, function: object, arguments: object
) -> None:
    """Whoever asked does it himself: there is one error for all reasons."""
    with pytest.raises(Unavailable):
        other.call(function, *arguments)  # type: ignore[arg-type,misc]
    assert other.call(len, "four") == 4


def test_a_process_that_is_gone_is_no_trouble(other: Elsewhere) -> None:
    """It may be killed for its memory, in the middle of something: that, and all that follows, is said."""
    with pytest.raises(Unavailable):
        other.call(os._exit, 3)
    with pytest.raises(Unavailable, match="nobody is there"):
        other.call(len, "four")
    other.close()


@pytest.mark.parametrize("stopped", [False, True], ids=["without an end", "stopped"])
def test_what_comes_to_no_end_is_waited_for_so_long(stopped: bool) -> None:
    """Whoever asked does it himself, be it late: also where the process stands still, as on a paused machine."""
    other = Elsewhere(patience_s=1.0)
    try:
        name = other.call(os.getpid)
        if stopped:
            os.kill(name, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(Unavailable, match="it is gone"):
            other.call(time.sleep, 60)
        assert 0.9 < time.monotonic() - began < 20
        assert not _alive(name)
    finally:
        other.close()


def test_it_is_the_same_suite_there(tmp_path: Path) -> None:
    """A run from a checkout works with that, also where another version is installed for the same interpreter."""
    package = tmp_path / "conformance"
    (package / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py", "core/elsewhere.py", "core/errors.py", "core/package.py"):
        shutil.copy(ROOT / "conformance" / name, package / name)
    (package / "where.py").write_text("def here():\n    return __file__\n")
    script = "from conformance.core.elsewhere import Elsewhere; from conformance.where import here; "
    script += "print(Elsewhere().call(here))"
    for place, more in ((ROOT.parent, {"PYTHONPATH": str(tmp_path)}), (tmp_path, {})):
        command = [sys.executable, *(["-P"] if more else []), "-c", script]
        own = subprocess.run(
            command, cwd=place, env={**os.environ, **more}, capture_output=True, text=True, timeout=30
        )  # fmt: skip
        assert (own.stdout.strip(), own.stderr) == (str(package / "where.py"), "")


def test_one_that_was_closed_is_gone() -> None:
    """Nothing of it is left once the context has ended, also where it never did anything."""
    with elsewhere() as other:
        assert other is not None
        name = other.call(os.getpid)
    assert not _alive(name)
    with pytest.raises(Unavailable):
        other.call(len, "four")


def test_there_is_none_where_there_is_one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would only take time from the run is not there."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    with elsewhere() as other:
        assert other is None


def test_a_process_that_cannot_be_started_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where there is no room for one more."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    other = Elsewhere()
    with pytest.raises(Unavailable, match="nobody is there"):
        other.call(len, "four")
    other.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_the_run(how: signal.Signals) -> None:
    """However that ends: no orphan is left behind."""
    run = subprocess.Popen(
        [sys.executable, "-c", ALONE], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with run:
        assert run.stdout is not None
        name = int(run.stdout.readline())
        assert _alive(name)
        run.send_signal(how)
    until = time.monotonic() + 10
    while _alive(name) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _alive(name)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return _state(process) != "Z"


def _state(process: int) -> str:
    """Its letter in /proc, where there is one: what nobody has waited for yet is no more."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
