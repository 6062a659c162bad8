"""Converts a valid document to the frozen values of `model.py`. Nothing is checked here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conformance.profile.exclusions import Exclusions
from conformance.profile.facts import attributes_of
from conformance.profile.model import Credential, Profile
from conformance.profile.resources import Fixture
from conformance.profile.structure import as_list

Table = Mapping[str, Any]


def build(
    document: Table,
    *,
    directory: Path,
    path: Path | None,
    schemas: Table,
    digest: str,
    exclusions: Exclusions | None = None,
) -> Profile:
    """The profile of a document, which must be valid by `structure` and `rules`, with normalized URLs.

    `exclusions` were removed from it.
    """
    exclusions = exclusions or Exclusions()
    attributes = attributes_of(Profile, document) | {
        "credentials": _credentials(document.get("credentials", {}), directory),
        "fixtures": {
            kind: {state: _fixture(kind, state, table, directory) for state, table in states.items()}
            for kind, states in document.get("fixtures", {}).items()
        },
        "schemas": {**document.get("schemas", {}), "by_name": schemas},
        "absent_credentials": _credentials(
            {name: {"secret": {}, "scopes": [], **table} for name, table in exclusions.credentials.items()}, directory
        ),
        "exclusions": exclusions.reasons,
        "digest": digest,
        "path": path,
        "directory": directory,
    }
    if "effects" in attributes:
        attributes["effects"] = {name: as_list(stated) for name, stated in attributes["effects"].items()}
    if "idempotency" in attributes:
        attributes["idempotency"] = _idempotency(attributes["idempotency"])
    return msgspec.convert(attributes, Profile, dec_hook=lambda _, value: _path(value, directory))


def _path(value: str | Path, directory: Path) -> Path:
    """A path in the document is relative to the profile's directory; `path` and `directory` themselves are not."""
    return value if isinstance(value, Path) else directory / value


def _credentials(tables: Table, directory: Path) -> dict[str, Any]:
    return {name: _credential(name, table, directory) for name, table in tables.items()}


def _credential(name: str, table: Table, directory: Path) -> dict[str, Any]:
    secret = dict(table["secret"])
    if "command" in secret:
        secret["command"] = _command(secret["command"], directory)
    return attributes_of(Credential, {**table, "secret": secret}) | {"name": name}


def _fixture(kind: str, state: str, table: Table, directory: Path) -> dict[str, Any]:
    attributes = attributes_of(Fixture, table) | {"kind": kind, "state": state}
    return attributes | ({"command": _command(attributes["command"], directory)} if "command" in attributes else {})


def _command(words: Sequence[str], directory: Path) -> Sequence[str]:
    """A relative path of a program is relative to the profile's directory, not to the current one."""
    if not words or "/" not in words[0] or words[0].startswith("/"):
        return words
    return (str((directory / words[0]).resolve()), *words[1:])


def _idempotency(table: Table) -> Table:
    form = table.get("format", "")
    return table if isinstance(form, str) else {**table, "format": "pattern", "pattern": form["pattern"]}
