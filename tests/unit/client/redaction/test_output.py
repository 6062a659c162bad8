"""What is printed in a process of a run is written without its secrets, whole lines at a time."""

from __future__ import annotations

import contextvars
import io
import sys

import pytest

from conformance.client.redaction.output import RedactedOutput, defer_output, redact_output
from conformance.client.redaction.secrets import Secrets

KEY = "sk_live_0123456789abcdef"


@pytest.fixture
def secrets() -> Secrets:
    """Those of a run; as long as they live, their values are redacted."""
    secrets = Secrets()
    secrets.add_credential("full", KEY)
    return secrets


def printed(*texts: str, end: str = "\n") -> str:
    raw = io.BytesIO()
    output = RedactedOutput(io.TextIOWrapper(raw, "utf-8"))
    for text in texts:
        print(text, end=end, file=output)
    output.flush()
    return raw.getvalue().decode()


def test_a_secret_is_redacted(secrets: Secrets) -> None:
    assert secrets.clean(KEY) == "«credential:full»"
    assert printed(f"the key is {KEY}!") == "the key is «credential:full»!\n"


def test_a_secret_that_is_written_in_pieces_is_redacted(secrets: Secrets) -> None:
    """`print` writes its words, spaces and line end one after another."""
    assert secrets.longest
    assert KEY not in printed(KEY[:9], KEY[9:], end="")


def test_a_secret_of_several_lines_is_redacted(secrets: Secrets) -> None:
    """As a private key is."""
    secrets.add_credential("pem", "-----BEGIN KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END KEY-----")
    assert "MC4CAQAwBQYDK2VwBCIEIA" not in printed("-----BEGIN KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END KEY-----")


def test_the_beginning_of_a_line_is_not_held_without_end(secrets: Secrets) -> None:
    """More than a bound is written, although no line has ended."""
    assert secrets.longest
    raw = io.BytesIO()
    output = RedactedOutput(io.TextIOWrapper(raw, "utf-8"))
    for _ in range(100):
        output.write("x" * 1000)
    assert len(raw.getvalue()) > 50_000


def test_streams_are_replaced_and_restored(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    assert secrets.longest
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    with redact_output():
        print(KEY)
    assert sys.stdout is stream
    print("later", flush=True)
    assert raw.getvalue().decode() == "«credential:full»\nlater\n"


def test_the_results_of_a_function_are_redacted_in_what_it_has_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ticket that a fixture prints is a secret that nobody knows before the fixture has returned it."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", RedactedOutput(io.TextIOWrapper(raw, "utf-8")))
    with defer_output(lambda: ["ticket-0123456789"]):
        print("got ticket-0123456789", flush=True)
        assert raw.getvalue() == b""
    assert raw.getvalue().decode() == "got «redacted:fixture»\n"


def test_deferred_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that prints without end does not use all memory."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", RedactedOutput(io.TextIOWrapper(raw, "utf-8")))
    with defer_output(tuple):
        for _ in range(5000):
            print("x" * 1000)
    assert 500_000 < len(raw.getvalue()) < 2_000_000


def test_what_a_function_has_started_may_print_later(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread in the context of a function that has ended: nothing of it is lost, and secrets are redacted."""
    assert secrets.longest
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", RedactedOutput(io.TextIOWrapper(raw, "utf-8")))
    with defer_output(tuple):
        context = contextvars.copy_context()
    context.run(print, "later", KEY, flush=True)
    assert raw.getvalue().decode() == "later «credential:full»\n"
