"""What a target calls the installation of a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.checks.support.case import Case
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


_HEADERS: Final = ("X-Installation-Id", "X-Installation", "X-Tenant-Id", "X-Tenant")


def with_choices(request: Request, name: str) -> Iterator[Request]:
    """The request with headers and parameters that name an installation, and with the headers alone.

    Nothing where the name is empty.
    """
    if not name:
        return
    for header in _HEADERS if name.isprintable() else ():
        request = request.with_header(header, name)
    yield request.with_query(**dict.fromkeys(INSTALLATION_MEMBERS, name))
    yield request


async def name_of_installation(case: Case, credential: str) -> str:
    """What identity names the installation of a key; empty where that is not stated or not shown."""
    where = case.profile.tenancy.installation_in_identity
    if not where:
        return ""
    answer = await case.answer_to(credential, case.contract.operations["getApiKeyIdentity"])
    return str(pointer.get(answer.value, where)) if answer.ok and pointer.has(answer.value, where) else ""
