"""The options of a probe: sources of keys, facts of the user, and the output file."""

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

DEFAULT_KEY_NAME: Final = "full"
_VALID_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SOURCES: Final = ("env", "file", "command")
_KEY_HINT: Final = "write env:VARIABLE, file:PATH or command:PROGRAM ARGUMENTS; never the secret itself"


@dataclass(frozen=True)
class KeySource:
    """The source of an API key, as written in the profile."""

    name: str
    secret: Mapping[str, Any]
    """`{"env": ...}`, `{"file": ...}` or `{"command": [...]}`."""


@dataclass(frozen=True)
class ProbeOptions:
    """The options of a probe."""

    base_url: str
    output: Path
    keys: Sequence[KeySource] = ()
    openapi: str = ""
    """Path or URL; empty: none."""
    fixtures: Path | None = None
    """A TOML file with tables of a profile."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Tables of a profile that the user stated at the prompts of `init`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    """The name of the profile; empty: the stem of the output file."""
    force: bool = False
    provoke_429: int = 0
    """Maximum number of requests sent to provoke a rate limit; 0: none."""
    max_requests: int = PROBE_REQUESTS
    deadline_s: float = PROBE_DEADLINE_S

    def validate(self) -> None:
        """Raises UsageError on invalid options."""
        if problem := base_url_trouble(self.base_url):
            raise UsageError(problem, where="--base-url")
        if self.output.exists() and not self.force:
            raise UsageError("the file exists", where=str(self.output), hint="pass --force to overwrite it")
        if self.output.suffix != ".toml":
            raise UsageError("the file name of a profile ends in .toml", where=str(self.output))
        if not self.output.parent.is_dir():
            raise UsageError("the folder does not exist", where=str(self.output.parent))
        if not _VALID_NAME.fullmatch(self.profile_name):
            hint = "use letters, digits and - _ . only, or pass --name"
            raise UsageError(f"{self.profile_name!r} is not a valid name of a profile", where="--output", hint=hint)
        names = [key.name for key in self.keys]
        if duplicate := next((name for name in names if names.count(name) > 1), ""):
            raise UsageError(f"two keys have the name {duplicate!r}", where="--key", hint="write NAME=SOURCE")

    @property
    def profile_name(self) -> str:
        return self.name or self.output.stem

    @property
    def schema_file(self) -> Path:
        """The file of the drafted schemas, beside the profile."""
        return self.output.with_name(f"{self.output.stem}.schemas.json")


def key_source(text: str) -> KeySource:
    """Parses `[NAME=]SOURCE`. Raises UsageError, which never contains the text: it may be a secret."""
    name, equals, rest = text.partition("=")
    if not equals or not _VALID_NAME.fullmatch(name) or ":" in name:
        name, rest = DEFAULT_KEY_NAME, text
    kind, colon, value = rest.partition(":")
    if not colon or kind not in _SOURCES or not value.strip():
        raise UsageError("not a valid source of a key", where="--key", hint=_KEY_HINT)
    if kind == "env":
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
            raise UsageError("not a valid name of an environment variable", where="--key", hint=_KEY_HINT)
        return KeySource(name, {"env": value})
    if kind == "file":
        return KeySource(name, {"file": value})
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise UsageError(f"the command cannot be read: {error}", where="--key") from None
    return KeySource(name, {"command": words})


def relocate_source(source: KeySource, directory: Path) -> KeySource:
    """Rewrites a path relative to the working directory into one relative to the folder of the profile.

    A path that does not exist in the working directory stays unchanged.
    """
    if file := source.secret.get("file"):
        return KeySource(source.name, {"file": _relative_path(directory, file)})
    words = source.secret.get("command", ())
    if words and "/" in words[0]:
        return KeySource(source.name, {"command": [_relative_path(directory, words[0]), *words[1:]]})
    return source


def _relative_path(directory: Path, path: str) -> str:
    if Path(path).is_absolute() or not Path(path).exists():
        return path
    relative = os.path.relpath(path, directory)
    return relative if "/" in relative else f"./{relative}"


def read_secret(source: KeySource, directory: Path) -> str:
    """The secret. Raises ProfileError, which contains the source but never the secret."""
    secret = source.secret
    file = secret.get("file")
    secret_source = SecretSource(
        env=secret.get("env", ""),
        file=directory / file if file else None,
        command=_resolve_program(secret.get("command", ()), directory),
    )
    return resolve_secret(Credential(source.name, secret_source))


def _resolve_program(words: Sequence[str], directory: Path) -> tuple[str, ...]:
    """The command of a profile, with a relative program path resolved from the folder of the profile."""
    if not words or "/" not in words[0] or words[0].startswith("/"):
        return tuple(words)
    return (str((directory / words[0]).resolve()), *words[1:])


def read_fragment(path: Path | None) -> dict[str, Any]:
    """Reads the file of --fixtures. Raises ProfileError if it contains credentials or a schema file."""
    if path is None:
        return {}
    _, document = read_toml(path, missing="--fixtures takes the path of a TOML file")
    if "credentials" in document:
        raise ProfileError("pass keys by --key", where=f"{path}: credentials", hint=_KEY_HINT)
    if "file" in document.get("schemas", {}):
        raise ProfileError("pass schemas by --openapi", where=f"{path}: schemas.file")
    return document
