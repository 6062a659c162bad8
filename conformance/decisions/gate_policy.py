"""The policy file of a gate: TOML with the conditions for a release, and waivers as in a profile."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.contract import load_contract
from conformance.core.errors import UsageError
from conformance.core.model import Waiver
from conformance.profile.rules import waiver_problems
from conformance.profile.source import Problem, nearest, raise_first, read_toml
from conformance.profile.structure import policy_schema, structure_problems


def load_policy(path: Path) -> dict[str, Any]:
    """Reads `tier`, `allow_incomplete`, `strict_waivers` and `waivers` (as Waiver values).

    Raises ProfileError with file, line and key.
    """
    text, document = read_toml(path, "--policy takes the path of a TOML file")
    for table in document.get("waivers", ()):
        if isinstance(table, dict) and isinstance(table.get("until"), datetime.date):
            table["until"] = table["until"].isoformat()
    raise_first(structure_problems(document, policy_schema()), document, path, text)
    raise_first(_rules(document), document, path, text)
    return {**document, "waivers": tuple(Waiver(**table) for table in document.get("waivers", ()))}


def known_requirements(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each of which is a requirement's id. Raises UsageError on another one."""
    contract = load_contract()
    for name in names:
        if name not in contract.requirements:
            hint = nearest(name, contract.requirements) or "`conformance list` shows them"
            raise UsageError(f"there is no requirement {name!r}", where="--allow-incomplete", hint=hint)
    return tuple(names)


def _rules(document: Mapping[str, Any]) -> Iterator[Problem]:
    contract = load_contract()
    for index, name in enumerate(document.get("allow_incomplete", ())):
        if name not in contract.requirements:
            yield Problem(
                ("allow_incomplete", index), f"unknown requirement {name}", nearest(name, contract.requirements)
            )
    yield from waiver_problems(document, contract)
