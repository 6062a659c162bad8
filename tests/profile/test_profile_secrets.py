"""Secrets come from where the profile says, and never stand in a message."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conformance.errors import ProfileError
from conformance.profile import resolve_secret, secrets
from conformance.profile.model import Credential, SecretSource

SECRET = "canary-4711"


def _credential(**source: object) -> Credential:
    return Credential("full", SecretSource(**source))  # type: ignore[arg-type]


def _refused(credential: Credential) -> str:
    with pytest.raises(ProfileError) as raised:
        resolve_secret(credential)
    message = str(raised.value)
    assert message.startswith("credentials.full.secret: ")
    assert SECRET not in message + repr(raised.value) + repr(raised.value.__cause__)
    return message


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


def _program(code: str) -> Credential:
    return _credential(command=(sys.executable, "-S", "-c", code))


def test_from_a_command() -> None:
    """Its output without the space around it; no shell looks at the words."""
    assert resolve_secret(_program(f"print(' {SECRET} ')")) == SECRET
    assert resolve_secret(_credential(command=("echo", "$HOME"))) == "$HOME"


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
