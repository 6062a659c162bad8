"""What a run may do to a target is bounded by its command line: reads only, so many requests, that fast, that way."""

from __future__ import annotations

import http.server
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.judge.assemble import load
from tests.support.commands import REFERENCE, Desk, run_json

pytestmark = pytest.mark.e2e


def ran(desk: Desk, *given: object, code: int = 3) -> dict[str, Any]:
    done = desk.conformance("run", *desk.target(), "--report-dir", "out", "-q", *given)
    assert done.code == code, done.text
    return run_json(desk.place / "out")


def test_a_read_only_run_sends_and_makes_nothing_but_reads(desk: Desk) -> None:
    """Every request is a GET, no fixture was made, and what was not sent is untested: never conformant."""
    run = ran(desk, "--read-only")
    assert {exchange.method for exchange in load(desk.place / "out").exchanges} == {"GET"}
    assert run["created"] == []
    assert run["verdict"] == "incomplete"
    assert run["counts"]["passed"] > 100
    untested = [r for r in run["results"] if r["outcome"] == "untested" and "read-only" in r["message"]]
    assert {r["operation"] for r in untested} >= {"createInstallationWebhook", "exchangeOAuthToken", "quotePublicCart"}
    assert not [r for r in run["results"] if r["outcome"] in ("failed", "broken")]


@pytest.mark.slow
def test_a_run_sends_no_more_requests_than_it_may(desk: Desk) -> None:
    run = ran(desk, "--max-requests", 60)
    assert 0 < run["traffic"]["requests"] <= 60
    assert "max_requests = 60" in run["interrupted"]


@pytest.mark.slow
def test_a_run_sends_no_faster_than_it_may(desk: Desk) -> None:
    """80 requests at 40 a second take two seconds."""
    ran(desk, "--max-requests", 80, "--rate", 40)
    times = sorted(exchange.at for exchange in load(desk.place / "out").exchanges)
    assert times[-1] - times[0] >= 79 / 40 * 0.98


@pytest.mark.slow
def test_the_time_out_of_a_request_is_what_was_asked_for(desk: Desk) -> None:
    """A target whose every answer takes longer never answers in time."""
    done = desk.conformance("run", *desk.target(), "--timeout", "0.0001", "-k", "AUTH-1", "-q")
    assert done.code in (3, 4), done.text


@pytest.mark.parametrize("given", [["--rate", "0"], ["--max-requests", "0"], ["--limit", "speed=3"],
                                   ["--limit", "rate"], ["--limit", "read_only=perhaps"], ["--proxy", "localhost"],
                                   ["--proxy", "http://me:secret@127.0.0.1:1"]])  # fmt: skip
def test_a_limit_that_makes_no_sense_is_refused(desk: Desk, given: list[str]) -> None:
    """Before anything is sent, with exit code 2; the password of a proxy is not repeated."""
    done = desk.conformance("run", *desk.target(), "-q", *given)
    assert done.code == 2, done.text
    assert "Traceback" not in done.text
    assert "me:secret" not in done.text
    assert desk.left_behind() == []


class Forwarder(http.server.BaseHTTPRequestHandler):
    """A forward proxy that knows absolute-form targets only (RFC 9112 section 3.2.2)."""

    protocol_version = "HTTP/1.1"
    seen: list[str]

    def forward(self) -> None:
        self.seen.append(self.path)
        assert self.path.startswith("http://127.0.0.1:")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = urllib.request.Request(self.path, data=body or None, method=self.command)
        for name, value in self.headers.items():
            if name.lower() not in ("host", "content-length", "connection", "proxy-connection"):
                request.add_header(name, value)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=10) as answer:
                status, headers, content = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            status, headers, content = error.code, error.headers, error.read()
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def forwarder() -> Iterator[tuple[str, list[str]]]:
    methods = ("GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS")
    handler = type("Handler", (Forwarder,), {"seen": [], **{f"do_{name}": Forwarder.forward for name in methods}})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler.seen
    finally:
        server.shutdown()
        server.server_close()


SELECTION = "check_idempotency or check_concurrency or check_hostile"


@pytest.mark.slow
def test_with_a_proxy_every_request_goes_through_it(desk: Desk) -> None:
    """Ordinary, exact and abandoned requests; and the checks judge as they do without."""
    with forwarder() as (url, seen):
        run = ran(desk, "--proxy", url, "-k", SELECTION)
    assert len(seen) >= run["traffic"]["requests"] > 500
    assert {path.startswith(desk.service.base_url) for path in seen} == {True}
    assert not [r for r in run["results"] if r["outcome"] in ("failed", "broken")]


@pytest.mark.slow
def test_a_proxy_of_the_environment_is_not_used(desk: Desk) -> None:
    with forwarder() as (url, seen):
        named = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), url)
        aware = Desk(desk.place, desk.service, named)
        ran(aware, "-k", "check_authentication and getApiKeyIdentity")
    assert seen == []


def cleaning(place: Path, path: str) -> Path:
    """The reference's profile, which says how carts and webhook endpoints are removed."""
    text = REFERENCE.read_text()
    for kind in ("cart", "webhook"):
        url = f"{{var.control}}/{path}/{kind}/{{{kind}.id}}"
        text += f'\n[cleanup.{kind}]\nhttp = {{ method = "DELETE", url = "{url}" }}\n'
    (place / "reference.schemas.yaml").write_bytes(REFERENCE.with_name("reference.schemas.yaml").read_bytes())
    (place / "cleaning.toml").write_text(text)
    return place / "cleaning.toml"


SOME = "check_webhooks or (check_idempotency and (quotePublicCart or cancelHosted))"


def cleaned(desk: Desk, path: str) -> dict[str, dict[str, Any]]:
    profile = cleaning(desk.place, path)
    target = ["--profile", profile, *desk.target()[2:]]
    done = desk.conformance("run", *target, "--report-dir", "out", "-k", SOME)
    assert done.code == 3, done.text
    run = run_json(desk.place / "out")
    told = {name: sum(len(one["left"]) for one in run["created"] if one["kind"] == name)
            for name in ("cart", "webhook", "session")}  # fmt: skip
    assert (f"{told['cart']:,} cart" in done.out) == bool(told["cart"])
    assert f"{told['session']:,} session" in done.out
    return {f"{one['kind']}.{one['state']}": one for one in run["created"]}


def test_what_was_made_is_listed_and_removed_where_the_profile_says_how(desk: Desk) -> None:
    """Carts and endpoints, those that checks created too, are gone; sessions, of which it says nothing, are listed."""
    made = cleaned(desk, "fixtures")
    assert made["webhook.created"]["count"] > 2
    assert {name: len(one["left"]) for name, one in made.items() if not name.startswith("session")} == dict.fromkeys(
        (name for name in made if not name.startswith("session")), 0
    )
    assert len(made["session.open"]["left"]) == made["session.open"]["count"] > 0


@pytest.mark.slow
def test_what_cannot_be_removed_is_said(desk: Desk) -> None:
    """The ids stay on the list, with the reason; the verdict is about the target and stays what it was."""
    made = cleaned(desk, "no-such-path")
    assert len(made["webhook.created"]["left"]) == made["webhook.created"]["count"]
    assert "404" in made["webhook.created"]["trouble"]
