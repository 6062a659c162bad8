"""Secrets, fetched when they are needed. No exception contains a secret."""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from conformance.core import bounded_output
from conformance.core.errors import ProfileError
from conformance.profile.keyrings import from_keyring
from conformance.profile.model import Credential

COMMAND_TIMEOUT_S = 10.0
_MAX_BYTES: Final = 64 * 1024
MIN_LENGTH: Final = 6
"""A shorter secret cannot be redacted: its text occurs in ordinary words too."""
_KEY_FACTS: Final = ("scopes", "installation", "status")
"""What the profile states of a key: the same for each credential that has it."""
_VARIABLE_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
"""The form of a variable's name. Any other text may be a secret that was written in place of a name."""


def resolve_secrets(credentials: Mapping[str, Credential]) -> dict[str, str]:
    """The secret of each credential, by its name. Raises ProfileError, as `resolve_secret` and `require_distinct`."""
    keys = {name: resolve_secret(credential) for name, credential in credentials.items()}
    require_distinct(credentials, keys)
    return keys


def require_distinct(credentials: Mapping[str, Credential], keys: Mapping[str, str]) -> None:
    """Raises ProfileError where one key is stated twice, with facts that cannot both be true: the source of one names a
    wrong key, and the checks would blame the target for it."""
    owners: dict[str, Credential] = {}
    for name, secret in keys.items():
        credential = credentials[name]
        first = owners.setdefault(secret, credential)
        if differences := [fact for fact in _KEY_FACTS if getattr(first, fact) != getattr(credential, fact)]:
            problem = f"is the same key as credentials.{first.name}.secret, of other {' and '.join(differences)}"
            raise ProfileError(problem, where=f"credentials.{name}.secret", hint="does its source hold the right key?")


def resolve_secret(credential: Credential) -> str:
    """The credential's secret. Raises ProfileError, which names the credential and the source, never the secret."""
    source, where = credential.source, f"credentials.{credential.name}.secret"
    if source.env:
        secret = _from_environment(source.env, where)
    elif source.file is not None:
        secret = _from_file(source.file, where)
    elif source.keyring is not None:
        secret = from_keyring(source.keyring.service, source.keyring.username, where)
    else:
        secret = _from_command(source.command, where)
    if trouble := secret_trouble(secret):
        raise ProfileError(f"the secret {trouble}", where=where)
    if any(secret in word for word in source.command[1:]):
        hint = "let the program read it from a store"
        raise ProfileError("the process list would show the secret, an argument of its command", where=where, hint=hint)
    return secret


def secret_trouble(secret: str) -> str:
    """Why a text cannot be an API key in a header (RFC 9110 section 5.5); empty where it can."""
    if secret[-1:] in ("\n", "\r") and not re.search(r"[\n\r\0]", secret.rstrip("\r\n")):
        return "ends with a line break, which is not a part of a key"
    if "\n" in secret or "\r" in secret or "\0" in secret:
        return "has more than one line"
    if len(secret) < MIN_LENGTH:
        return f"has fewer than {MIN_LENGTH} characters: too few to be redacted in reports without hiding other text"
    if not secret.isascii() or not secret.isprintable():
        return "has characters beyond visible ASCII: their bytes in a header are not defined"
    if secret != secret.strip():
        return "begins or ends with a space, which a header does not preserve"
    return ""


def _from_environment(name: str, where: str) -> str:
    secret = os.environ.get(name, "")
    if not secret:
        state = "is empty" if name in os.environ else "is not set"
        if not _VARIABLE_NAME.fullmatch(name):
            hint = "env takes the name of a variable, not the secret itself"
            raise ProfileError(f"the environment variable named there {state}", where=where, hint=hint)
        raise ProfileError(f"the environment variable {name} {state}", where=where, hint=f"export {name}=...")
    return secret


def _from_file(path: Path, where: str) -> str:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise OSError(errno.EINVAL, "is neither a regular file nor a pipe")
        if os.name == "posix" and stat.S_ISREG(mode) and mode & 0o077:
            raise ProfileError(f"{path} can be read by others than its owner", where=where, hint=f"chmod 600 {path}")
        content = _read_pipe(path) if stat.S_ISFIFO(mode) else _read_file(path)
        if len(content) > _MAX_BYTES:
            raise ProfileError(f"{path} has more than {_MAX_BYTES:,} bytes", where=where)
        secret = content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ProfileError(f"{path} is not UTF-8", where=where) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in its name
        exists = os.path.exists(path)  # noqa: PTH110 - Path.exists raises on a long name
        place = path if path.suffix or exists else "the file named there"  # it may be the secret itself
        problem = error.strerror if isinstance(error, OSError) else error
        raise ProfileError(f"{place} cannot be read: {problem}", where=where) from None
    if not secret:
        raise ProfileError(f"{path} is empty", where=where)
    return secret


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _read_pipe(path: Path) -> bytes:
    """What a program writes to a pipe, such as a shell's `<(...)`, until it closes it. Raises OSError."""
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # opening it otherwise waits for a writer, for ever
    content, deadline = b"", time.monotonic() + COMMAND_TIMEOUT_S
    try:
        while len(content) <= _MAX_BYTES:
            if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                state = "it was not closed by its writer" if content else "nothing was written to it"
                raise OSError(errno.ETIMEDOUT, f"{state} in {COMMAND_TIMEOUT_S:g} s")
            if not (chunk := os.read(pipe, _MAX_BYTES + 1)):
                break
            content += chunk
    finally:
        os.close(pipe)
    return content


def _from_command(command: tuple[str, ...], where: str) -> str:
    """The output of the program. Its error output is not reported, since it may contain the secret."""
    program = command[0]
    try:
        code, output = bounded_output.run(command, COMMAND_TIMEOUT_S, _MAX_BYTES)
        secret = output.decode().strip()
    except subprocess.TimeoutExpired:
        raise ProfileError(f"{program} did not finish in {COMMAND_TIMEOUT_S:g} s", where=where) from None
    except bounded_output.TooMuchOutput:
        raise ProfileError(f"{program} printed more than {_MAX_BYTES:,} bytes", where=where) from None
    except UnicodeDecodeError:
        raise ProfileError(f"{program} printed text that is not UTF-8", where=where) from None
    except (OSError, ValueError) as error:
        place = program if len(command) > 1 else "the program named there"  # it may be the secret itself
        problem = error.strerror if isinstance(error, OSError) else error
        raise ProfileError(f"{place} cannot be run: {problem}", where=where) from None
    if code != 0:
        hint = "run it manually to see its messages"
        raise ProfileError(f"{program} ended with exit code {code}", where=where, hint=hint)
    if not secret:
        raise ProfileError(f"{program} printed nothing", where=where)
    return secret
