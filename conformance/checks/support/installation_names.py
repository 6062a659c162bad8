"""What a target calls the installation of a key."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
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
_HEADERS: Final = (
    "X-Installation-Id",
    "X-Installation",
    "X-Tenant-Id",
    "X-Tenant",
    "X-Merchant-Id",
    "X-Account-Id",
)


async def name_of_installation(case: Case, credential: str) -> str:
    """What identity names the installation of a key; empty where that is not stated or not shown."""
    where = case.profile.tenancy.installation_in_identity
    if not where:
        return ""
    answer = await case.answer_to(credential, case.contract.operations["getApiKeyIdentity"])
    return str(pointer.get(answer.value, where)) if answer.ok and pointer.has(answer.value, where) else ""


async def name_of_home(case: Case) -> str:
    """What identity names the installation of the usual keys; empty where that is not known."""
    keys = case.runtime.arranger.credentials(scope="")
    with suppress(Inconclusive):
        return await name_of_installation(case, keys[0].name) if keys else ""
    return ""


def with_installation_headers(request: Request, name: str) -> Request:
    """With headers by which a request could choose the installation; unchanged where no header can carry its name."""
    for header in _HEADERS if name and name.isascii() and name.isprintable() else ():
        request = request.with_header(header, name)
    return request
