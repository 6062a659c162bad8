"""The profile of a random target: each omitted fact is either excluded or left unstated.

A profile may state any number of facts, from the three required ones to all: no check may fail a conforming target
for a fact that is not stated.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.core.errors import ProfileError
from conformance.core.model import Run
from conformance.core.outcomes import Outcome, Verdict
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import document_profile
from conformance.reference.random_targets.choices import RandomTarget
from conformance.reference.random_targets.legitimate_values import ALL_FACTS

Document = dict[str, Any]
FactPath = tuple[str, ...]
_EXCLUSION = {"none": "its owner gives no access to it"}
_BASE_TABLES = ("name", "base_url", "description", "variables", "limits", "authorization")
_PARTIAL_TABLES = ("fixtures", "operations", "search", "effects", "rate_limit", "credentials")
"""Tables that a profile may state in part. Any other is stated whole: half of it may mean something else."""
_OPTIONAL_MEMBERS = {"credentials": ("installation",), "operations": ("body", "path")}
"""What each entry of a table may leave out."""


_SWITCH = ("rate_limit", "prepare")
_SWITCHED = {("rate_limit", "limit"), ("rate_limit", "window_s")}
"""Facts that are true only where the profile says how the limit is set: without it no burst meets that limit."""

_FACT_TABLES = (
    "answers",
    "authorization",
    "bodies",
    "idempotency",
    "identity",
    "search",
    "webhooks",
    "hosted",
    "tenancy",
    "rate_limit",
    "oauth",
)
"""Tables whose facts can be excluded one by one."""


def with_exclusions(target: RandomTarget, document: Document, reference: Mapping[str, Any]) -> Document:
    """The document with an exclusion for each fact of the reference's profile that the target omits."""
    patched = {name: dict(value) if isinstance(value, Mapping) else value for name, value in document.items()}
    for fact in target.omitted_facts:
        _exclude(patched, fact, reference)
    if target.limiter == "never":
        patched["rate_limit"] = dict(_EXCLUSION)
    for name in set(reference["operations"]) & set(reference["effects"]) - set(patched.get("effects", {})):
        if "none" not in patched.setdefault("effects", {}):
            patched["effects"][name] = dict(_EXCLUSION)
    patched["schemas"] = {**patched["schemas"], "names": {name: dict(_EXCLUSION) for name in _omitted_schemas(target)}}
    return patched


def _omitted_schemas(target: RandomTarget) -> Iterator[str]:
    from conformance.contract import load_contract

    groups = {"every request": "Request", "every response": "Response"}
    for name in load_contract().schema_names:
        if any(name == omitted or name.endswith(groups.get(omitted, "\0")) for omitted in target.omitted_schemas):
            yield name


def _exclude(document: Document, fact: str, reference: Mapping[str, Any]) -> None:
    table, _, key = fact.partition(".")
    if fact == "bodies":
        document["operations"] = {
            name: {**facts, "bodies": dict(_EXCLUSION)} if "body" in facts else facts
            for name, facts in document["operations"].items()
        }
    elif fact == "fixtures.foreign":
        foreign = {kind for kind, states in reference["fixtures"].items() if "foreign" in states}
        for kind in foreign & set(document["fixtures"]):
            states = {state: table for state, table in document["fixtures"][kind].items() if not table.get("foreign")}
            document["fixtures"][kind] = {**states, "foreign": dict(_EXCLUSION)}
    elif table == "credentials":
        credential = reference["credentials"][key]
        members = {name: value for name, value in credential.items() if name != "secret"}
        document["credentials"][key] = {**members, **_EXCLUSION}
    elif fact in ("transitions", "effects", "rate_limit"):
        document[table] = dict(_EXCLUSION)
    elif key and table in _FACT_TABLES and "none" not in document.setdefault(table, {}):
        document[table][key] = dict(_EXCLUSION)
        if fact == "rate_limit.limit":
            document[table]["window_s"] = dict(_EXCLUSION)
        if fact == "rate_limit.run_limit":
            document[table].pop("run_window_s", None)


def reduce_facts(document: Document, facts: int, options: RunOptions) -> Document:
    """The document with at most `facts` of its facts, chosen by that number as the seed, that form a valid profile."""
    paths = [path for name, value in document.items() if name not in _BASE_TABLES for path in _paths((name,), value)]
    sample = set(random.Random(facts).sample(paths, min(facts, len(paths))))
    if _SWITCH in paths and _SWITCH not in sample:
        sample -= _SWITCHED
    kept_paths: list[FactPath] = []
    for path in paths:  # in the document's order: a fact comes after those that it refers to
        if path in sample and _is_valid(_select_paths(document, [*kept_paths, path]), options):
            kept_paths.append(path)
    return _select_paths(document, [path for path in kept_paths if path not in _false_names(document, kept_paths)])


def _false_names(document: Document, paths: list[FactPath]) -> set[FactPath]:
    """The names of the home installation where that of the first key is left out: they would name another one."""
    credentials = document.get("credentials", {})
    keys = [path[1] for path in paths if path[0] == "credentials" and len(path) == 2]
    active = [name for name in keys if credentials[name].get("status", "active") == "active"]
    if not active or ("credentials", active[0], "installation") in paths:
        return set()
    home = credentials[active[0]].get("installation")
    return {("credentials", name, "installation") for name in keys if credentials[name].get("installation") == home}


def _paths(path: FactPath, value: Any) -> Iterator[FactPath]:
    depth = 1 + (path[0] in _PARTIAL_TABLES) + (path[0] == "fixtures")
    if not isinstance(value, Mapping) or len(path) >= depth:
        yield path
        return
    for name, item in value.items():
        yield from _paths((*path, name), item)
        yield from ((*path, name, member) for member in _optional_members(path, item))


def _optional_members(path: FactPath, entry: Any) -> list[str]:
    if len(path) != 1 or not isinstance(entry, Mapping):
        return []
    return [member for member in _OPTIONAL_MEMBERS.get(path[0], ()) if member in entry]


def _select_paths(document: Document, paths: list[FactPath]) -> Document:
    selected: Document = {name: document[name] for name in _BASE_TABLES if name in document}
    for path in paths:
        source: Any = document
        table = selected
        for name in path[:-1]:
            source, table = source[name], table.setdefault(name, {})
        value = source[path[-1]]
        omitted = _optional_members(path[:-1], value)
        table[path[-1]] = {name: item for name, item in value.items() if name not in omitted} if omitted else value
    return selected


def _is_valid(document: Document, options: RunOptions) -> bool:
    try:
        document_profile(options, document)
    except ProfileError:
        return False
    return True


def is_sound(target: RandomTarget, run: Run) -> bool:
    """Whether a run judged a conforming target correctly.

    With every fact stated or excluded it must be conformant. Otherwise nothing may fail, and the verdict may be
    incomplete because of unstated facts only; if few facts are stated, also because of inconclusive results, and of
    operations that were not called, since what they need cannot be made without the facts of another one.
    """
    if run.verdict is Verdict.CONFORMANT:
        return True
    if target.silence == "excluded" and target.facts == ALL_FACTS:
        return False
    few_facts = (Outcome.UNSTATED, Outcome.INCONCLUSIVE, Outcome.UNTESTED)
    missing = (Outcome.UNSTATED,) if target.facts == ALL_FACTS else few_facts
    return run.verdict is Verdict.INCOMPLETE and all(gap.outcome in missing for gap in run.scope.open)
