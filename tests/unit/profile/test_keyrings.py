"""Secrets out of a keyring: the real library, with keyrings in files and with ones that fail."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import InitError, KeyringLocked
from keyrings.alt.file import PlaintextKeyring

from conformance.profile import keyrings, resolve_secret
from conformance.profile.loader import profile_from_document
from conformance.profile.model import Credential, KeyringEntry, SecretSource
from tests.support.profiles import refusal

SECRET = "canary-4711"
FULL = Credential("full", SecretSource(keyring=KeyringEntry("shop", "full")))


class Failing(KeyringBackend):
    """Says the secret in its complaint, as backends that nobody here has seen may do."""

    priority = 1  # type: ignore[assignment]
    error: Exception = RuntimeError(SECRET)

    def get_password(self, service: str, username: str) -> str | None:
        raise self.error

    def set_password(self, service: str, username: str, password: str) -> None:
        raise self.error


class Waiting(Failing):
    """Waits for a person who does not come."""

    def get_password(self, service: str, username: str) -> str | None:
        time.sleep(2)
        return SECRET


@pytest.fixture(autouse=True)
def in_a_file(tmp_path: Path) -> Iterator[None]:
    before = keyring.get_keyring()
    kept = PlaintextKeyring()
    kept.file_path = str(tmp_path / "keyring.cfg")
    keyring.set_keyring(kept)
    yield
    keyring.set_keyring(before)


def _refused() -> str:
    return refusal(FULL, SECRET)


def test_the_entry_is_read() -> None:
    """By service and user name, as `keyring set` wrote it."""
    keyring.set_password("shop", "full", SECRET)
    assert resolve_secret(FULL) == SECRET


def test_a_profile_states_service_and_user_name(tmp_path: Path) -> None:
    document = {
        "name": "x",
        "base_url": "http://127.0.0.1:1",
        "authorization": {"format": "{key}"},
        "credentials": {"full": {"secret": {"keyring": {"service": "shop", "username": "full"}}, "scopes": []}},
    }
    assert profile_from_document(document, directory=tmp_path).credentials["full"].source == FULL.source


def test_an_entry_that_is_not_there_is_said_with_the_command_that_makes_it() -> None:
    assert _refused().endswith("'full' of 'shop' does not exist in the keyring (keyring set shop full)")


def test_an_entry_that_is_empty_is_said() -> None:
    keyring.set_password("shop", "full", "")
    assert "is empty in the keyring" in _refused()


@pytest.mark.parametrize("error", [KeyringLocked(SECRET), InitError(SECRET)])
def test_a_locked_keyring_is_said(error: Exception) -> None:
    backend = Failing()
    backend.error = error
    keyring.set_keyring(backend)
    assert "the keyring is locked (unlock it" in _refused()


def test_whatever_a_backend_raises_is_said_without_its_words() -> None:
    keyring.set_keyring(Failing())
    assert "the keyring failed with RuntimeError (try `keyring get shop full` by hand)" in _refused()


def test_no_keyring_at_all_is_said() -> None:
    from keyring.backends.fail import Keyring

    keyring.set_keyring(Keyring())
    assert "there is no keyring on this system" in _refused()


def test_a_keyring_that_waits_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """In bounded time."""
    monkeypatch.setattr(keyrings, "TIMEOUT_S", 0.1)
    keyring.set_keyring(Waiting())
    assert "did not answer within 0.1 s" in _refused()


def test_without_the_library_one_reads_what_to_install() -> None:
    """In an interpreter that has none."""
    code = (
        "import sys\nsys.modules['keyring'] = None\n"
        "from conformance.profile.keyrings import from_keyring\n"
        "from conformance.core.errors import ProfileError\n"
        "try:\n    from_keyring('shop', 'full', 'here')\nexcept ProfileError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = "here: the keyring library is not installed (pip install 'commerce-conformance[keyring]')\n"
    assert done.stdout == wanted
