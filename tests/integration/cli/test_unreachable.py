"""A target that cannot be reached leaves a run that says so, in every format: a pipeline shows why it is red."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.commands import REFERENCE, Desk, Done, run_json

pytestmark = pytest.mark.e2e

PROFILE = """\
name = "mini"
base_url = "http://127.0.0.1:9"
[authorization]
format = "Bearer {key}"
[limits]
timeout_s = 0.5
"""


@pytest.fixture(autouse=True)
def mini(tmp_path: Path) -> None:
    """The profile of a target that nobody answers for."""
    (tmp_path / "mini.toml").write_text(PROFILE)


def ran(desk: Desk, *given: object) -> Done:
    return desk.conformance("run", "--profile", "mini.toml", "--report-dir", "out", *given)


def reported(desk: Desk, done: Done, why: str) -> dict[str, Any]:
    """The run, once all that a pipeline collects was seen to say why."""
    folder = desk.place / "out"
    assert done.code == 4, done.text
    assert why in done.one_line() and "(report: out)" in done.one_line()
    assert done.out == ""
    run = run_json(folder)
    assert run["verdict"] == "incomplete" and run["complete"] is False
    assert {tier["verdict"] for tier in run["tiers"].values()} == {"incomplete"}
    assert why in run["interrupted"]
    checks = [result for result in run["results"] if not result["check"].startswith("invariant::")]
    assert checks and {result["outcome"] for result in checks} == {"untested"}
    assert run["counts"]["passed"] == run["traffic"]["requests"] == 0
    assert why in (folder / "summary.md").read_text().replace("\\", "")
    assert why in (folder / "report.html").read_text()
    errors = ET.parse(folder / "junit.xml").getroot().iter("error")
    assert any(why in f"{error.get('message')} {error.text}" for error in errors)
    assert desk.conformance("report", "out").code == 0
    assert desk.conformance("gate", "out").code == 3
    return run


@pytest.mark.slow
@pytest.mark.parametrize("given", [(), ("-q",), ("-x",), ("-n", "2")], ids=lambda given: " ".join(given) or "plain")
def test_nobody_there(desk: Desk, given: tuple[str, ...]) -> None:
    """However it was to be run."""
    run = reported(desk, ran(desk, *given), "cannot connect")
    assert not run["filtered"]


def test_a_filtered_run_is_about_what_was_selected(desk: Desk) -> None:
    """No other check is named in it."""
    run = reported(desk, ran(desk, "-k", "AUTH-1"), "cannot connect")
    assert run["filtered"]
    assert {result["requirement"] for result in run["results"] if "invariant" not in result["check"]} == {"AUTH-1"}


@contextmanager
def listening(behaviour: Callable[[socket.socket], None]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            held = []
            while True:
                try:
                    one, _ = server.accept()
                    held.append(one)
                    behaviour(one)
                except OSError:
                    break
            for one in held:
                one.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def _mail(one: socket.socket) -> None:
    one.recv(4096)
    one.sendall(b"220 mail.example ESMTP\r\n")
    one.close()


ODD: dict[str, tuple[Callable[[socket.socket], None], str]] = {
    "no HTTP": (_mail, "does not speak HTTP"),
    "closes at once": (lambda one: one.close(), "no HTTP"),
    "says nothing": (lambda one: None, "no answer within 0.5 s"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_what_is_no_http_service(desk: Desk, name: str) -> None:
    """It is there, and no target."""
    behaviour, why = ODD[name]
    with listening(behaviour) as url:
        done = ran(desk, "--base-url", url, "-k", "AUTH-1")
        why = why if why in done.err else "does not speak HTTP"
        reported(desk, done, why)


@pytest.mark.slow
def test_tls_that_nobody_speaks(desk: Desk) -> None:
    """https, asked of a port that speaks http."""
    url = desk.service.base_url.replace("http:", "https:")
    reported(desk, ran(desk, "--base-url", url, "-k", "AUTH-1"), "connect")


@pytest.mark.slow
def test_without_a_folder_of_its_own_it_gets_one_below_reports(desk: Desk) -> None:
    """Which the message names."""
    done = desk.conformance("run", "--profile", "mini.toml", "-k", "AUTH-1")
    (folder,) = (desk.place / "reports").iterdir()
    assert (done.code, f"report: reports/{folder.name}" in done.one_line()) == (4, True)
    assert run_json(folder)["verdict"] == "incomplete"


def test_shards_that_could_not_reach_it_are_merged(desk: Desk) -> None:
    """Into a run that is no more conformant than they are."""
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", "--report-dir", f"s{number}", "-k", "AUTH-1 or AUTH-3")
        assert desk.conformance("run", "--profile", "mini.toml", *shard).code == 4
    done = desk.conformance("merge", "s1", "s2", "--report-dir", "whole")
    assert done.code == 3, done.text
    run = run_json(desk.place / "whole")
    assert (run["verdict"], "cannot connect" in run["interrupted"]) == ("incomplete", True)


@pytest.mark.slow
def test_no_key_is_in_it(desk: Desk) -> None:
    """A key that stands in the address is redacted in the reports and in the message."""
    (desk.place / "mini.toml").write_text(PROFILE + '[credentials.full]\nscopes = []\nsecret = { env = "MINE" }\n')
    key = "sk_4f1e2d3c4b5a69788796a5b4"
    own = Desk(desk.place, desk.service, {"MINE": key})
    done = ran(own, "--base-url", f"http://127.0.0.1:9/{key}", "-k", "AUTH-1")
    assert done.code == 4
    written = {path.name: path.read_text() for path in (own.place / "out").rglob("*") if path.is_file()}
    assert {"run.json", "journal.ndjson", "junit.xml", "summary.md"} <= set(written)
    assert [name for name, text in written.items() if key[:12] in text] == []
    assert key[:12] not in done.text


@pytest.mark.slow
def test_a_run_that_is_resumed_while_the_target_is_away_loses_nothing(desk: Desk) -> None:
    """Nothing is added to its journal."""
    target = desk.target()
    gone = [word if not word.startswith("http") else "http://127.0.0.1:9" for word in target]
    done = desk.conformance("run", *gone, "--report-dir", "out", "-k", "AUTH-1 and getApiKeyIdentity")
    assert done.code == 4, done.text
    again = ("run", "--resume", "out", "--profile", REFERENCE)
    assert desk.conformance(*again).code == 4  # it is still not there, and nothing is lost
    assert run_json(desk.place / "out")["verdict"] == "incomplete"
    assert desk.conformance("report", "out").code == 0
