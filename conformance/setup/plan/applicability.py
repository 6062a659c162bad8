"""Which checks a profile makes applicable. Nothing is sent: each check runs until its first request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from conformance.checks.support.case import Case
from conformance.checks.support.context import Controls, Runtime, Settings
from conformance.checks.support.registry import Instance
from conformance.checks.support.signals import Inapplicable
from conformance.client.fixtures import Fixtures, Members
from conformance.client.recorder import current_check
from conformance.client.redaction.secrets import Secrets
from conformance.client.request_builder import Arranger, MissingFact
from conformance.client.response import Answer
from conformance.client.sender import Sender
from conformance.contract import Contract, Operation
from conformance.journal.journal import MemoryJournal
from conformance.judge.validators import Validators
from conformance.profile.exclusions import exclusion_of
from conformance.profile.model import Fixture, Profile


class Unsent(Exception):
    """Raised in place of sending."""


@dataclass(frozen=True)
class Applicability:
    """The instances of a selection, by whether they would run."""

    would_run: tuple[Instance, ...]
    lacking: Mapping[str, tuple[Instance, ...]]
    """Profile key -> the instances that stating it would enable."""
    never: tuple[Instance, ...]
    """The instances that no profile key would enable."""


_NUMBERS = count(1)


class _AnyMembers(dict[str, Any]):
    """The members of a fixture from a provider: any name has a value, which differs from fixture to fixture."""

    def __init__(self) -> None:
        super().__init__()
        self._number = next(_NUMBERS)

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return f"{name}-{self._number}"

    def __iter__(self) -> Iterator[str]:
        raise Unsent

    keys = values = items = __iter__  # type: ignore[assignment] # only the provider knows the names


class _Fixtures(Fixtures):
    async def get_fresh(self, fixture: Fixture, scope: Mapping[str, Any]) -> Members:  # noqa: ARG002
        return dict(fixture.values[0]) if fixture.values else _AnyMembers()

    async def get_shared(self, fixture: Fixture, scope: Mapping[str, Any]) -> Members:
        return await self.get_fresh(fixture, scope)

    async def http(self, *_: Any) -> Any:
        raise Unsent


class _Flow(Sender):
    async def send(self, *_: Any, **__: Any) -> Answer:
        raise Unsent

    async def abandon(self, *_: Any, **__: Any) -> bool:
        raise Unsent


class _Controls(Controls):
    async def _send_control(self, operation: Operation) -> Answer:
        """Answers 200 without sending. Raises MissingFact where the control cannot be arranged."""
        request = await self._runtime.arranger.arrange(operation)
        return Answer("x0", request, "", (), b"", 200, body=b'{"data": {}}')


class _Runtime(Runtime):
    def __post_init__(self) -> None:
        self.controls = _Controls(self)


def applicability(profile: Profile, contract: Contract, instances: Iterable[Instance]) -> Applicability:
    """Groups instances by whether they would send a request. Needs no secret, and sends nothing."""
    return asyncio.run(_sorted(_runtime(profile, contract), list(instances)))


def _runtime(profile: Profile, contract: Contract) -> Runtime:
    keys = dict.fromkeys(profile.credentials, "key")
    secrets = Secrets()
    settings = Settings(profile, contract, keys, MemoryJournal(), secrets, "dry", 1)
    fixtures = _Fixtures(profile)
    arranger = Arranger(profile, contract, keys, secrets, fixtures, "dry")
    flow = _Flow(None, None, secrets, profile.limits, concurrency=1)  # type: ignore[arg-type] # nothing is sent
    return _Runtime(settings, flow, arranger, fixtures, Validators(profile.schemas))


async def _sorted(runtime: Runtime, instances: list[Instance]) -> Applicability:
    would_run: list[Instance] = []
    never: list[Instance] = []
    lacking: dict[str, list[Instance]] = {}
    found = await asyncio.gather(*(_missing(instance, runtime) for instance in instances))  # some of them wait
    for instance, missing in zip(instances, found, strict=True):
        if missing is None:
            would_run.append(instance)
        elif isinstance(missing, MissingFact) and not _excluded(runtime, missing):
            lacking.setdefault(missing.key, []).append(instance)
        else:
            never.append(instance)
    return Applicability(tuple(would_run), {key: tuple(some) for key, some in lacking.items()}, tuple(never))


def _excluded(runtime: Runtime, missing: MissingFact) -> bool:
    return exclusion_of(runtime.settings.profile, missing.key, missing.credential) is not None


async def _missing(instance: Instance, runtime: Runtime) -> MissingFact | Inapplicable | None:
    """Why a check would not run: a missing fact, or that it is inapplicable. None if it would send a request."""
    current_check.set(instance.id)
    arguments = () if instance.check.cases is None else (instance.value,)
    try:
        await instance.check.function(Case(runtime, instance.operation), *arguments)
    except (MissingFact, Inapplicable) as missing:
        return missing
    except Exception:  # noqa: BLE001 - it needs an answer, or the fixture of a provider
        return None
    return None
