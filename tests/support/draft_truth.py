"""Compares the facts of a draft with the true profile of its target: pure functions over two documents."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.client.pattern import sample

Document = Mapping[str, Any]
Key = tuple[str, ...]

TABLES = (
    "authorization",
    "credentials",
    "idempotency",
    "bodies",
    "answers",
    "errors",
    "identity",
    "search",
    "tenancy",
    "hosted",
    "webhooks",
    "oauth",
)
"""The tables that a probe can find; `transitions`, `effects` and others are stated by a person."""
_CHOICES = {("search", "query"), ("search", "category"), ("search", "merchant"), ("webhooks", "patch")}
"""Examples, of which several are as good."""
_SUBSETS = {("idempotency", "volatile"), ("errors", "volatile"), ("webhooks", "kept"), ("answers", "fresh_headers")}
"""Lists that are true as long as they hold nothing else than the true one."""
_CASELESS = {("answers", "fresh_headers")}
_DEFAULTS = {("idempotency", "written"): "{key}", ("idempotency", "volatile"): [], ("errors", "volatile"): []}
_CREDENTIAL_FACTS = {"scopes", "installation", "status"}
_SAMPLES = 30


@dataclass
class Comparison:
    """The facts of one draft, by dotted key."""

    true: list[str] = field(default_factory=list)
    false: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    """Key -> the drafted value and the true one."""
    undecided: dict[str, Any] = field(default_factory=dict)
    """Drafted facts of which the true profile says nothing."""
    missing: list[str] = field(default_factory=list)
    """True facts that the draft does not state."""

    @property
    def share(self) -> float:
        """The share of the true facts that the draft states."""
        total = len(self.true) + len(self.false) + len(self.missing)
        return len(self.true) / total if total else 1.0


def compare(text: str, truth: Document, stated: Document) -> Comparison:
    """Compares what the text of a draft states beside what a person stated with the true profile.

    What a draft marks with a TODO is an assumption, and no fact.
    """
    drafted, assumed = tomllib.loads(text), assumptions(text)
    found, known = facts_of(drafted, stated), facts_of(truth, stated)
    found = {key: value for key, value in found.items() if key not in assumed}
    names = [name for name in drafted.get("credentials", {}) if ("credentials", name, "installation") not in assumed]
    same_home = _homes(drafted, names) == _homes(truth, names)
    result = Comparison()
    for key, value in found.items():
        name = ".".join(key)
        if key[0] == "credentials" and key[2] == "installation":
            result.true.append(name) if same_home else result.false.update({name: (value, known.get(key))})
        elif key not in known:
            result.undecided[name] = value
        elif is_true(key, value, known[key]) or _is_bare_key(name, value, known):
            result.true.append(name)
        else:
            result.false[name] = value, known[key]
    result.missing = [".".join(key) for key in known if key not in found and not _is_exclusion(known[key])]
    return result


def assumptions(text: str) -> set[Key]:
    """The keys whose comment, behind the value or on the line above, begins with TODO."""
    found: set[Key] = set()
    table: Key = ()
    above = ""
    for line in text.splitlines():
        name = line.partition(" = ")[0]
        if line.startswith("["):
            table = tuple(line.strip("[]").split("."))
        elif " = " in line and not line.startswith("#") and ("  # TODO " in line or above.startswith("# TODO ")):
            found.add((*table, name))
        above = line
    return found


def facts_of(document: Document, stated: Document) -> dict[Key, Any]:
    """The facts in the tables of a probe by key, without choices, defaults and what a person stated."""
    facts = {
        key: value
        for key, value in _flatten(document)
        if key not in _CHOICES and not _has(stated, key) and _DEFAULTS.get(key) != value and value != "active"
    }
    return _in_normal_form(facts)


def _flatten(document: Document) -> Iterator[tuple[Key, Any]]:
    for table in TABLES:
        if _is_exclusion(document.get(table)):
            continue
        for name, value in document.get(table, {}).items():
            if table == "credentials":
                facts = dict(value) if value.get("status", "active") == "active" else {"status": value["status"]}
                facts |= {"scopes": sorted(facts["scopes"])} if "scopes" in facts else {}
                yield from (((table, name, fact), facts[fact]) for fact in _CREDENTIAL_FACTS & facts.keys())
            elif (table, name) == ("oauth", "status") and not _is_exclusion(value):
                yield from (((table, name, fact), status) for fact, status in value.items())
            else:
                yield (table, name), value


def _in_normal_form(facts: dict[Key, Any]) -> dict[Key, Any]:
    """One of several ways to say the same."""
    allowance = facts.pop(("oauth", "clock_allowance_s"), None)
    if allowance is not None:
        facts |= {("oauth", "clock_behind_s"): allowance, ("oauth", "clock_ahead_s"): allowance}
    if facts.get(("idempotency", "other_format")) == "accepted":  # with another format accepted, any is
        facts[("idempotency", "format")] = "any"
        del facts[("idempotency", "other_format")]
    for key in _CASELESS & facts.keys():
        facts[key] = [name.lower() for name in facts[key]] if isinstance(facts[key], list) else facts[key]
    sorts = facts.get(("search", "sorts"))
    if isinstance(sorts, Mapping) and not _is_exclusion(sorts):
        facts[("search", "sorts")] = {name: {"order": "ascending", **order} for name, order in sorts.items()}
    namespace = facts.get(("idempotency", "namespace"))
    if isinstance(namespace, list):  # a path has one operation, a credential one installation
        implied = {"path": "operation", "credential": "installation"}
        facts[("idempotency", "namespace")] = sorted({*namespace, *(implied.get(part, part) for part in namespace)})
    return facts


def is_true(key: Key, value: Any, truth: Any) -> bool:
    if _is_exclusion(truth) or _is_exclusion(value):  # the reason is free
        return _is_exclusion(truth) and _is_exclusion(value)
    if key == ("idempotency", "format"):
        return _is_narrower(value, truth)
    if isinstance(value, list) and isinstance(truth, list):
        return set(value) <= set(truth) if key in _SUBSETS else sorted(value) == sorted(truth)
    return bool(value == truth)


def _is_bare_key(name: str, value: Any, known: Mapping[Key, Any]) -> bool:
    """A target whose scheme is optional accepts the key alone as well."""
    return (name, value, known.get(("authorization", "scheme"))) == ("authorization.format", "{key}", "optional")


def _is_narrower(value: Any, truth: Any) -> bool:
    """Whether every key of a format has the true one."""
    if truth == "any" or value == truth:
        return True
    if not (isinstance(value, Mapping) and isinstance(truth, Mapping)):
        return False
    keys = [sample(value["pattern"], random.Random(number)) for number in range(_SAMPLES)]
    return all(re.fullmatch(truth["pattern"], key) for key in keys)


def _homes(document: Document, names: Collection[str]) -> Collection[frozenset[str]]:
    """Some active credentials, by installation: its name is free."""
    homes: dict[str, set[str]] = {}
    for name, facts in document.get("credentials", {}).items():
        if name in names and facts.get("installation") and facts.get("status", "active") == "active":
            homes.setdefault(facts.get("installation", ""), set()).add(name)
    return {frozenset(names) for names in homes.values()}


def _is_exclusion(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("none"), str)


def _has(document: Document, key: Key) -> bool:
    value: Any = document
    for name in key:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True
