"""`conformance probe` and `conformance init` as a person types them."""

from __future__ import annotations

import re
import socket
import time
import tomllib
from pathlib import Path

import pytest

from conformance.runner.embedded_reference import EmbeddedReference
from tests.support.commands import Desk, listening
from tests.support.drafts import KEYS, SCHEMAS, fragment, variable

pytestmark = pytest.mark.e2e

FULL = f"env:{variable('full')}"
FIVE_MINUTES = 300


def _given(desk: Desk, *more: object) -> list[object]:
    return ["--base-url", desk.service.base_url, "--key", FULL, "-o", "mine.toml", *more]


@pytest.mark.slow
def test_from_a_base_url_and_a_key_to_a_first_verdict(desk: Desk) -> None:
    """In under five minutes, most of which nobody needs: probe, then run with what it drafted."""
    started = time.monotonic()
    drafted = desk.conformance("probe", *_given(desk))
    assert drafted.code == 0, drafted.text
    probed = time.monotonic() - started
    ran = desk.conformance("run", "--profile", "mine.toml", "--report-dir", "report")
    took = time.monotonic() - started
    print(f"probe {probed:.1f} s, first verdict after {took:.1f} s")
    assert ran.code in (0, 3), ran.text
    assert took < FIVE_MINUTES
    assert "conformance run --profile mine.toml" in drafted.out
    text = (desk.place / "mine.toml").read_text()
    assert text.count("TODO") >= 10
    facts = tomllib.loads(text)
    assert facts["authorization"]["format"] == "Bearer {key}"
    assert facts["search"]["page_base"] == 1
    assert facts["search"]["page_size_max"] == 50


def test_it_says_what_it_tries_and_what_it_found(desk: Desk) -> None:
    """On the error stream, as it goes; the last lines say what to type next."""
    known = fragment(desk.place / "known.toml")
    more = ["--fixtures", known, "--var", f"control={desk.service.control_url}", "--openapi", SCHEMAS]
    keys = [word for key in KEYS[1:] for word in ("--key", f"{key}=env:{variable(key)}")]
    done = desk.conformance("probe", *_given(desk, *more, *keys))
    assert done.code == 0, done.text
    said = done.err.splitlines()
    assert "  Authorization: Bearer {key}" in said
    assert "  idempotency key: header Idempotency-Key, uuid" in said
    assert "  20 of 20 operations were answered 200" in said
    summary = re.search(r"drafted mine.toml and mine.schemas.json: 20 of 20 .* (\d+) TODO, (\d+) requests", done.out)
    assert summary and int(summary[2]) <= 400
    assert desk.left_behind() == ["known.toml", "mine.schemas.json", "mine.toml"]


@pytest.mark.slow
def test_no_secret_is_printed_or_written(desk: Desk) -> None:
    """A draft can be committed: it names the sources of keys."""
    done = desk.conformance("probe", *_given(desk, "--key", f"none=env:{variable('none')}"))
    written = "".join(path.read_text() for path in desk.place.iterdir() if path.is_file())
    for name in ("full", "none"):
        secret = desk.service.environment[variable(name)]
        assert secret not in done.text
        assert secret not in written
        assert variable(name) in written


def test_a_secret_given_outright_is_refused(desk: Desk) -> None:
    line = desk.conformance("probe", "--base-url", desk.service.base_url, "--key", "sk_live_51Habc").one_line()
    assert "51Habc" not in line
    assert "env:VARIABLE" in line


@pytest.mark.slow
def test_an_earlier_file_is_not_overwritten(desk: Desk) -> None:
    """But with --force it is."""
    (desk.place / "mine.toml").write_text("mine")
    done = desk.conformance("probe", *_given(desk))
    assert done.code == 2
    assert "--force" in done.one_line()
    assert (desk.place / "mine.toml").read_text() == "mine"
    assert desk.conformance("probe", *_given(desk, "--force")).code == 0
    assert (desk.place / "mine.toml").read_text() != "mine"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["probe", "init"])
def test_nobody_at_home_is_exit_4(command: str, desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    done = desk.conformance(command, "--base-url", url, "--key", FULL, "-o", "mine.toml")
    assert done.code == 4
    assert url in done.err
    assert desk.left_behind() == []


def _answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


JSON = "Content-Type: application/json"
HOSTILE = {
    "no JSON": _answer("200 OK", b"<a>\x1b[31m"),
    "a list": _answer("200 OK", b"[1,2,3,[4]]", JSON),
    "an error": _answer("400 Bad", b'{"{env.HOME}": 1}', JSON, "WWW-Authenticate: \x1b[31m, {x} y"),
    "every key": _answer("200 OK", b'{"data": {"installationId": "\\"\\n[x]", "id": 1, "}{": "{env.HOME}"}}', JSON),
    "deep": _answer("200 OK", b'{"data":' * 400 + b"1" + b"}" * 400, JSON),
    "limited": _answer("429 Slow", b"{}", "Retry-After: 1"),
    "cut off": b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n{",
}


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_whatever_a_target_answers_a_draft_loads(answer: bytes, desk: Desk) -> None:
    """Its answers state nothing that they should not, and end no probe but in time."""
    with listening(answer) as url:
        done = desk.conformance(
            "probe", "--base-url", url, "--key", FULL, "-o", "mine.toml", "--deadline", 4, "--max-requests", 120
        )
    assert done.code == 0, done.text
    assert "Traceback" not in done.text
    assert "\x1b" not in done.text
    facts = tomllib.loads((desk.place / "mine.toml").read_text())
    assert facts["name"] == "mine"
    assert "x" not in facts


def test_init_asks_nobody_who_is_not_there(desk: Desk) -> None:
    """Without a terminal it says which options it lacks."""
    done = desk.conformance("init")
    assert done.code == 2
    assert "--base-url and --key" in done.one_line()


def test_init_can_be_scripted(desk: Desk) -> None:
    """Every question is an option too; then it does what probe does."""
    done = desk.conformance("init", *_given(desk))
    assert done.code == 0, done.text
    assert "conformance run --profile mine.toml" in done.out
    assert tomllib.loads((desk.place / "mine.toml").read_text())["base_url"] == desk.service.base_url


@pytest.mark.slow
def test_a_probe_keeps_to_its_requests(desk: Desk) -> None:
    """What is known by then is drafted, and it says that it ended early."""
    done = desk.conformance("probe", *_given(desk, "--max-requests", 20))
    assert done.code == 0, done.text
    assert "ended early" in done.err
    assert int(re.search(r"(\d+) requests", done.out)[1]) <= 20  # type: ignore[index]
    assert tomllib.loads((desk.place / "mine.toml").read_text())["authorization"]["format"] == "Bearer {key}"


@pytest.mark.slow
def test_a_limit_is_only_provoked_with_permission(served: EmbeddedReference, desk: Desk, tmp_path: Path) -> None:
    """Then the draft allows it too."""
    done = desk.conformance("probe", *_given(desk, "--provoke-429", 50))
    assert done.code == 0, done.text
    text = (desk.place / "mine.toml").read_text()
    assert "no 429 in 50 requests" in text or tomllib.loads(text)["rate_limit"]["provoke"] is True
