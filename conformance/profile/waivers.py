"""Waivers, as a profile and the policy of a gate state them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from conformance.core.model import Waiver
from conformance.profile.facts import OptionalOperation, RequirementId, Text, fact
from conformance.profile.source import Problem


@dataclass(frozen=True, slots=True)
class StatedWaiver(Waiver):
    """A waiver as a file states it; the judge sets the other fields."""

    requirement: Annotated[RequirementId, fact("A requirement's id.")]
    reason: Annotated[Text, fact("Why it is accepted.")]
    owner: Annotated[Text, fact("Who answers for it.")]
    issue: Annotated[Text, fact("Where it is tracked.")]
    until: Annotated[str, fact("The last day it holds, YYYY-MM-DD.")]
    operation: Annotated[OptionalOperation, fact("An operationId; without it, all.")] = ""
    case: Annotated[str, fact("A case of the report; without it, all.")] = ""
    signature: Annotated[str, fact("From the report: excuses only that very failure.")] = ""


def waiver_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Last days that are not dates, and waivers that are stated twice, of a document that is valid by its schema."""
    tables = document.get("waivers", ())
    for index, table in enumerate(tables):
        if (first := tables.index(table)) < index:
            yield Problem(("waivers", index), f"is equal to waivers[{first}]", "remove one of them")
        if not _is_date(table["until"]):
            yield Problem(("waivers", index, "until"), f"{table['until']!r} is not a date", "YYYY-MM-DD")


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
