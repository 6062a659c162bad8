"""Which checks a profile makes applicable. Nothing is sent: each check runs until its first request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
from conformance.profile.model import Profile
from conformance.profile.resources import Fixture


class WouldSend(Exception):
    """Raised in place of sending."""


@dataclass(frozen=True)
class Applicability:
    """The instances of a selection, by whether they would run."""

    applicable: tuple[Instance, ...]
    unstated: Mapping[str, tuple[Instance, ...]]
    """Profile key -> the instances that stating it would enable."""
    inapplicable: tuple[Instance, ...]
    """The instances that no profile key would enable."""


_FIXTURE_NUMBERS = count(1)


class _AnyMembers(dict[str, Any]):
    """The members of a fixture from a provider: any name has a value, which differs from fixture to fixture."""

    def __init__(self) -> None:
        super().__init__()
        self._number = next(_FIXTURE_NUMBERS)

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return f"{name}-{self._number}"

    def __iter__(self) -> Iterator[str]:
        raise WouldSend

    keys = values = items = __iter__  # type: ignore[assignment] # only the provider knows the names


class _DryFixtures(Fixtures):
    async def get_fresh(self, fixture: Fixture, scope: Mapping[str, Any]) -> Members:  # noqa: ARG002
        return dict(fixture.values[0]) if fixture.values else _AnyMembers()

    async def get_shared(self, fixture: Fixture, scope: Mapping[str, Any]) -> Members:
        return await self.get_fresh(fixture, scope)

    async def http(self, *_: Any) -> Any:
        raise WouldSend


class _DrySender(Sender):
    async def send(self, *_: Any, **__: Any) -> Answer:
        raise WouldSend

    async def abandon(self, *_: Any, **__: Any) -> bool:
        raise WouldSend


class _DryControls(Controls):
    async def _send_control(self, operation: Operation) -> Answer:
        """Answers 200 without sending. Raises MissingFact where the control cannot be arranged."""
        request = await self._runtime.arranger.arrange(operation)
        return Answer("x0", request, "", (), b"", 200, body=b'{"data": {}}')


class _DryRuntime(Runtime):
    def __post_init__(self) -> None:
        self.controls = _DryControls(self)


def group_by_applicability(profile: Profile, contract: Contract, instances: Iterable[Instance]) -> Applicability:
    """Groups instances by whether they would send a request. Needs no secret, and sends nothing."""
    return asyncio.run(_group_instances(_dry_runtime(profile, contract), list(instances)))


def _dry_runtime(profile: Profile, contract: Contract) -> Runtime:
    keys = dict.fromkeys(profile.credentials, "key")
    secrets = Secrets()
    settings = Settings(profile, contract, keys, MemoryJournal(), secrets, "dry", 1)
    fixtures = _DryFixtures(profile)
    arranger = Arranger(profile, contract, keys, secrets, fixtures, "dry")
    limits = replace(profile.limits, rate=None)  # what is not sent need not wait
    flow = _DrySender(None, None, secrets, limits, concurrency=1)  # type: ignore[arg-type] # nothing is sent
    return _DryRuntime(settings, flow, arranger, fixtures, Validators(profile.schemas))


async def _group_instances(runtime: Runtime, instances: list[Instance]) -> Applicability:
    applicable: list[Instance] = []
    inapplicable: list[Instance] = []
    unstated: dict[str, list[Instance]] = {}
    reasons = await asyncio.gather(*(_missing_reason(instance, runtime) for instance in instances))  # some of them wait
    for instance, reason in zip(instances, reasons, strict=True):
        if reason is None:
            applicable.append(instance)
        elif isinstance(reason, MissingFact) and not _is_excluded(runtime, reason, instance):
            unstated.setdefault(reason.key, []).append(instance)
        else:
            inapplicable.append(instance)
    return Applicability(tuple(applicable), {key: tuple(group) for key, group in unstated.items()}, tuple(inapplicable))


def _is_excluded(runtime: Runtime, missing: MissingFact, instance: Instance) -> bool:
    profile, operation = runtime.settings.profile, instance.operation.id
    return exclusion_of(profile, missing.key, missing.credential, operation) is not None


async def _missing_reason(instance: Instance, runtime: Runtime) -> MissingFact | Inapplicable | None:
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
