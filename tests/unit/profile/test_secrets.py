"""Secrets come from where the profile says, and never stand in a message."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.core.errors import ProfileError
from conformance.profile import resolve_secret, secrets
from conformance.profile.model import Credential, SecretSource
from conformance.profile.secrets import resolve_secrets
from tests.support.profiles import refusal

SECRET = "canary-4711"


def _credential(**source: object) -> Credential:
    return Credential("full", SecretSource(**source))  # type: ignore[arg-type]


def _refused(credential: Credential) -> str:
    return refusal(credential, SECRET)


def _file(directory: Path, text: bytes, mode: int = 0o600) -> Path:
    path = directory / "key"
    path.write_bytes(text)
    path.chmod(mode)
    return path


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUITE_TEST_KEY", SECRET)
    assert resolve_secret(_credential(env="SUITE_TEST_KEY")) == SECRET


@pytest.mark.parametrize(("value", "state"), [(None, "is not set"), ("", "is empty")])
def test_an_unset_variable_is_named(value: str | None, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the variable and the credential."""
    monkeypatch.delenv("SUITE_TEST_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SUITE_TEST_KEY", value)
    assert f"SUITE_TEST_KEY {state}" in _refused(_credential(env="SUITE_TEST_KEY"))


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_from_a_file_without_its_last_line_break(end: bytes, tmp_path: Path) -> None:
    assert resolve_secret(_credential(file=_file(tmp_path, SECRET.encode() + end))) == SECRET


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    """The hint says what to do about it."""
    path = _file(tmp_path, SECRET.encode(), mode)
    assert _refused(_credential(file=path)).endswith(f"(chmod 600 {path})")


@pytest.mark.parametrize("text", [b"", b"\n", b"\xff", SECRET.encode() + b"\nmore"])
def test_a_file_without_one_line_of_text_is_refused(text: bytes, tmp_path: Path) -> None:
    _refused(_credential(file=_file(tmp_path, text)))


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in _refused(_credential(file=tmp_path / "none"))


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a mode says nothing about who may read")
def test_what_is_no_file_has_no_mode_to_check(tmp_path: Path) -> None:
    """A pipe, as the shell's process substitution gives one, is read by nobody else."""
    reading, writing = os.pipe()
    os.write(writing, SECRET.encode())
    os.close(writing)
    try:
        assert resolve_secret(_credential(file=Path(f"/dev/fd/{reading}"))) == SECRET
    finally:
        os.close(reading)


@pytest.mark.parametrize("name", ["canary-4711", "canary_4711"])
def test_a_secret_in_the_place_of_its_name_is_not_repeated(name: str, tmp_path: Path) -> None:
    """Who writes the key itself where a variable, a file or a program belongs reads it in no message."""
    for credential in (_credential(env=name), _credential(file=tmp_path / name), _credential(command=(name,))):
        assert name not in _refused(credential)


def _program(code: str) -> Credential:
    """A program that knows the secret in parts, so that the secret stands in nobody's command line."""
    return _credential(command=(sys.executable, "-S", "-c", code.replace(SECRET, "' 'canary' '-' '4711' '")))


def test_from_a_command() -> None:
    """Its output without the space around it; no shell looks at the words."""
    assert resolve_secret(_program(f"print(' {SECRET} ')")) == SECRET
    assert resolve_secret(_credential(command=("sh", "-c", "printf '$%s' HOMELY"))) == "$HOMELY"


