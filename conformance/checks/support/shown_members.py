"""What answers show of the members of a webhook endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.checks.support.case import Case
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson


def value_at(answer: Answer, where: str) -> Any:
    """None where it is not there."""
    return pointer.get(answer.value, where) if pointer.has(answer.value, where) else None


def beside_kept(case: Case, name: str) -> str:
    """The place of a member in an answer: beside those that the profile states."""
    return case.profile.webhooks.kept[0].rpartition("/")[0] + pointer.join(name)


def is_shown(case: Case, answer: Answer, name: str) -> bool:
    """Whether an answer shows a member with the value that its request sent."""
    where, body = beside_kept(case, name), answer.request.body
    return (
        name in body and pointer.has(answer.value, where) and strictjson.is_equal(value_at(answer, where), body[name])
    )


class ShownMembers:
    """Members that PATCHes of an endpoint have set, if the answers showed the same values."""

    def __init__(self, case: Case, created: Answer) -> None:
        self._case, self._created = case, created
        self._values: dict[str, Any] = {}
        """By the member's name."""

    def forget(self, names: Iterable[str]) -> None:
        """What another PATCH names may have another value, even where that is refused."""
        for name in names:
            self._values.pop(name, None)

    def note(self, answer: Answer) -> None:
        body = answer.request.body
        self._values |= {name: body[name] for name in body if is_shown(self._case, answer, name)}

    def to_change(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The values that a PATCH with this body changes, by their places."""
        common_names = [name for name in body if name in self._values]
        return {
            beside_kept(self._case, name): self._values[name]
            for name in common_names
            if not strictjson.is_equal(body[name], self._values[name])
        }

    def values_but(self, names: Iterable[str]) -> dict[str, Any]:
        """The values of all members but these, by the members' names."""
        return {name: value for name, value in self._values.items() if name not in set(names)}

    def lost_names(self, answer: Answer) -> list[str]:
        """The names of members that an answer to a later PATCH, which does not name them, shows otherwise or not."""
        places = {name: beside_kept(self._case, name) for name in self._values}
        return [
            name
            for name, where in places.items()
            if not pointer.has(answer.value, where)
            or not strictjson.is_equal(value_at(answer, where), self._values[name])
        ]

    def judge(self, name: str, answer: Answer) -> None:
        """Violated for a member that the profile names; a warning for another one.

        That one may be about the update, such as a reason for it, or a secret that only the call that sets it shows.
        """
        case, where = self._case, beside_kept(self._case, name)
        webhooks = case.profile.webhooks
        message = f"{where} has lost the value that an earlier PATCH gave it, and the last one did not name it"
        expected = str(self._values[name])
        if where in webhooks.kept or name in (webhooks.patch or {}):
            observed = str(value_at(answer, where)) if pointer.has(answer.value, where) else "no such member"
            raise case.violation(message, self._created, answer, expected=expected, observed=observed)
        case.warn(message, self._created, answer, expected=expected)
