"""The profile of a random target: each omitted fact is either excluded or left unstated.

A profile may state any number of facts, from the three required ones to all: no check may fail a conforming target
for a fact that is not stated.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.core.errors import ProfileError
from conformance.core.model import Outcome, Run, Verdict
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import document_profile
from conformance.reference.random_targets.choices import ALL_FACTS, RandomTarget

Document = dict[str, Any]
Path = tuple[str, ...]
_REASON = {"none": "its owner gives no access to it"}
_BASE = ("name", "base_url", "description", "variables", "limits", "authorization")
_DEEP = ("fixtures", "operations", "search", "effects", "rate_limit", "credentials")
"""Tables that a profile may state in part. Any other is stated whole: half of it may mean something else."""


_FACTS = ("idempotency", "identity", "search", "webhooks", "hosted", "rate_limit", "oauth")
"""Tables whose facts can be excluded one by one."""


def with_exclusions(target: RandomTarget, document: Document, reference: Mapping[str, Any]) -> Document:
    """The document with an exclusion for each fact of the reference's profile that the target omits."""
    made = {name: dict(value) if isinstance(value, Mapping) else value for name, value in document.items()}
    for fact in target.omitted_facts:
        _exclude(made, fact, reference)
    if target.limiter == "never":
        made["rate_limit"] = dict(_REASON)
    for name in set(reference["operations"]) & set(reference["effects"]) - set(made.get("effects", {})):
        if "none" not in made.setdefault("effects", {}):
            made["effects"][name] = dict(_REASON)
    made["schemas"] = {**made["schemas"], "names": {name: dict(_REASON) for name in _omitted_schemas(target)}}
    return made


def _omitted_schemas(target: RandomTarget) -> Iterator[str]:
    from conformance.contract import load_contract

    groups = {"every request": "Request", "every response": "Response"}
    for name in load_contract().schema_names:
        if any(name == left_out or name.endswith(groups.get(left_out, "\0")) for left_out in target.omitted_schemas):
            yield name


def _exclude(made: Document, fact: str, reference: Mapping[str, Any]) -> None:
    table, _, key = fact.partition(".")
    if fact == "bodies":
        made["operations"] = {
            name: {**facts, "bodies": dict(_REASON)} if "body" in facts else facts
            for name, facts in made["operations"].items()
        }
    elif fact == "fixtures.foreign":
        foreign = {kind for kind, states in reference["fixtures"].items() if "foreign" in states}
        for kind in foreign & set(made["fixtures"]):
            made["fixtures"][kind] = {**made["fixtures"][kind], "foreign": dict(_REASON)}
    elif table == "credentials":
        own = reference["credentials"][key]
        sort = {name: value for name, value in own.items() if name != "secret"}
        made["credentials"][key] = {**sort, **_REASON}
    elif fact in ("transitions", "effects", "rate_limit"):
        made[table] = dict(_REASON)
    elif key and table in _FACTS and "none" not in made.setdefault(table, {}):
        made[table][key] = dict(_REASON)
        if fact == "rate_limit.limit":
            made[table]["window_s"] = dict(_REASON)


def reduced(document: Document, facts: int, options: RunOptions) -> Document:
    """The document with at most `facts` of its facts, chosen by that number as the seed, that form a valid profile."""
    every = [path for name, value in document.items() if name not in _BASE for path in _paths((name,), value)]
    chosen = set(random.Random(facts).sample(every, min(facts, len(every))))
    kept: list[Path] = []
    for path in every:  # in the document's order: a fact comes after those that it refers to
        if path in chosen and _loads(_only(document, [*kept, path]), options):
            kept.append(path)
    return _only(document, kept)


def _paths(path: Path, value: Any) -> Iterator[Path]:
    deep = 1 + (path[0] in _DEEP) + (path[0] == "fixtures")
    if not isinstance(value, Mapping) or len(path) >= deep:
        yield path
        return
    for name, item in value.items():
        yield from _paths((*path, name), item)


def _only(document: Document, paths: list[Path]) -> Document:
    made: Document = {name: document[name] for name in _BASE if name in document}
    for path in paths:
        source: Any = document
        place = made
        for name in path[:-1]:
            source, place = source[name], place.setdefault(name, {})
        place[path[-1]] = source[path[-1]]
    return made


def _loads(document: Document, options: RunOptions) -> bool:
    try:
        document_profile(options, document)
    except ProfileError:
        return False
    return True


def is_sound(target: RandomTarget, run: Run) -> bool:
    """Whether a run judged a conforming target correctly.

    With every fact stated or excluded it must be conformant. Otherwise nothing may fail, and the verdict may be
    incomplete because of unstated facts only; if few facts are stated, also because of inconclusive results.
    """
    if run.verdict is Verdict.CONFORMANT:
        return True
    if target.silence == "excluded" and target.facts == ALL_FACTS:
        return False
    missing = (Outcome.UNSTATED,) if target.facts == ALL_FACTS else (Outcome.UNSTATED, Outcome.INCONCLUSIVE)
    return run.verdict is Verdict.INCOMPLETE and all(gap.outcome in missing for gap in run.scope.open)
