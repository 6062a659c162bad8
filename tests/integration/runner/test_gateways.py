"""`--tx`: a run over execnet gateways that share no folder with it. Here they are on loopback, each in its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import REFERENCE, Desk, results, run_json

pytestmark = pytest.mark.e2e

SELECTION = "check_rate_limit or check_authentication and getApiKeyIdentity or check_search or check_oauth"
FOREVER_S = 30.0


@contextmanager
def server(place: Path) -> Iterator[str]:
    """A gateway as another machine would offer it: in a folder of its own, with nothing of ours in its environment."""
    place.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "execnet.script.socketserver", f"127.0.0.1:{port}"]
    process = subprocess.Popen(
        command,
        cwd=place,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(place)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + FOREVER_S
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    probe.sendall(b"''\n")
                    break
            time.sleep(0.05)
        yield f"socket=127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """One run in one process, one over two servers, and one over two processes in other folders."""
    from tests.support.commands import shared_reference

    desk = Desk(tmp_path_factory.mktemp("both"), shared_reference())
    with server(desk.place / "a") as a, server(desk.place / "b") as b:
        for folder, given in (
            ("one", ()),
            ("far", ("--tx", a, "--tx", b)),
            ("near", ("--tx", f"popen//chdir={desk.place / 'a'}", "--tx", f"popen//chdir={desk.place / 'b'}")),
        ):
            target = desk.target(f"reference~{folder}")
            done = desk.conformance("run", *target, "-k", SELECTION, "--seed", 3, "--report-dir", folder, *given)
            assert done.code == 3, f"{folder}: {done.text}"
    return desk


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["far", "near"])
def test_the_results_are_those_of_one_process(both: Desk, folder: str) -> None:
    """The limiter is provoked by one of them, at the end; all of it is one journal."""
    one, split = run_json(both.place / "one"), run_json(both.place / folder)
    assert results(one) == results(split)
    assert one["counts"] == split["counts"]
    assert split["complete"]
    assert not list((both.place / folder).glob("journal-*"))


@pytest.mark.slow
def test_nothing_of_the_run_stays_there(both: Desk) -> None:
    """No profile, no journal, no key; of the gateway's own there may be an empty folder."""
    assert [path for place in ("a", "b") for path in (both.place / place).rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_no_secret_of_one_process_stands_in_the_lines_of_another(both: Desk) -> None:
    text = (both.place / "far" / "journal.ndjson").read_text()
    assert not [name for name, key in both.service.environment.items() if key in text]


@pytest.mark.slow
def test_plain_pytest_has_gateways_too(desk: Desk) -> None:
    with server(desk.place / "a") as a:
        given = ("-p", "xdist.plugin", "--dist=load", f"--tx={a}", "-k", "getApiKeyIdentity and AUTH-1")
        done = desk.pytest(*given, "--conformance-report-dir", "out")
    assert done.code == 3, done.text
    assert run_json(desk.place / "out")["complete"]


def test_a_profile_goes_with_its_files(desk: Desk) -> None:
    """Schemas, and a provider that is a Python file; what it takes from the environment here is not set there."""
    mine = desk.place / "mine"
    mine.mkdir()
    (mine / "given.py").write_text(
        "import json, os, urllib.request\n\ndef merchant(context):\n"
        "    assert 'gateway' in os.getcwd(), os.getcwd()\n"
        f"    asked = urllib.request.Request('{desk.service.control_url}/fixtures/merchant/stocked', method='POST')\n"
        "    return json.load(urllib.request.urlopen(asked))\n"
    )
    stated = 'http = { method = "POST", url = "{var.control}/fixtures/merchant/stocked" }'
    text = REFERENCE.read_text().replace(stated, 'python = "given.py:merchant"', 1)
    (mine / "mine.toml").write_text(
        text.replace('control = "http://127.0.0.1:8766"', 'control = "{env.MY_CONTROL}"', 1)
    )
    schemas = REFERENCE.with_name("reference.schemas.yaml")
    (mine / schemas.name).write_text(schemas.read_text())
    here = Desk(desk.place, desk.service, {"MY_CONTROL": desk.service.control_url})
    with server(desk.place / "gateway") as gateway:
        target = ("--profile", "mine/mine.toml", "--base-url", desk.service.base_url)
        done = here.conformance("run", *target, "-k", "check_public", "--report-dir", "out", "--tx", gateway)
    assert done.code == 3, done.text
    counts = run_json(desk.place / "out")["counts"]
    assert counts["passed"] > 0
    assert counts["broken"] == counts["failed"] == counts["inconclusive"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "what"),
    [
        (("--tx", "socket=127.0.0.1:9"), "a gateway cannot be opened"),
        (("--tx", "popen//python=/nowhere/python"), "a gateway cannot be opened"),
        (("--tx", "nonsense"), "--tx"),
        (("--tx", "2*popen", "-n", "2"), "cannot be combined with -n"),
        (("--tx", "popen//chdir=.", "--lf"), "the last failures are unknown to gateways"),
    ],
)
def test_a_gateway_that_is_none_is_said_in_one_line(desk: Desk, given: tuple[str, ...], what: str) -> None:
    """Before anything is sent; it says nothing of the target."""
    done = desk.conformance("run", *desk.target(), "-q", *given)
    assert done.code == 2, done.text
    assert what in done.text
    assert "Traceback" not in done.text
    assert desk.left_behind() == []


@pytest.mark.slow
def test_a_gateway_without_the_suite_is_said(desk: Desk) -> None:
    """An interpreter that has nothing installed."""
    bare = desk.place / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    spec = f"popen//python={bare / 'bin' / 'python'} -I//chdir={desk.place}"
    done = desk.conformance("run", *desk.target(), "-q", "--tx", spec)
    assert done.code == 2, done.text
    assert "the suite is not installed there" in done.text or "a gateway cannot be opened" in done.text
