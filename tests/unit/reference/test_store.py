"""With a database file, a killed process loses nothing that it acknowledged, and its keys and replays go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx

from tests.support.reference_api import Api, fresh


@contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """`python -m conformance.reference` and what it announced; gone at the end."""
    command = [sys.executable, "-m", "conformance.reference", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            yield running, SimpleNamespace(**json.loads(running.stdout.readline()))
        finally:
            running.kill()


def test_nothing_acknowledged_is_lost_by_sigkill(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'shop.db'}"
    acknowledged: list[tuple[dict[str, Any], Any]] = []
    with process("--database", database) as (running, server):

        def write() -> None:
            with Api(server) as api, suppress(httpx.HTTPError):
                while True:
                    ready = api.prepare("createInstallationWebhook", key=fresh())
                    acknowledged.append((ready, api.raw("createInstallationWebhook", **ready).json()))
                    if len(acknowledged) == 150:
                        running.send_signal(signal.SIGKILL)

        writers = [threading.Thread(target=write) for _ in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    assert len(acknowledged) >= 150
    with process("--database", database) as (_, again):
        assert again.credentials == server.credentials
        with Api(again) as api:
            before = api.effects("createInstallationWebhook")
            assert before >= len(acknowledged)
            for ready, answer in acknowledged:
                assert api.raw("createInstallationWebhook", **ready).json() == answer
            assert api.effects("createInstallationWebhook") == before


def test_each_prefix_has_a_file_of_its_own(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'shop.db'}"
    with process("--database", database) as (_, server), Api(server, "F001") as faulty, Api(server) as plain:
        assert faulty.status("createInstallationWebhook") == 201
        assert plain.effects("createInstallationWebhook") == 0
    assert {file.name for file in tmp_path.iterdir()} >= {"shop.db", "shop.db.F001"}


def test_a_process_ends_cleanly_on_sigterm() -> None:
    with process("--variant", "D17", "--fault", "F024") as (running, server):
        with Api(server) as api:
            answer = api.send("checkoutPublicCart", body={})
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        running.send_signal(signal.SIGTERM)
        assert running.wait(10) == 0


def test_a_port_in_use_is_said_in_words() -> None:
    with process() as (_, server):
        port = server.base_url.rpartition(":")[2]
        command = [sys.executable, "-m", "conformance.reference", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, env={**os.environ})
        assert done.returncode != 0
        assert "not available" in done.stderr
