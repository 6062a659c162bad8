"""What keeps doctor from proving a fact, and is not the profile's: a limit, a gateway, a target that is slow."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.commands import REFERENCE, Desk, Done

pytestmark = pytest.mark.e2e

PROFILE = """
name = "obstructed"
base_url = "http://127.0.0.1:9"
limits = { timeout_s = 1, patience_s = 0.2 }
authorization = { format = "Bearer {key}" }
[credentials.full]
secret = { env = "OBSTRUCTED_KEY" }
scopes = ["webhooks:read"]
"""


class _Target(BaseHTTPRequestHandler):
    """Answers keys with the status of the server; after `answered` requests it is silent."""

    server: _Server

    def do_GET(self) -> None:
        self.server.count += 1
        if self.server.count > self.server.answered:
            time.sleep(3)
            return
        is_refused = self.server.status == 404 or self.path.endswith("/identity")
        status = self.server.status if is_refused else 200
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Retry-After", "100000")
        self.end_headers()
        self.wfile.write(json.dumps({"data": {}} if status == 200 else {"code": "c", "message": "m"}).encode())

    do_POST = do_PATCH = do_GET  # noqa: N815 - the names that the base class calls

    def log_message(self, *_: object) -> None:
        """Nothing: the tests read what doctor prints."""


class _Server(ThreadingHTTPServer):
    status = 200
    answered = 10**6
    count = 0
    daemon_threads = True


@contextmanager
def _target(status: int = 200, answered: int = 10**6) -> Iterator[str]:
    with _Server(("127.0.0.1", 0), _Target) as server:
        server.status, server.answered = status, answered
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _examined(desk: Desk, url: str, *options: str) -> Done:
    (desk.place / "own.toml").write_text(PROFILE)
    command = ["-m", "conformance", "doctor", "--profile", "own.toml", "--base-url", url, *options]
    return desk.finished(desk.started(command, env={"OBSTRUCTED_KEY": "key-0123456789"}))


@pytest.mark.parametrize(
    ("status", "words"), [(429, "is limited: 429"), pytest.param(503, "gateway trouble: 503", marks=pytest.mark.slow)]
)
def test_a_limit_and_a_gateway_say_nothing_of_a_key(desk: Desk, status: int, words: str) -> None:
    """The key is unsure, no advice says that it is another one, and the exit code is that of an incomplete run."""
    with _target(status) as url:
        done = _examined(desk, url)
    (line,) = [line for line in done.out.splitlines() if line.split()[1:2] == ["credentials.full"]]
    assert line.startswith("?") and words in line and "try again" in line, done.text
    assert "environment variable" not in done.out and "✕" not in done.out, done.text
    assert "authorization.format" not in done.out, done.text
    assert done.code == 3, done.text


def test_a_base_url_without_its_prefix_is_one_line(desk: Desk) -> None:
    """Where nothing is served under the base URL, no advice blames keys and fixtures."""
    with _target(404) as url:
        done = _examined(desk, url)
    (line,) = [line for line in done.out.splitlines() if line.startswith("✕")]
    assert line.split()[1] == "base_url" and "path prefix" in line, done.text
    assert done.code == 2, done.text


@pytest.mark.slow
def test_a_silent_target_is_not_said_to_answer(desk: Desk) -> None:
    """One line of base_url, not a wrong one and a proven one; and long work shows its progress."""
    with _target(answered=6) as url:
        done = _examined(desk, url)
    (line,) = [line for line in done.out.splitlines() if line.split()[1:2] == ["base_url"]]
    assert line.startswith("✕ base_url") and "stopped answering" in line, done.text
    assert done.code == 2, done.text
    assert "  proving " in done.err and " requests, " in done.err, done.err


def test_doctor_ends_at_its_deadline(desk: Desk) -> None:
    """It says at which stage, and what to give; nothing is wrong with the profile."""
    with _target(answered=2) as url:
        done = _examined(desk, url, "--deadline", "1.5", "--limit", "timeout_s=5")
    (line,) = [line for line in done.out.splitlines() if line.split()[1:2] == ["limits"]] or [done.text]
    assert "ended early, at the stage" in line and "the deadline of 1.5 s" in line and "--deadline" in line, done.text
    assert done.code == 3, done.text


@pytest.mark.e2e
def test_a_replay_of_an_equal_call_refutes_no_transition(desk: Desk) -> None:
    """Without keys a target may take the second call for the first again: what the transition states is unsure.

    That there are no keys is stated, so that nothing is missing.
    """
    keyless = '[idempotency]\nnone = "calls are known by their content"\n\n'
    text = re.sub(r"\[idempotency\]\n.*?\n(?=\[)", keyless, REFERENCE.read_text(), count=1, flags=re.DOTALL)
    (desk.place / "own.toml").write_text(text)
    schemas = REFERENCE.with_name("reference.schemas.yaml")
    (desk.place / schemas.name).write_text(schemas.read_text())
    done = desk.conformance("doctor", "--profile", "own.toml", *desk.target("V545")[2:])
    (line,) = [line for line in done.out.splitlines() if line.split()[1:2] == ["transitions.checkoutPublicCart"]]
    assert line.startswith("?") and "may be its repetition" in line, done.out
    assert "· idempotency  excluded: calls are known by their content" in re.sub("  +", "  ", done.out), done.out
    assert "nothing wrong" in done.out, done.out
