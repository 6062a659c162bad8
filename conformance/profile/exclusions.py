"""Exclusions: what a profile says is not there or cannot be seen, with a reason, `none = "..."`.

A whole table (`[oauth] none = "..."`), one fact (`item_id = { none = "..." }`), a credential of some sort
(`[credentials.revoked] none = "..."`, beside its status, scopes or installation) and the conflicts of one operation
(`[[transitions]] operation = "..."` with `none`) can be excluded. An exclusion is taken out of the document before
anything else reads it, so that every other reader finds the fact absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.profile.model import Credential, Profile
from conformance.profile.source import Key, Problem, dotted

WORD = "none"
NEVER = ("name", "base_url", "description", "variables", "tls", "limits", "authorization", "waivers")
"""Top-level keys without which there is no target, or which state nothing about it."""
_EXCLUDABLE = re.compile(
    r"""(?!fixtures|credentials)[^/]+               # a table
    |(?!fixtures|credentials)[^/]+/[^/]+            # one of its facts, or all that is said of one operation
    |operations/[^/]+/(bodies|path|unknown)         # `body` is any JSON value, and may itself have a member `none`
    |fixtures/[^/]+(/[^/]+)?                         # a kind, or one of its states
    |schemas/names/[^/]+""",
    re.VERBOSE,
)
_OF_CREDENTIALS = frozenset({WORD, "scopes", "installation", "status"})


@dataclass
class Taken:
    """What was taken out of a document."""

    exclusions: dict[str, str] = field(default_factory=dict)
    """Dotted key -> the profile's reason."""
    credentials: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of credentials that do not exist: what sort they would be."""
    problems: list[Problem] = field(default_factory=list)


def take_exclusions(document: Mapping[str, Any]) -> tuple[dict[str, Any], Taken]:
    """The document without its exclusions, and these. Anything that is none stays where it is, for others to judge."""
    taken = Taken()
    rest: dict[str, Any] = {}
    for name, value in document.items():
        if name in NEVER:
            rest[name] = value
        elif name == "credentials" and isinstance(value, Mapping):
            rest[name] = _credentials(value, taken)
        elif name == "transitions" and isinstance(value, list):
            rest[name] = _transitions(value, taken)
        elif (left := _without(value, (name,), taken)) is not None:
            rest[name] = left
    return rest, taken


def _without(value: Any, key: Key, taken: Taken) -> Any:
    """A part of the document without what it excludes; None where it is excluded itself."""
    if not isinstance(value, Mapping):
        return value
    if _says_none(value) and _EXCLUDABLE.fullmatch("/".join(str(part) for part in key)):
        if _is_reason(value, key, taken):
            taken.exclusions[dotted(key)] = value[WORD]
        return None
    if len(key) > 2:
        return value
    rest = {name: left for name, item in value.items() if (left := _without(item, (*key, name), taken)) is not None}
    return rest if rest or not value else None  # a kind all of whose states are excluded has none


def _says_none(table: Mapping[str, Any]) -> bool:
    """Whether a table excludes itself: `none` may also be the name of a credential, a kind or a state."""
    return WORD in table and not isinstance(table[WORD], Mapping)


def _is_reason(value: Mapping[str, Any], key: Key, taken: Taken, allowed: frozenset[str] = frozenset({WORD})) -> bool:
    reason = value[WORD]
    if not isinstance(reason, str) or not reason.strip():
        taken.problems.append(Problem((*key, WORD), "must be a reason, in words", f'{WORD} = "why it is not there"'))
    elif others := [name for name in value if name not in allowed]:
        what = f"stands beside {WORD}: what is not there has no other facts"
        taken.problems.append(Problem((*key, others[0]), what, f"remove {WORD}, or everything else"))
    return not taken.problems


def _credentials(table: Mapping[str, Any], taken: Taken) -> dict[str, Any]:
    rest = {}
    for name, value in table.items():
        key: Key = ("credentials", name)
        if not isinstance(value, Mapping) or not _says_none(value):
            rest[name] = value
        elif _is_reason(value, key, taken, _OF_CREDENTIALS):
            taken.exclusions[dotted(key)] = value[WORD]
            taken.credentials[name] = {fact: item for fact, item in value.items() if fact != WORD}
    return rest


def _transitions(entries: list[Any], taken: Taken) -> list[Any]:
    rest = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or WORD not in entry or not isinstance(entry.get("operation"), str):
            rest.append(entry)
        elif _is_reason(entry, ("transitions", index), taken, frozenset({WORD, "operation"})):
            taken.exclusions[f"transitions.{entry['operation']}"] = entry[WORD]
    return rest


def exclusion_of(
    profile: Profile, key: str, credential: Callable[[Credential], bool] | None = None
) -> tuple[str, str] | None:
    """The dotted key and the reason of the exclusion that covers a missing fact; None where there is none.

    `key` is the fact's dotted key, perhaps with what it would have to be (`rate_limit.provoke = true`); `credential`
    says which credentials would do. A table that is excluded covers all its facts.
    """
    parts = key.split(" ")[0].split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    if parts[0] == "schemas":
        names.insert(0, f"schemas.names.{parts[-1]}")
    for name in names:
        if name in profile.exclusions:
            return name, profile.exclusions[name]
    for name, absent in profile.absent_credentials.items():
        if credential is not None and credential(absent):
            return f"credentials.{name}", profile.exclusions[f"credentials.{name}"]
    return None
