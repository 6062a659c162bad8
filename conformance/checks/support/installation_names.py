"""What a target calls the installation of a key."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.case import Case
from conformance.core import json_pointer as pointer

INSTALLATION_MEMBERS: Final = (
    "installationId",
    "installation_id",
    "installation",
    "tenantId",
    "tenant_id",
    "tenant",
)
"""Names of parameters and members by which a request could choose an installation."""


async def name_of_installation(case: Case, credential: str) -> str:
    """What identity names the installation of a key; empty where that is not stated or not shown."""
    where = case.profile.tenancy.installation_in_identity
    if not where:
        return ""
    answer = await case.answer_to(credential, case.contract.operations["getApiKeyIdentity"])
    return str(pointer.get(answer.value, where)) if answer.ok and pointer.has(answer.value, where) else ""
