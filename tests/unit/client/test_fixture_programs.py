"""Programs of fixtures end: in time, with what they have started, and with bounded output."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from conformance.client import fixture_programs
from conformance.client import fixtures as module
from conformance.profile.resources import Fixture
from tests.unit.client.test_fixtures import command, failure, provide


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no groups of processes here")
def test_what_a_command_has_started_ends_with_it(tmp_path: Path) -> None:
    """It keeps the command's output open, and is not waited for."""
    noted = tmp_path / "pid"
    script = f"import subprocess; p = subprocess.Popen(['sleep', '60']); open({str(noted)!r}, 'w').write(str(p.pid))"
    lines = (script, "print(json.dumps(dict(id='s')), flush=True)")
    started = time.perf_counter()
    assert provide(Fixture("order", "open", command=command(*lines)), directory=tmp_path) == [{"id": "s"}]
    assert time.perf_counter() - started < 25
    for _ in range(100):
        if not Path(f"/proc/{noted.read_text()}/cmdline").exists():
            break
        time.sleep(0.05)
    else:
        state = Path(f"/proc/{noted.read_text()}/status").read_text(encoding="utf-8")
        assert "zombie" in state  # nobody has waited for it


def test_a_command_that_prints_without_end_is_ended(tmp_path: Path) -> None:
    """What it prints is read up to a bound."""
    problem = str(
        failure(Fixture("order", "open", command=command("while True: print('x' * 100_000)")), directory=tmp_path)
    )
    assert "printed more than 4,194,304 bytes" in problem


def test_a_command_is_given_so_much_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes longer is ended, not left behind."""
    for place in (fixture_programs, module):
        monkeypatch.setattr(place, "TIMEOUT_S", 0.3)
    noted = tmp_path / "pid"
    lines = (f"open({str(noted)!r}, 'w').write(str(os.getpid()))", "import time; time.sleep(30)")
    started = time.perf_counter()
    assert "took over 0.3 s" in str(failure(Fixture("order", "open", command=command(*lines)), directory=tmp_path))
    assert time.perf_counter() - started < 25
    if noted.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(noted.read_text()), 0)
