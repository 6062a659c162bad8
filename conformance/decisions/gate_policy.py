"""The policy file of a gate: TOML with the conditions for a release, and waivers as in a profile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from conformance.contract import load_contract
from conformance.core.errors import UsageError
from conformance.core.model import Waiver
from conformance.profile.facts import Depth, RequirementId, Tier, fact
from conformance.profile.loader import as_json
from conformance.profile.rules import reference_problems
from conformance.profile.schema import document_schema
from conformance.profile.source import nearest, raise_first, read_toml
from conformance.profile.structure import structure_problems
from conformance.profile.waivers import waiver_problems


@dataclass(frozen=True, slots=True)
class Policy:
    """What the file may state."""

    tier: Annotated[Tier, fact("stable, candidate or all.")] = ""
    allow_incomplete: Annotated[tuple[RequirementId, ...], fact("Requirements that need not reach a verdict.")] = ()
    strict_waivers: Annotated[bool, fact("Whether a waiver that excuses nothing fails.")] = False
    depth: Annotated[Depth, fact("`quick`: a run in quick depth passes if nothing was found.")] = "standard"
    waivers: Annotated[tuple[Waiver, ...], fact("Accepted failures.")] = ()


def load_policy(path: Path) -> dict[str, Any]:
    """Reads `tier`, `allow_incomplete`, `strict_waivers` and `waivers` (as Waiver values).

    Raises ProfileError with file, line and key.
    """
    text, document = read_toml(path, "--policy takes the path of a TOML file")
    document = as_json(document, str(path))
    schema = document_schema(Policy)
    raise_first(structure_problems(document, schema), document, path, text)
    references = reference_problems(document, load_contract(), schema=schema)
    raise_first([*references, *waiver_problems(document)], document, path, text)
    return {**document, "waivers": tuple(Waiver(**table) for table in document.get("waivers", ()))}


def known_requirements(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each of which is a requirement's id. Raises UsageError on another one."""
    contract = load_contract()
    for name in names:
        if name not in contract.requirements:
            hint = nearest(name, contract.requirements) or "`conformance list` shows them"
            raise UsageError(f"there is no requirement {name!r}", where="--allow-incomplete", hint=hint)
    return tuple(names)
