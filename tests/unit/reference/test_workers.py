"""Several processes on one database are one service. `CONFORMANCE_TEST_DATABASE` names another one than SQLite."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import wait_until
from tests.support.reference_api import OPERATIONS, Api, client, fresh
from tests.unit.reference.test_store import process


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    database = os.environ.get("CONFORMANCE_TEST_DATABASE", f"sqlite:///{tmp_path_factory.mktemp('shared') / 'shop.db'}")
    with process("--workers", "2", "--database", database) as (running, server), Api(server) as api:
        yield Api(server, f"reference~{fresh()}", api.http)
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 0


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_works_on_a_shared_database(both: Api, operation: str) -> None:
    assert both.status(operation) == 200


def test_duplicates_on_two_workers_have_one_effect(both: Api) -> None:
    before = both.effects("createInstallationWebhook")
    answers = both.parallel("createInstallationWebhook", 8, one_key=True)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["data"]["id"] for answer in answers}) == 1
    assert both.effects("createInstallationWebhook") == before + 1


@pytest.mark.parametrize("operation", ["checkoutPublicCart", "revokePublicCart", "consumeHostedCheckoutBrowserTicket"])
def test_two_workers_have_one_winner(both: Api, operation: str) -> None:
    answers = both.parallel(operation, 8, one_key=False)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7


def test_a_limit_counts_over_both_workers(both: Api) -> None:
    both.http.post(f"{both.control}/rate-limit", json={"limit": 3, "window_s": 60})
    statuses = []
    for _ in range(8):
        with client() as http:
            statuses.append(both.raw("getApiKeyIdentity", caller="limited", http=http).status_code)
    both.http.delete(f"{both.control}/rate-limit")
    assert statuses == [200] * 3 + [429] * 5
    assert both.status("getApiKeyIdentity", caller="limited") == 200


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_a_service_whose_workers_are_stopped_while_they_start_ends_at_once(tmp_path: Path) -> None:
    """A signal to the group reaches workers that have no handlers yet; nobody waits for them to start."""
    command = [sys.executable, "-m", "conformance.reference", "--workers", "2", "--database"]
    running = subprocess.Popen([*command, f"sqlite:///{tmp_path / 'shop.db'}"], start_new_session=True, text=True)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    wait_until(lambda: len(children.read_text().split()) == 3, running)  # and their tracker
    os.killpg(running.pid, signal.SIGTERM)
    assert running.wait(15) == 0


def test_workers_need_a_database_that_they_can_share() -> None:
    command = [sys.executable, "-m", "conformance.reference", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.returncode, "share" in done.stderr) == (2, True)