def test_a_command_that_shows_the_secret_in_the_process_list_is_refused() -> None:
    """`echo KEY` is no place to keep a key: everybody on the machine can read it there."""
    assert "process list" in _refused(_credential(command=("echo", SECRET)))


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        ("a1b2c", "fewer than 6 characters"),
        ("schl\u00fcssel-4711", "visible ASCII"),
        ("can\tary-4711", "visible ASCII"),
        ("can\x7fary-4711", "visible ASCII"),
        (" canary-471", "begins or ends with a space"),
        ("canary-471 ", "begins or ends with a space"),
        ("canary\r471", "more than one line"),
        ("canary-471\n", "ends with a line break"),
        ("canary-471\r\n", "ends with a line break"),
        ("canary\n471\n", "more than one line"),
    ],
)
def test_what_cannot_be_kept_out_of_reports_or_sent_in_a_header_is_refused(
    secret: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the message does not show it."""
    monkeypatch.setenv("SUITE_TEST_KEY", secret)
    message = _refused(_credential(env="SUITE_TEST_KEY"))
    assert says in message
    assert secret not in message


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (f"import sys; sys.stderr.write('{SECRET}'); print('{SECRET}'); sys.exit(3)", "ended with exit code 3"),
        ("pass", "printed nothing"),
        ("import sys; sys.stdout.buffer.write(bytes([255]))", "not UTF-8"),
        (f"print('{SECRET}'); print(2)", "more than one line"),
    ],
)
def test_a_command_that_fails_is_said_without_its_output(code: str, says: str) -> None:
    assert says in _refused(_program(code))


def test_a_command_that_is_none_is_said(tmp_path: Path) -> None:
    assert "cannot be run" in _refused(_credential(command=(str(tmp_path / "none"),)))


def test_a_command_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """In bounded time, and what it printed until then is not shown."""
    monkeypatch.setattr(secrets, "COMMAND_TIMEOUT_S", 0.2)
    assert "did not finish in 0.2 s" in _refused(_program(f"import time; print('{SECRET}', flush=True); time.sleep(9)"))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device here")
def test_a_device_is_no_source(tmp_path: Path) -> None:
    """It would be read without end."""
    assert "is neither a regular file nor a pipe" in _refused(_credential(file=Path("/dev/zero")))
    assert "has more than 65,536 bytes" in _refused(_credential(file=_file(tmp_path, b"x" * 70_000)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_read_as_a_shell_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody writes to, or closes, is waited for some seconds."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(SECRET.encode() + b"\n"))
    writer.start()
    assert resolve_secret(_credential(file=pipe)) == SECRET
    writer.join()
    monkeypatch.setattr(secrets, "COMMAND_TIMEOUT_S", 0.2)
    assert "nothing was written to it in 0.2 s" in _refused(_credential(file=pipe))
    keeper = os.open(pipe, os.O_RDWR)
    os.write(keeper, SECRET.encode())
    assert "it was not closed by its writer in 0.2 s" in _refused(_credential(file=pipe))
    os.close(keeper)


def test_a_command_that_prints_without_end_is_ended() -> None:
    """What it prints is read up to a bound."""
    endless = (sys.executable, "-c", "while True: print('x' * 10_000)")
    assert "printed more than 65,536 bytes" in _refused(_credential(command=endless))


@pytest.mark.parametrize(
    ("facts", "differences"),
    [
        ({"scopes": frozenset({"inventory"})}, "scopes"),
        ({"installation": "b"}, "installation"),
        ({"status": "revoked"}, "status"),
        ({"scopes": frozenset({"inventory"}), "status": "disabled"}, "scopes and status"),
        ({}, ""),
    ],
)
def test_one_key_is_stated_twice_only_with_equal_facts(
    facts: dict[str, Any], differences: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key exported twice by mistake would be the target's failure in every check of the two."""
    monkeypatch.setenv("SUITE_TEST_KEY", SECRET)
    monkeypatch.setenv("SUITE_OTHER_KEY", SECRET)
    full = replace(_credential(env="SUITE_TEST_KEY"), installation="a")
    other = replace(full, name="other", source=SecretSource(env="SUITE_OTHER_KEY"), **facts)
    credentials = {"full": full, "other": other}
    if not differences:
        assert resolve_secrets(credentials) == {"full": SECRET, "other": SECRET}
        return
    with pytest.raises(ProfileError) as raised:
        resolve_secrets(credentials)
    problem = f"is the same key as credentials.full.secret, of other {differences}"
    assert str(raised.value).startswith(f"credentials.other.secret: {problem} (")
    assert SECRET not in str(raised.value)
    monkeypatch.setenv("SUITE_OTHER_KEY", f"{SECRET}-2")
    assert resolve_secrets(credentials)["other"] == f"{SECRET}-2"
