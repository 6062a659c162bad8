"""The `check` decorator and the registry of checks."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import conformance.checks
import conformance.judge
from conformance.contract import Contract, Operation
from conformance.profile.model import Profile

Function = Callable[..., Awaitable[None]]
Cases = Mapping[str, Any] | Callable[[Profile, Operation], Mapping[str, Any]]
"""Case name -> second argument of the check; or a function that returns them for one operation."""


@dataclass(frozen=True)
class Check:
    """A registered check. `on` selects operations as requirements do; empty: those of the requirement."""

    name: str
    subject: str
    """The module's last name: `check_authentication`."""
    requirement: str
    function: Function
    on: str | tuple[str, ...] = ()
    deep_on: str | tuple[str, ...] = ()
    """The operations in a run of deep depth; empty: those of `on`."""
    cases: Cases | None = None
    exclusive: bool = False
    chain: bool = False
    rests_on: str = ""
    """The id of a check whose failure on the same operation explains a failure of this one."""
    shares: str = ""
    """The calls that it shares with other checks of the operation, `replays` or `duplicates`."""

    @cached_property
    def id(self) -> str:
        return f"{self.subject}::{self.name}"

    @property
    def judges_keys(self) -> bool:
        """Whether it asks about idempotency keys, so that there is nothing to ask where no call carries one."""
        return self.requirement.startswith("IDEM-") or bool(self.rests_on) or self.shares == "replays"

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").split("\n")[0]

    def operations(self, contract: Contract, depth: str = "standard") -> tuple[Operation, ...]:
        """The operations that it asks in a run of that depth."""
        selector = (depth == "deep" and self.deep_on) or self.on
        if selector:
            return contract.select(selector)
        return tuple(contract.operations[name] for name in contract.requirements[self.requirement].operations)


@dataclass(frozen=True)
class Instance:
    """One check on one operation in one case: one pytest item, one result."""

    check: Check
    operation: Operation
    case: str = ""
    value: Any = None

    @cached_property
    def name(self) -> str:
        case = f"-{self.case}" if self.case else ""
        return f"{self.check.name}[{self.operation.id}{case}]"

    @cached_property
    def id(self) -> str:
        return f"{self.check.subject}::{self.name}"


_registry: list[Check] = []


def check(
    requirement: str,
    *,
    on: str | tuple[str, ...] = (),
    deep_on: str | tuple[str, ...] = (),
    cases: Cases | None = None,
    exclusive: bool = False,
    chain: bool = False,
    rests_on: str = "",
    shares: str = "",
) -> Callable[[Function], Function]:
    """Registers an async function as a check of a requirement.

    It is called with the Case and, where there are `cases`, the case's value. `deep_on` selects more operations than
    `on`, for runs in deep depth: one implementation usually serves all of them. `exclusive` runs it last and alone.
    A `chain` is a long sequence of calls: it starts first. `rests_on` is the id of a check whose failure on the
    operation explains one of this check. `shares` names the calls that other checks of the operation judge as well.
    """

    def register(function: Function) -> Function:
        subject = function.__module__.rpartition(".")[2]
        _registry.append(
            Check(
                function.__name__,
                subject,
                requirement,
                function,
                on,
                deep_on,
                cases,
                exclusive,
                chain,
                rests_on,
                shares,
            )
        )
        return function

    return register


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check of the suite, by file and then in source order."""
    for module in sorted(pkgutil.iter_modules(conformance.checks.__path__), key=lambda m: m.name):
        if module.name.startswith("check_"):
            importlib.import_module(f"conformance.checks.{module.name}")
    return tuple(sorted(_registry, key=lambda c: c.subject))


@cache
def cause_of(requirement: str) -> str:
    """The cause of results that depend on the exclusive check of a requirement."""
    return next(
        (f"check:{entry.id}" for entry in all_checks() if entry.exclusive and entry.requirement == requirement), ""
    )


def instances(checks: Iterable[Check], profile: Profile, contract: Contract) -> list[Instance]:
    """The instances of these checks for a profile."""
    found = []
    for entry in checks:
        for operation in entry.operations(contract, profile.limits.depth):
            if entry.cases is None:
                found.append(Instance(entry, operation))
                continue
            cases = entry.cases(profile, operation) if callable(entry.cases) else entry.cases
            found += [Instance(entry, operation, name, value) for name, value in cases.items()]
    return found


@cache
def check_set_digest() -> str:
    """sha256 over the source of all checks and of the judge: equal digests judge alike."""
    digest = hashlib.sha256()
    for package in (conformance.checks, conformance.judge):
        folder = Path(package.__path__[0])
        for file in sorted(folder.rglob("*.py")):
            digest.update(f"{package.__name__}/{file.relative_to(folder).as_posix()}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
