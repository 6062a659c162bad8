"""Secrets from the system's keyring, by the `keyring` library, which is an optional extra."""

from __future__ import annotations

from typing import Final

from conformance.core.errors import ProfileError
from conformance.core.limited_call import start_call

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
    try:  # a backend may wait for the user forever
        secret = start_call(lambda: keyring.get_password(service, username), "keyring")(TIMEOUT_S)
    except TimeoutError:
        message, hint = f"the keyring did not answer within {TIMEOUT_S:g} s", "is it locked?"
    except NoKeyringError:
        message = "there is no keyring on this system"
        hint = "`keyring diagnose` shows why; or use env, file or command"
    except (KeyringLocked, InitError):
        message, hint = "the keyring is locked", "unlock it, and run this again"
    except Exception as error:  # noqa: BLE001 - backends raise any errors of their own libraries
        message = f"the keyring failed with {type(error).__name__}"
        hint = f"try `keyring get {service} {username}` by hand"
    else:
        if secret:
            return secret
        state = "does not exist" if secret is None else "is empty"
        message = f"the entry {username!r} of {service!r} {state} in the keyring"
        hint = f"keyring set {service} {username}"
    raise ProfileError(message, where=where, hint=hint)
