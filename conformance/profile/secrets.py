"""Secrets, fetched when they are needed. None of them ever stands in an exception."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

from conformance.errors import ProfileError
from conformance.profile.model import Credential

COMMAND_TIMEOUT_S = 10.0


def resolve_secret(credential: Credential) -> str:
    """The credential's secret. Raises ProfileError, which names the credential and the source, never the secret."""
    source, where = credential.source, f"credentials.{credential.name}.secret"
    if source.env:
        secret = _from_environment(source.env, where)
    elif source.file is not None:
        secret = _from_file(source.file, where)
    else:
        secret = _from_command(source.command, where)
    if "\n" in secret or "\r" in secret or "\0" in secret:
        raise ProfileError("the secret has more than one line", where=where)
    return secret


def _from_environment(name: str, where: str) -> str:
    secret = os.environ.get(name, "")
    if not secret:
        state = "is empty" if name in os.environ else "is not set"
        raise ProfileError(f"the environment variable {name} {state}", where=where, hint=f"export {name}=...")
    return secret


def _from_file(path: Path, where: str) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & 0o077:
                raise ProfileError(
                    f"{path} can be read by others than its owner", where=where, hint=f"chmod 600 {path}"
                )
            secret = file.read().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ProfileError(f"{path} is not UTF-8", where=where) from None
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror}", where=where) from error
    if not secret:
        raise ProfileError(f"{path} is empty", where=where)
    return secret


def _from_command(command: tuple[str, ...], where: str) -> str:
    """What the program prints. Its complaints are not passed on, for they may hold the secret."""
    program = command[0]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_TIMEOUT_S, check=False
        )
        secret = done.stdout.decode().strip()
    except subprocess.TimeoutExpired:
        raise ProfileError(f"{program} did not finish in {COMMAND_TIMEOUT_S:g} s", where=where) from None
    except UnicodeDecodeError:
        raise ProfileError(f"{program} printed what is not UTF-8", where=where) from None
    except OSError as error:
        raise ProfileError(f"{program} cannot be run: {error.strerror}", where=where) from error
    if done.returncode != 0:
        hint = "run it by hand to see what it says"
        raise ProfileError(f"{program} ended with exit code {done.returncode}", where=where, hint=hint)
    if not secret:
        raise ProfileError(f"{program} printed nothing", where=where)
    return secret
