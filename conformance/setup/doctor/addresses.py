"""The fact about the base URL: whether the target serves the interface under it."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.context import Runtime
from conformance.client.request_builder import MissingFact
from conformance.core.errors import FixtureError
from conformance.core.messages import PREFIX_ADVICE
from conformance.profile.exclusions import exclusion_keys
from conformance.setup.doctor.facts import Fact, wrong

_WITHOUT_PARAMETERS: Final = ("getPublicRuntimeConfig", "getApiKeyIdentity", "getInstallationCredentialReadiness")
"""Operations without path, query and body, so that a 404 to all of them can only be the base URL's."""
_LEAST_TRIED: Final = 2
"""One operation alone may not be implemented yet."""


async def address_facts(runtime: Runtime) -> list[Fact]:
    """A wrong fact where each of a few operations is answered 404; otherwise none."""
    profile, statuses = runtime.settings.profile, []
    for name in _WITHOUT_PARAMETERS:
        if any(key in profile.exclusions for key in exclusion_keys(name)):
            continue
        try:
            request = await runtime.arranger.arrange(runtime.settings.contract.operations[name])
        except (MissingFact, FixtureError):
            continue
        statuses.append((await runtime.sender.send(request, "address")).status)
        if statuses[-1] != 404:
            return []
    if len(statuses) < _LEAST_TRIED:
        return []
    return [wrong("base_url", f"each operation that was tried at {profile.base_url} is answered 404", PREFIX_ADVICE)]
