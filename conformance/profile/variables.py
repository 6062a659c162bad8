"""The variables of a profile: those of its [variables], and those that it uses as `{var.NAME}`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from conformance.core.errors import ProfileError
from conformance.profile.profile_file import read_profile
from conformance.profile.source import nearest

_USE: Final = re.compile(r"\{var\.([^{}]*)\}")


def variable_names(document: Mapping[str, Any]) -> frozenset[str]:
    """The names that `--var` may set for a profile, which may be invalid otherwise."""
    stated = document.get("variables", {})
    return frozenset(stated if isinstance(stated, Mapping) else ()) | frozenset(_uses(document))


def _uses(document: Mapping[str, Any]) -> Iterator[str]:
    """Without recursion: the document may be nested too deeply, which is found out later."""
    pending: list[Any] = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield from _USE.findall(value)
        elif isinstance(value, Mapping | list):
            pending += value.values() if isinstance(value, Mapping) else value


def require_known_variables(names: Iterable[str], known: Collection[str]) -> None:
    """Raises ProfileError where `--var` names what is not known: what it was to set would keep its other value."""
    if unknown := next((name for name in names if name not in known), None):
        hint = nearest(unknown, sorted(known)) or "the profile has no variables"
        raise ProfileError(f"the profile has no variable {unknown}", where="--var", hint=hint)


def variables_of_each(paths: Iterable[Path], variables: Mapping[str, str]) -> dict[Path, dict[str, str]]:
    """The variables of each profile among those of one call for all of them. Raises ProfileError.

    A profile that cannot be read keeps all: its own run says why it cannot.
    """
    names: dict[Path, frozenset[str]] = {}
    for path in paths:
        try:
            names[path] = variable_names(read_profile(path)[1])
        except ProfileError:
            names[path] = frozenset(variables)
    require_known_variables(variables, frozenset[str]().union(*names.values()))
    return {path: {n: value for n, value in variables.items() if n in known} for path, known in names.items()}
