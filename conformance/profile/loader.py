"""Loads a profile. Each problem is a ProfileError that names file, line and key on one line."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.contract import load_contract
from conformance.core.errors import ProfileError
from conformance.core.paths import absolute_path
from conformance.profile.build import build
from conformance.profile.exclusions import extract_exclusions
from conformance.profile.model import Profile
from conformance.profile.profile_file import read_profile
from conformance.profile.rules import base_url_trouble, rule_problems
from conformance.profile.schemas import load_schemas
from conformance.profile.secret_exposure import exposure_problems
from conformance.profile.source import raise_first
from conformance.profile.structure import structure_problems
from conformance.profile.substitute import Substitution
from conformance.profile.urls import drop_empty_port
from conformance.profile.variables import require_known_variables, variable_names

_MAX_DEPTH = 200
"""Maximum nesting of tables and arrays: deeper ones exceed the recursion limit of the functions that read them."""


def load_profile(
    path: str | Path, *, base_url: str | None = None, variables: Mapping[str, str] | None = None
) -> Profile:
    """The profile in a TOML file, with `base_url` and `variables` in place of its own.

    Raises ProfileError; also for a variable that it does not know.
    """
    path = Path(path)
    text, document = read_profile(path)
    require_known_variables(variables or (), variable_names(document))
    directory = absolute_path(path.parent)
    return _load(document, text=text, directory=directory, path=path, base_url=base_url, variables=variables)


def profile_from_document(
    document: Mapping[str, Any],
    *,
    directory: Path,
    path: Path | None = None,
    base_url: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Profile:
    """The profile of a document as `tomllib` returns it. Relative paths are relative to `directory`.

    Raises ProfileError.
    """
    return _load(document, text="", directory=directory, path=path, base_url=base_url, variables=variables)


def _load(
    source: Mapping[str, Any],
    *,
    text: str,
    directory: Path,
    path: Path | None,
    base_url: str | None,
    variables: Mapping[str, str] | None,
) -> Profile:
    original: dict[str, Any] = as_json(source, "" if path is None else str(path))
    document, exclusions = extract_exclusions(original)
    raise_first([*exclusions.problems, *exclusions.in_source(structure_problems(document))], original, path, text)
    if base_url is not None:
        if trouble := base_url_trouble(base_url):
            raise ProfileError(trouble, where="--base-url")
        document["base_url"] = base_url
    document["variables"] = {**document.get("variables", {}), **(variables or {})}
    substitution = Substitution(document["variables"], os.environ)
    filled = substitution.fill(document)
    problems = [*exposure_problems(document), *substitution.problems, *structure_problems(filled)]
    problems += rule_problems(filled, directory=directory, contract=load_contract())
    raise_first(exclusions.in_source(problems), {**document, **original}, path, text)
    filled["base_url"] = drop_empty_port(filled["base_url"].rstrip("/"))
    schemas = _schemas(filled.get("schemas", {}), directory)
    digest = _digest([filled, schemas, exclusions.reasons, exclusions.credentials])
    return build(filled, directory=directory, path=path, schemas=schemas, digest=digest, exclusions=exclusions)


def as_json(value: Any, where: str, depth: int = 0) -> Any:
    """A deep copy with TOML's dates as strings. Raises ProfileError, with `where` as its place, on deep nesting."""
    if depth > _MAX_DEPTH:
        raise ProfileError("is nested too deeply", where=where, hint=f"at most {_MAX_DEPTH} tables and arrays")
    if isinstance(value, Mapping):
        return {str(name): as_json(item, where, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item, where, depth + 1) for item in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return value


def _schemas(table: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    if "file" not in table:
        return {}
    return load_schemas(directory / table["file"], table.get("names", {}), load_contract().schema_names)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
