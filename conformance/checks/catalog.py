"""Requirements and checks as lines of text, without a target."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from conformance.checks.support.registry import Check, all_checks
from conformance.contract import load_contract
from conformance.core.errors import UsageError
from conformance.core.model import Requirement
from conformance.judge.invariant_results import INVARIANTS
from conformance.profile.documentation import FactDocumentation, all_facts, fact_documentation

KILLS: Final = Path(__file__).with_name("kills.json")
"""The requirement that finds each seeded fault, as `conformance faults --record` last wrote it."""


def _checks_of(requirement: str) -> list[Check]:
    return [check for check in all_checks() if check.requirement == requirement]


def listing(words: Sequence[str], *, level: str | None, operation: str | None, checks: bool) -> Iterator[str]:
    """One line for each matching requirement. Raises UsageError where none matches, or the operation is unknown."""
    contract = load_contract()
    if operation is not None and operation not in contract.operations:
        raise UsageError(f"there is no operation {operation!r}", hint=_nearest(operation, contract.operations))
    found = [
        requirement
        for requirement in contract.requirements.values()
        if (level is None or requirement.level == level)
        and (operation is None or operation in requirement.operations)
        and all(word.lower() in f"{requirement.id} {requirement.statement}".lower() for word in words)
    ]
    if not found:
        raise UsageError("no requirement matches", hint="`conformance list` without words shows them all")
    kills_by_requirement = kills()
    for requirement in found:
        requirement_checks = _checks_of(requirement.id)
        method = (
            "invariant"
            if requirement.id in INVARIANTS
            else f"{len(requirement_checks)} check{'s' * (len(requirement_checks) != 1)}"
        )
        faults = kills_by_requirement.get(requirement.id, [])
        fault_count = f"{len(faults)} fault{'s' * (len(faults) != 1)}" if faults else ""
        level, section = requirement.level.value, requirement.section
        yield f"{requirement.id:8} {level:12} {method:10} {fault_count:10} {section:26.26} {requirement.statement}"
        if checks:
            yield from (f"{'':21} {check.id}" for check in requirement_checks)


def kills() -> dict[str, list[str]]:
    """By requirement: the ids of the seeded faults that it finds, as recorded by `conformance faults`."""
    record = json.loads(KILLS.read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for name, row in record["faults"].items():
        for requirement in row["by"]:
            found.setdefault(requirement, []).append(name)
    return found


def _titles() -> dict[str, str]:
    record = json.loads(KILLS.read_text(encoding="utf-8"))
    return {name: row["title"] for name, row in record["faults"].items()}


def explanation(name: str) -> Iterator[str]:
    """Explains a requirement by its id, a check by its name, or a fact as `profile.KEY`. Raises UsageError.

    `profile` alone explains every fact, a line each.
    """
    contract = load_contract()
    if name == "profile":
        yield from _all_facts()
        return
    if name.startswith("profile."):
        yield from _fact(fact_documentation(name.removeprefix("profile.")))
        return
    by_id = {identifier.lower(): requirement for identifier, requirement in contract.requirements.items()}
    if requirement := by_id.get(name.lower()):
        yield from _requirement(requirement)
        return
    plain = name.rpartition("::")[2].split("[")[0]
    found = [check for check in all_checks() if plain == check.name]
    if not found:
        candidates = [*contract.requirements, *(check.name for check in all_checks())]
        raise UsageError(f"there is no requirement or check {name!r}", hint=_nearest(name, candidates))
    for check in found:
        yield f"{check.id}"
        yield f"  {check.summary}"
        yield f"  on {', '.join(operation.id for operation in check.operations(contract))}"
        if check.deep_on:
            also = {*check.operations(contract, "deep")} - {*check.operations(contract)}
            yield f"  in deep depth on {', '.join(sorted(operation.id for operation in also))} too"
        if check.rests_on:
            yield f"  a failure has the cause of {check.rests_on}, where that failed too"
        yield ""
        yield from _requirement(contract.requirements[check.requirement])


def _all_facts() -> Iterator[str]:
    """Every fact of a profile: its key, type and description; NAME is a name of your choice or of the interface."""
    for fact in all_facts():
        if "." not in fact.key:
            yield f"\n{fact.key}  {fact.description}"
        else:
            yield f"  {fact.key}  {fact.description} [{fact.type}{', required' if fact.required else ''}]"


def _fact(fact: FactDocumentation) -> Iterator[str]:
    yield f"{fact.key}  {fact.description}"
    yield f"  type          {fact.type}"
    yield f"  default       {'none' if fact.default is None else json.dumps(fact.default)}"
    yield f"  required      {'yes' if fact.required else 'no'}"
    yield "  excluded      " + ('with none = "the reason" in its place' if fact.excludable else "it cannot be")
    yield f"  overridden    {fact.limit or 'by no option'}"
    yield f"  placeholders  {_placeholders(fact)}"
    if fact.facts:
        yield f"  facts         {', '.join(fact.facts)}"
    yield f"  requirements  {_requirements_of(fact.key)}"


def _placeholders(fact: FactDocumentation) -> str:
    if fact.placeholders:
        return "filled in during a run"
    return (
        "filled in during a run, in some of its facts" if fact.inner_placeholders else "{var.NAME} and {env.NAME} only"
    )


def _requirements_of(key: str) -> str:
    """Which requirements need a fact, or a fact of that table; where none does, which ones need a table around it."""
    requirements = load_contract().requirements.values()
    names = [item.id for item in requirements if any(f"{fact}.".startswith(f"{key}.") for fact in item.facts)]
    if names:
        return ", ".join(names)
    parts = key.split(".")
    for table in (".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)):
        if found := [item.id for item in requirements if table in item.facts]:
            return f"none needs it by itself; [{table}]: {', '.join(found)}"
    return "none needs it by itself"


def _requirement(requirement: Requirement) -> Iterator[str]:
    requirement_checks = _checks_of(requirement.id)
    yield f"{requirement.id}  {requirement.statement}"
    yield f"  section     {requirement.section}"
    yield f"  level       {requirement.level.value}"
    yield f"  checked     {requirement.how}"
    yield f"  facts       {', '.join(requirement.facts) or 'none: it applies to every target'}"
    yield f"  operations  {', '.join(requirement.operations) or 'none by itself'}"
    if requirement.id in INVARIANTS:
        yield "  checks      judged on every exchange of a run"
    for number, check in enumerate(requirement_checks):
        yield f"  {'checks' if not number else '':10}  {check.id}: {check.summary}"
    titles = _titles()
    for number, name in enumerate(kills().get(requirement.id, [])):
        yield f"  {'kills' if not number else '':10}  {name} {titles[name]}"
    if requirement.unchecked:
        yield f"  unchecked   {requirement.unchecked}"


def _nearest(name: str, candidates: object) -> str:
    close = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.75)  # type: ignore[call-overload]
    return f"did you mean {close[0]}?" if close else "`conformance list --checks` shows all"
