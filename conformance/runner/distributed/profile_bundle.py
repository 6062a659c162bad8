"""A profile with the files and environment variables that it names, to be sent to another machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from conformance.core.errors import ProfileError
from conformance.profile.source import read_toml

_ENV: Final = re.compile(r"\{env\.([^{}]*)\}")


@dataclass(frozen=True)
class Bundle:
    """Plain data. Has no secrets, except in variables that the profile inserts into its own texts."""

    profile: str
    """Its path, relative to the folder that `files` are written to."""
    files: Mapping[str, bytes]
    programs: tuple[str, ...]
    """Those of `files` that are made executable."""
    environment: Mapping[str, str]

    def unpack(self, folder: Path) -> Path:
        """Writes the files into an empty folder and returns the path of the profile."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o700 if name in self.programs else 0o600)
        return folder / self.profile


def bundle_of(path: Path) -> Bundle:
    """A profile with the existing files that it names by relative paths. Raises ProfileError if one is unreadable."""
    text, document = read_toml(path)
    existing_files = {path.resolve()}
    programs = set()
    for name, is_program in _named_files(document):
        file = (path.parent / name).resolve()
        if not PurePosixPath(name).is_absolute() and file.is_file():
            existing_files.add(file)
            programs |= {file} if is_program else set()
    base = Path(os.path.commonpath([file.parent for file in existing_files]))
    try:
        files = {file.relative_to(base).as_posix(): file.read_bytes() for file in sorted(existing_files)}
    except OSError as error:
        raise ProfileError(f"cannot be read: {error.strerror}", where=str(error.filename)) from None
    return Bundle(
        path.resolve().relative_to(base).as_posix(),
        files,
        tuple(sorted(file.relative_to(base).as_posix() for file in programs)),
        {name: os.environ[name] for name in sorted(set(_ENV.findall(text))) if name in os.environ},
    )


def _named_files(document: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """(path, whether it is a program) of files in a profile. Not files of secrets: their values are sent separately."""
    for table, member in (("schemas", "file"), ("tls", "ca_file")):
        if isinstance(name := document.get(table, {}).get(member), str):
            yield name, False
    for states in document.get("fixtures", {}).values():
        for fixture in states.values():
            module = str(fixture.get("python", "")).rpartition(":")[0]
            if module.endswith(".py"):
                yield module, False
            if (command := fixture.get("command")) and "/" in command[0]:
                yield command[0], True
