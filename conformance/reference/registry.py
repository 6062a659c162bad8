"""All variants and faults by id, and the policy of a target name. The ids are those of the catalogue."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from conformance.core.errors import UsageError
from conformance.reference.base import BASE
from conformance.reference.policy import Policy

Change = Callable[[Policy], Policy]


@dataclass(frozen=True, slots=True)
class Fault:
    """One seeded defect; `requirement` must find it, on `operations` (empty: wherever it is visible)."""

    id: str
    title: str
    requirement: str
    operations: tuple[str, ...]
    apply: Change
    source: str = ""
    """The source of the idea; empty for faults of the catalogue."""
    seeded_in: str = ""
    """The variant that the fault is a defect of, by id: the target states that variant's profile. Empty: the base."""

    @property
    def profile(self) -> Mapping[str, Any]:
        """What is merged deeply into the parsed profile of the reference."""
        return variants()[self.seeded_in].profile if self.seeded_in else {}


@dataclass(frozen=True, slots=True)
class Variant:
    """One legitimate reading; `profile` is merged deeply into the parsed profile of the reference."""

    id: str
    title: str
    requirement: str
    apply: Change
    profile: Mapping[str, Any] = field(default_factory=dict)


_FAULTS: dict[str, Fault] = {}
_VARIANTS: dict[str, Variant] = {}


def fault(
    name: str,
    *,
    requirement: str,
    title: str,
    operations: tuple[str, ...] = (),
    source: str = "",
    seeded_in: str = "",
) -> Callable[[Change], Change]:
    """Registers a function Policy -> Policy as a fault."""

    def register(change: Change) -> Change:
        assert name not in _FAULTS, name
        _FAULTS[name] = Fault(name, title, requirement, operations, change, source, seeded_in)
        return change

    return register


def variant(
    name: str, *, requirement: str, title: str, profile: Mapping[str, Any] | None = None
) -> Callable[[Change], Change]:
    """Registers a function Policy -> Policy as a variant."""

    def register(change: Change) -> Change:
        assert name not in _VARIANTS, name
        _VARIANTS[name] = Variant(name, title, requirement, change, profile or {})
        return change

    return register


@lru_cache(maxsize=1)
def _load() -> None:
    for package in ("faults", "variants"):
        found = importlib.import_module(f"conformance.reference.{package}")
        for module in pkgutil.iter_modules(found.__path__):
            importlib.import_module(f"{found.__name__}.{module.name}")


def faults() -> dict[str, Fault]:
    _load()
    return dict(sorted(_FAULTS.items()))


def variants() -> dict[str, Variant]:
    _load()
    return dict(sorted(_VARIANTS.items()))


def listing(words: Sequence[str]) -> list[str]:
    """One line for each fault and variant that contains all words. Raises UsageError where there is none."""
    entries: dict[str, Fault | Variant] = {**faults(), **variants()}
    lines = [f"{name:5} {entry.requirement:8} {entry.title}" for name, entry in entries.items()]
    found = [line for line in lines if all(word.lower() in line.lower() for word in words)]
    if not found:
        raise UsageError("no fault or variant matches", hint="`conformance list --faults` shows all")
    return found


def unknown(name: str) -> UsageError:
    """The error for an unknown id. Ids have gaps, so it names no range."""
    close = difflib.get_close_matches(name, [*faults(), *variants()], n=1, cutoff=0.5)
    near = f"did you mean {close[0]}? " if close else ""
    return UsageError(f"there is no fault or variant {name!r}", hint=f"{near}`conformance list --faults` shows all")


def resolve(name: str) -> Policy:
    """The policy of `reference`, of one id, or of several joined by `+`. Raises UsageError on an unknown one."""
    policy = BASE
    for part in name.split("+"):
        if part == "reference":
            continue
        entry: Fault | Variant | None = faults().get(part) or variants().get(part)
        if entry is None:
            raise unknown(part)
        if isinstance(entry, Fault) and entry.seeded_in:
            policy = variants()[entry.seeded_in].apply(policy)
        policy = entry.apply(policy)
    return policy
