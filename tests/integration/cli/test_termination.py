"""SIGTERM and SIGHUP end each command as Ctrl-C does: with one line and 130, from its start."""

from __future__ import annotations

import signal
import socket
import subprocess

import pytest

from tests.support.commands import TIMEOUT_S, Desk, wait_until

pytestmark = pytest.mark.e2e

SIGNALS = pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: signal.Signals(number).name
)
DURING_IMPORT = """
import signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "conformance.cli.options":
            signal.raise_signal(int(sys.argv.pop()))
sys.meta_path.insert(0, Finder())
from conformance.__main__ import main
main("conformance")
"""


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code, as a shell reports it, and the last line.

    Where SIGINT has interrupted `exec` of a text, as of a dataclass that is imported, CPython ends the process by that
    signal although it was handled: a shell reports 130 for both.
    """
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert "Traceback" not in out + err
    is_signal = process.returncode == -signal.SIGINT
    return 128 + signal.SIGINT if is_signal else process.returncode, err.splitlines()[-1]


def write_profile(desk: Desk, name: str, url: str) -> None:
    text = f'name = "{name}"\nbase_url = "{url}"\n[authorization]\nformat = "Bearer {{key}}"\n'
    (desk.place / f"{name}.toml").write_text(text)


@SIGNALS
@pytest.mark.parametrize("command", ["doctor", "probe", "compare", "run"])
def test_a_command_that_waits_for_its_target(desk: Desk, command: str, number: signal.Signals) -> None:
    """The target accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(TIMEOUT_S)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        for name in ("a", "b"):
            write_profile(desk, name, url)
        words = {
            "doctor": ["--profile", "a.toml"],
            "run": ["--profile", "a.toml"],
            "probe": ["--base-url", url, "--key", "env:CONFORMANCE_REFERENCE_FULL", "-o", "draft.toml"],
            "compare": ["a.toml", "b.toml"],
        }[command]
        process = desk.started(["-m", "conformance", command, *words])
        connection, _ = server.accept()
        with connection:
            process.send_signal(number)
            code, line = ended(process)
    assert code == 130
    assert line.startswith("error: interrupted")


@SIGNALS
def test_a_comparison_whose_first_run_is_interrupted(desk: Desk, number: signal.Signals) -> None:
    """The run has its report; the second target is sent nothing, and nothing is compared."""
    for name in ("a", "b"):
        write_profile(desk, name, desk.service.base_url)
    process = desk.started(["-m", "conformance", "compare", "a.toml", "b.toml"])
    journals = lambda: desk.place.glob("reports/compare-1-*/journal.ndjson")
    wait_until(lambda: any(journal.stat().st_size for journal in journals()), process)
    process.send_signal(number)
    assert ended(process) == (130, "error: interrupted")
    assert [folder.name[:11] for folder in (desk.place / "reports").iterdir()] == ["compare-1-a"]
    assert list(desk.place.glob("reports/*/report.html"))


@SIGNALS
def test_a_command_whose_modules_are_imported(desk: Desk, number: signal.Signals) -> None:
    """The first part of a second, before any command has begun."""
    process = desk.started(["-c", DURING_IMPORT, "list", str(int(number))])
    assert ended(process) == (130, "error: interrupted")


def test_a_command_under_nohup_goes_on(desk: Desk) -> None:
    """What is ignored stays ignored."""
    source = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{DURING_IMPORT}"
    done = desk.finished(desk.started(["-c", source, "list", "IDEM-4", str(int(signal.SIGHUP))]))
    assert (done.code, done.err) == (0, "")
    assert "IDEM-4" in done.out
