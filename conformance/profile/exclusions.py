"""Exclusions: facts that a profile declares absent or not observable, with a reason, `none = "..."`.

A whole table (`[oauth] none = "..."`), one fact (`item_id = { none = "..." }`), a category of credential
(`[credentials.revoked] none = "..."`, beside its status, scopes or installation) and the conflicts of one operation
(`[[transitions]] operation = "..."` with `none`) can be excluded. An exclusion is removed from the document first, so
that the other readers find the fact absent. The schema says where one is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.profile.model import Credential, Profile
from conformance.profile.schema import facts_schema, member_schema
from conformance.profile.source import Key, Problem, format_key
from conformance.profile.structure import structure_problems

EXCLUSION_KEY = "none"
_EXCLUDED = object()


@dataclass
class Exclusions:
    """The exclusions of a document, and the problems of invalid ones."""

    reasons: dict[str, str] = field(default_factory=dict)
    """Dotted key -> the profile's reason."""
    credentials: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Name -> status, scopes and installation of a credential that does not exist."""
    problems: list[Problem] = field(default_factory=list)
    remaining: dict[Key, list[int]] = field(default_factory=dict)
    """The key of a list -> which of its items are not exclusions."""

    def in_source(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Problems of the document without its exclusions, with the keys of the document that has them."""
        for problem in problems:
            key: Key = ()
            for part in problem.key:
                items = self.remaining.get(key, [])
                is_shifted = isinstance(part, int) and part < len(items)
                key = (*key, items[part] if is_shifted else part)  # type: ignore[index]
            yield replace(problem, key=key)


def extract_exclusions(document: Mapping[str, Any]) -> tuple[dict[str, Any], Exclusions]:
    """The document without its exclusions, and the exclusions. Other problems are not looked for."""
    exclusions = Exclusions()
    members = _remaining_members(document.items(), (), facts_schema(), exclusions)
    return dict(members), exclusions


def _remove_exclusions(value: Any, key: Key, declared: Mapping[str, Any], exclusions: Exclusions) -> Any:
    """A part of the document without excluded parts; `_EXCLUDED` where it is excluded as a whole."""
    if schema := _exclusion_schema(value, declared):
        _record(value, key, schema, exclusions)
        return _EXCLUDED
    if isinstance(value, Mapping):
        rest = dict(_remaining_members(value.items(), key, declared, exclusions))
        return rest if rest or not value else _EXCLUDED  # a kind all of whose states are excluded is excluded
    if isinstance(value, list):
        remaining = dict(_remaining_members(enumerate(value), key, declared, exclusions))
        exclusions.remaining[key] = list(remaining)
        return list(remaining.values())
    return value


def _remaining_members(
    members: Iterable[tuple[Any, Any]], key: Key, declared: Mapping[str, Any], exclusions: Exclusions
) -> Iterator[tuple[Any, Any]]:
    for name, value in members:
        rest = _remove_exclusions(value, (*key, name), member_schema(declared, name), exclusions)
        if rest is not _EXCLUDED:
            yield name, rest


def _exclusion_schema(value: Any, declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a value that is an exclusion; empty where it is not, or where none is allowed.

    `none` may also be the name of a credential, a kind or a state.
    """
    if not isinstance(value, Mapping) or isinstance(value.get(EXCLUSION_KEY, {}), Mapping):
        return {}
    schema: Mapping[str, Any] = facts_schema()["$defs"].get(declared.get("x-excludable"), {})
    return schema if isinstance(value.get("operation", ""), str) and {*schema.get("required", ())} <= {*value} else {}


def _record(value: Mapping[str, Any], key: Key, schema: Mapping[str, Any], exclusions: Exclusions) -> None:
    if problems := list(_problems(value, key, schema)):
        exclusions.problems += problems
        return
    facts = {name: item for name, item in value.items() if name != EXCLUSION_KEY}
    if key[0] == "credentials":
        exclusions.credentials[str(key[1])] = facts
    exclusions.reasons[f"transitions.{facts['operation']}" if "operation" in facts else format_key(key)] = value[
        EXCLUSION_KEY
    ]


def _problems(value: Mapping[str, Any], key: Key, schema: Mapping[str, Any]) -> Iterator[Problem]:
    reason = value[EXCLUSION_KEY]
    if not isinstance(reason, str) or not reason.strip():
        yield Problem((*key, EXCLUSION_KEY), "must be a reason, in words", f'{EXCLUSION_KEY} = "why it is not there"')
    elif other_facts := [name for name in value if name not in schema["properties"]]:
        message = f"is stated beside {EXCLUSION_KEY}: an excluded fact has no other facts"
        yield Problem((*key, other_facts[0]), message, f"remove {EXCLUSION_KEY}, or everything else")
    else:
        yield from (replace(p, key=(*key, *p.key)) for p in structure_problems(value, dict(schema)))


def exclusion_keys(operation: str) -> tuple[str, ...]:
    """The dotted keys that exclude an operation as a whole; the table [oauth] is about the token exchange."""
    return (f"operations.{operation}", *(("oauth",) if operation == "exchangeOAuthToken" else ()))


def exclusion_of(
    profile: Profile, key: str, credential: Callable[[Credential], bool] | None = None, operation: str = ""
) -> tuple[str, str] | None:
    """The dotted key and the reason of the exclusion that covers a missing fact; None where there is none.

    `key` is the fact's dotted key, optionally with the required value (`rate_limit.provoke = true`); `credential`
    selects the suitable credentials. An excluded table covers all its facts, and an excluded operation all facts that
    are missing for `operation`, as [oauth] does for the token exchange.
    """
    parts = key.split(" ")[0].split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    if parts[0] == "schemas":
        names.insert(0, f"schemas.names.{parts[-1]}")
    for name in (*names, *exclusion_keys(operation)):
        if name in profile.exclusions:
            return name, profile.exclusions[name]
    for name, absent in profile.absent_credentials.items():
        if credential is not None and credential(absent):
            return f"credentials.{name}", profile.exclusions[f"credentials.{name}"]
    return None
