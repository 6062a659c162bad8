"""Secrets from the system's keyring, by the `keyring` library, which is an optional extra."""

from __future__ import annotations

import threading
from typing import Final

from conformance.core.errors import ProfileError

TIMEOUT_S: Final = 60.0
"""Long enough for a user to unlock it."""
INSTALL: Final = "pip install 'commerce-conformance[keyring]'"


def from_keyring(service: str, username: str, where: str) -> str:
    """The entry's secret. Raises ProfileError without the messages of the backend, which may contain the secret."""
    try:
        import keyring
        from keyring.errors import InitError, KeyringLocked, NoKeyringError
    except ImportError:
        raise ProfileError("the keyring library is not installed", where=where, hint=INSTALL) from None
    results: list[str | Exception | None] = []

    def fetch() -> None:
        try:
            results.append(keyring.get_password(service, username))
        except Exception as error:  # noqa: BLE001 - backends raise any errors of their own libraries
            results.append(error)

    thread = threading.Thread(target=fetch, daemon=True)  # a backend may wait for the user forever
    thread.start()
    thread.join(TIMEOUT_S)
    entry = f"the entry {username!r} of {service!r}"
    answer = results[0] if results else TimeoutError()
    if isinstance(answer, str) and answer:
        return answer
    if isinstance(answer, TimeoutError):
        raise ProfileError(f"the keyring did not answer within {TIMEOUT_S:g} s", where=where, hint="is it locked?")
    if isinstance(answer, NoKeyringError):
        hint = "`keyring diagnose` shows why; or use env, file or command"
        raise ProfileError("there is no keyring on this system", where=where, hint=hint)
    if isinstance(answer, (KeyringLocked, InitError)):
        raise ProfileError("the keyring is locked", where=where, hint="unlock it, and run this again")
    if isinstance(answer, Exception):
        message = f"the keyring failed with {type(answer).__name__}"
        hint = f"try `keyring get {service} {username}` by hand"
        raise ProfileError(message, where=where, hint=hint)
    state = "is empty" if answer == "" else "does not exist"
    raise ProfileError(f"{entry} {state} in the keyring", where=where, hint=f"keyring set {service} {username}")
