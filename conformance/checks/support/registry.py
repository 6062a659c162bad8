"""The `check` decorator, and the list of everything that it decorated."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import conformance.checks
from conformance.contract import Contract, Operation
from conformance.profile.model import Profile

Function = Callable[..., Awaitable[None]]
Cases = Mapping[str, Any] | Callable[[Profile, Operation], Mapping[str, Any]]
"""Case name -> the value that the check gets as its second argument; or how to make them for one operation."""


@dataclass(frozen=True)
class Check:
    """A registered check. `on` selects operations as requirements do; empty means the requirement's own."""

    name: str
    subject: str
    """The module's last name: `check_authentication`."""
    requirement: str
    function: Function
    on: str | tuple[str, ...] = ()
    cases: Cases | None = None
    exclusive: bool = False
    chain: bool = False

    @property
    def id(self) -> str:
        return f"{self.subject}::{self.name}"

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").split("\n")[0]

    def operations(self, contract: Contract) -> tuple[Operation, ...]:
        if self.on:
            return contract.select(self.on)
        return tuple(contract.operations[name] for name in contract.requirements[self.requirement].operations)


@dataclass(frozen=True)
class Instance:
    """One check on one operation in one case: one pytest item, one result."""

    check: Check
    operation: Operation
    case: str = ""
    value: Any = None

    @property
    def name(self) -> str:
        case = f"-{self.case}" if self.case else ""
        return f"{self.check.name}[{self.operation.id}{case}]"

    @property
    def id(self) -> str:
        return f"{self.check.subject}::{self.name}"


_registered: list[Check] = []


def check(
    requirement: str,
    *,
    on: str | tuple[str, ...] = (),
    cases: Cases | None = None,
    exclusive: bool = False,
    chain: bool = False,
) -> Callable[[Function], Function]:
    """Registers an async function as a check of a requirement.

    It is called with the Case and, where there are `cases`, the case's value. `exclusive` runs it last and alone.
    A `chain` is many calls one after the other: it begins first, since no other can make up for a late start.
    """

    def register(function: Function) -> Function:
        subject = function.__module__.rpartition(".")[2]
        _registered.append(Check(function.__name__, subject, requirement, function, on, cases, exclusive, chain))
        return function

    return register


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check of the suite, by file and then in the order written."""
    for module in sorted(pkgutil.iter_modules(conformance.checks.__path__), key=lambda m: m.name):
        if module.name.startswith("check_"):
            importlib.import_module(f"conformance.checks.{module.name}")
    return tuple(sorted(_registered, key=lambda c: c.subject))


@cache
def cause_of(requirement: str) -> str:
    """The cause that a result names where the exclusive check of a requirement shows why nothing can be said."""
    return next((f"check:{one.id}" for one in all_checks() if one.exclusive and one.requirement == requirement), "")


def instances(checks: Iterable[Check], profile: Profile, contract: Contract) -> list[Instance]:
    """What a run of these checks against that profile consists of."""
    found = []
    for one in checks:
        for operation in one.operations(contract):
            if one.cases is None:
                found.append(Instance(one, operation))
                continue
            cases = one.cases(profile, operation) if callable(one.cases) else one.cases
            found += [Instance(one, operation, name, value) for name, value in cases.items()]
    return found


@cache
def check_set_digest() -> str:
    """sha256 over the source of all checks and of what judges them: equal digests judge alike."""
    digest = hashlib.sha256()
    for package in ("conformance.checks", "conformance.judge"):
        modules = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
        for name in sorted(module.name for module in modules if not module.ispkg):
            digest.update(f"{name}\n{inspect.getsource(importlib.import_module(name))}\n".encode())
    return digest.hexdigest()
