"""What a probe is asked for: where keys come from, what a person states beforehand, and where the draft goes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from conformance.core.defaults import PROBE_DEADLINE_S, PROBE_REQUESTS
from conformance.core.errors import ProfileError, UsageError
from conformance.profile.model import Credential, SecretSource
from conformance.profile.rules import base_url_trouble
from conformance.profile.secrets import resolve_secret
from conformance.profile.source import read_toml

FULL: Final = "full"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SOURCES: Final = ("env", "file", "command")
_HOW: Final = "write env:VARIABLE, file:PATH or command:PROGRAM ARGUMENTS; the secret itself never stands here"


@dataclass(frozen=True)
class KeySource:
    """Where one API key comes from, as the profile will say it."""

    name: str
    secret: Mapping[str, Any]
    """`{"env": ...}`, `{"file": ...}` or `{"command": [...]}`."""


@dataclass(frozen=True)
class ProbeOptions:
    """What a probe is asked for."""

    base_url: str
    output: Path
    keys: Sequence[KeySource] = ()
    openapi: str = ""
    """A file's path or a URL; empty: none."""
    fixtures: Path | None = None
    """A TOML file with tables of a profile, as a person would state them."""
    variables: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    """The profile's name; empty: the output file's."""
    force: bool = False
    provoke_429: int = 0
    """So many requests may be sent at once to see a rate limit; 0: none."""
    max_requests: int = PROBE_REQUESTS
    deadline_s: float = PROBE_DEADLINE_S

    def check(self) -> None:
        """Raises UsageError or ProfileError on what cannot be done, before anything is sent."""
        if trouble := base_url_trouble(self.base_url):
            raise UsageError(trouble, where="--base-url")
        if self.output.exists() and not self.force:
            raise UsageError("exists already", where=str(self.output), hint="--force overwrites it")
        if self.output.suffix != ".toml":
            raise UsageError("a profile's name ends in .toml", where=str(self.output))
        if not self.output.parent.is_dir():
            raise UsageError("the folder does not exist", where=str(self.output.parent))
        if not _NAME.fullmatch(self.profile_name):
            hint = "letters, digits and - _ . only; --name gives another one"
            raise UsageError(f"{self.profile_name!r} is no name for a profile", where="--output", hint=hint)
        names = [key.name for key in self.keys]
        if doubled := next((name for name in names if names.count(name) > 1), ""):
            raise UsageError(f"two keys are called {doubled!r}", where="--key", hint="write NAME=SOURCE")

    @property
    def profile_name(self) -> str:
        return self.name or self.output.stem

    @property
    def schema_file(self) -> Path:
        """Where the drafted schemas go, beside the profile."""
        return self.output.with_name(f"{self.output.stem}.schemas.json")


def key_source(text: str) -> KeySource:
    """`[NAME=]SOURCE` as the command line has it. Raises UsageError, which never repeats what may be a secret."""
    name, equals, rest = text.partition("=")
    if not equals or not _NAME.fullmatch(name) or ":" in name:
        name, rest = FULL, text
    kind, colon, where = rest.partition(":")
    if not colon or kind not in _SOURCES or not where.strip():
        raise UsageError("this is no source of a key", where="--key", hint=_HOW)
    if kind == "env":
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", where):
            raise UsageError("this is no name of an environment variable", where="--key", hint=_HOW)
        return KeySource(name, {"env": where})
    if kind == "file":
        return KeySource(name, {"file": where})
    try:
        words = shlex.split(where)
    except ValueError as error:
        raise UsageError(f"the command cannot be read: {error}", where="--key") from None
    return KeySource(name, {"command": words})


def from_there(source: KeySource, directory: Path) -> KeySource:
    """The source as a profile in that folder says it: a path of the command line begins where that was typed.

    One that is there only as seen from the profile's folder is meant so, and stays.
    """
    if file := source.secret.get("file"):
        return KeySource(source.name, {"file": _seen_from(directory, file)})
    words = source.secret.get("command", ())
    if words and "/" in words[0]:
        return KeySource(source.name, {"command": [_seen_from(directory, words[0]), *words[1:]]})
    return source


def _seen_from(directory: Path, path: str) -> str:
    if Path(path).is_absolute() or not Path(path).exists():
        return path
    seen = os.path.relpath(path, directory)
    return seen if "/" in seen else f"./{seen}"


def fetched(source: KeySource, directory: Path) -> str:
    """The secret. Raises ProfileError, naming the source and never the secret."""
    secret = source.secret
    file = secret.get("file")
    given = SecretSource(
        env=secret.get("env", ""),
        file=directory / file if file else None,
        command=_program(secret.get("command", ()), directory),
    )
    return resolve_secret(Credential(source.name, given))


def _program(words: Sequence[str], directory: Path) -> tuple[str, ...]:
    """As a profile's command: a relative path is found from the profile's folder."""
    if not words or "/" not in words[0] or words[0].startswith("/"):
        return tuple(words)
    return (str((directory / words[0]).resolve()), *words[1:])


def fragment(path: Path | None) -> dict[str, Any]:
    """The tables that a person states. Raises ProfileError; a secret or a credential has no place there."""
    if path is None:
        return {}
    _, document = read_toml(path, missing="--fixtures takes the path of a TOML file")
    if "credentials" in document:
        raise ProfileError("keys are given by --key", where=f"{path}: credentials", hint=_HOW)
    if "file" in document.get("schemas", {}):
        raise ProfileError("schemas are given by --openapi", where=f"{path}: schemas.file")
    return document
