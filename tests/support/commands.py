"""The commands and plain pytest as a person starts them: real processes, in a folder of their own."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles, reference

REFERENCE = bundled_profiles() / "reference.toml"
TIMEOUT_S = 300
"""For what never takes so long, but on a machine that does much else."""


def shared_reference() -> EmbeddedReference:
    """One reference service for all tests; it serves any fault and variant by path prefix, so one is enough.

    A test that killed a run while the limit was lowered has left it so: it is restored each time.
    """
    service = _started_reference()
    httpx.delete(f"{service.control_url}/rate-limit", timeout=TIMEOUT_S).raise_for_status()
    return service


@cache
def _started_reference() -> EmbeddedReference:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(reference())


@dataclass(frozen=True)
class Done:
    """What a process left: its exit code and its two streams."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def one_line(self) -> str:
        """The only line that was written. Whatever was wrong, one line says so and no traceback follows."""
        lines = [line for line in self.text.splitlines() if line.strip()]
        assert len(lines) == 1, self.text
        assert "Traceback" not in lines[0]
        return lines[0]


@dataclass(frozen=True)
class Desk:
    """A folder to work in, and a reference service that runs as long as the tests do."""

    place: Path
    service: EmbeddedReference
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CONFORMANCE"))}
        own = {"XDG_CACHE_HOME": str(self.place / ".cache"), "NO_COLOR": "1", "COLUMNS": "200"}
        return {**kept, **own, **self.service.environment, **self.extra}

    def target(self, prefix: str = "") -> list[str]:
        """The options of `run` that point at the reference, or at one of the others that it serves by prefix."""
        place = f"/{prefix}" if prefix else ""
        url, control = self.service.base_url + place, self.service.control_url + place
        return ["--profile", str(REFERENCE), "--base-url", url, "--var", f"control={control}"]

    def conformance(self, *given: object, **rest: Any) -> Done:
        return self.finished(self.started(["-m", "conformance", *map(str, given)], **rest))

    def pytest(self, *given: object, prefix: str = "", target: Sequence[str] | None = None, **rest: Any) -> Done:
        """`pytest -p conformance.runner.plugin --pyargs conformance.checks`, with only those plugins that are named."""
        alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **rest.pop("env", {})}
        command = self.pytest_command(*given, prefix=prefix, target=target)
        return self.finished(self.started(command, env=alone, **rest))

    def pytest_command(self, *given: object, prefix: str = "", target: Sequence[str] | None = None) -> list[str]:
        """The options of `target` are those of `conformance run`; they are called otherwise here."""
        wanted = self.target(prefix) if target is None else target
        pointed = [word.replace("--", "--conformance-", 1) if word[:2] == "--" else word for word in wanted]
        command = [
            "-m",
            "pytest",
            "-p",
            "conformance.runner.plugin",
            "--pyargs",
            "conformance.checks",
            "-c",
            self.ini(),
        ]
        return [*command, *pointed, *map(str, given)]

    def ini(self) -> str:
        """A configuration that says nothing, so that none is looked for further up."""
        path = self.place / "pytest.ini"
        path.write_text("[pytest]\n")
        return str(path)

    def started(
        self, command: Sequence[str], *, env: Mapping[str, str] | None = None, **rest: Any
    ) -> subprocess.Popen[str]:
        """The process, in a session of its own so that a signal to its group is a Ctrl-C in a terminal."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**self.environment, **(env or {})}
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=rest.pop("cwd", self.place),
            env=environment,
            text=True,
            start_new_session=True,
            **{**streams, **rest},
        )

    def finished(self, process: subprocess.Popen[str]) -> Done:
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Done(process.returncode, out or "", err or "")

    def journal(self, folder: str = "out") -> list[dict[str, Any]]:
        """The lines of a run's journal."""
        return [json.loads(line) for line in (self.place / folder / "journal.ndjson").read_text().splitlines()]

    def left_behind(self) -> list[str]:
        """What lies in the folder that no command was asked to put there."""
        own = {".cache", "pytest.ini", ".pytest_cache"}
        return sorted(path.name for path in self.place.iterdir() if path.name not in own)


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    """Looks again and again until the condition holds. A process that ends meanwhile is a failure."""
    until = time.monotonic() + TIMEOUT_S
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def passed(journals: Iterable[Path]) -> int:
    """How many results in these journals passed. A result that needs no request is journalled before any is sent."""
    return sum(path.read_bytes().count(b'"outcome":"passed"') for path in journals)


def run_json(directory: Path) -> dict[str, Any]:
    """The machine-readable report of a run."""
    loaded: dict[str, Any] = json.loads((directory / "run.json").read_text())
    return loaded


def journal_lines(directory: Path, kind: str) -> list[dict[str, Any]]:
    """What the lines of this kind in a run's journal hold, as JSON."""
    lines = map(json.loads, (directory / "journal.ndjson").read_text(encoding="ascii").splitlines())
    return [line[kind] if kind in ("exchange", "result") else line for line in lines if line["kind"] == kind]


def results(run: Mapping[str, Any]) -> dict[tuple[str, str, str], str]:
    """(check, operation, case) -> outcome."""
    return {(r["check"], r["operation"], r["case"]): r["outcome"] for r in run["results"]}


def checks(run: Mapping[str, Any]) -> dict[tuple[str, str, str], str]:
    """The same, without the invariants."""
    return {key: outcome for key, outcome in results(run).items() if not key[0].startswith("invariant::")}


@contextmanager
def listening(answer: bytes, *, leave_open: bool = False) -> Iterator[str]:
    """A port that answers every connection with these bytes, whatever is asked; its URL.

    `leave_open`: connections are closed at the end, not after the answer.
    """
    server = socket.create_server(("127.0.0.1", 0))
    stack = ExitStack()

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            stack.enter_context(connection)
            connection.recv(65536)
            connection.sendall(answer)
            if not leave_open:
                connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        stack.close()
