"""What an answer must be in place of what an invariant found, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conformance.core.model import STATUSES, Finding

_BY_REQUIREMENT: Final[Mapping[str, str]] = {
    "STA-1": f"{', '.join(map(str, STATUSES[:-1]))} or {STATUSES[-1]}",
    "STA-2": "200",
    "ENV-1": "JSON as RFC 8259 defines it, with a Content-Type that names JSON",
    "ENV-2": "an object whose member data is an object",
    "ENV-3": "an object whose member data is an array; meta, where it is there, is an object",
    "ENV-4": "a body that matches {schema}",
    "ERR-1": "a JSON object with members, for every error",
    "ERR-2": "an answer that repeats no secret and reveals nothing internal",
    "RATE-2": "seconds or an HTTP date (RFC 9110 section 10.2.3), if there is a Retry-After",
    "ANS-1": "in every answer a value that no other answer had",
    "PUB-1": "an answer without 401",
    "ANS-2": "no member that {schema} does not name",
}
_ERROR_SCHEMA: Final = "PublicErrorResponse"


def expectation(finding: Finding, schema: str) -> str:
    """The text of one finding. `schema`: the interface's name of the schema of the operation's 200."""
    if finding.requirement == "ERR-1" and finding.code.startswith("schema:"):
        return f"an error that matches {_ERROR_SCHEMA}"
    if finding.requirement == "ENV-4" and finding.code == "format":
        return f"texts of the formats that {schema or 'its schema'} names"
    if finding.requirement == "ANS-2" and _ERROR_SCHEMA in finding.message:
        schema = _ERROR_SCHEMA
    return _BY_REQUIREMENT.get(finding.requirement, "").replace("{schema}", schema or "its schema")
