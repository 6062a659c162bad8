"""The value of one sign for one request, as it is now (`[effects]` of the profile)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.signals import Inconclusive, require_whole
from conformance.client.fixtures import Members, ResourceMissing
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.profile.behavior import Effect
from conformance.profile.render import ANSWER, placeholders, render

MISSING: Final = object()
_ABSENT_STATUSES: Final = (404, 409)
"""A read of an object that has no counter yet, or is in no state that has one."""


class Blind(Inconclusive):
    """The sign shows nothing for this request."""


def fixtures_of(request: Request) -> dict[str, Members]:
    """The fixtures of a request, by kind."""
    found: dict[str, dict[str, Any]] = {kind: dict(members) for kind, members in request.fixtures.preset.items()}
    for name, members in request.fixtures.members.items():
        found.setdefault(name.partition(".")[0], dict(members))
    for name, value in request.scope.items():
        kind, _, member = name.partition(".")
        if member and kind not in ("pkce", "dpop"):
            found.setdefault(kind, {})[member.rpartition(".")[2]] = value
    return dict(found)


class Unobservable(Blind):
    """The sign is right, and cannot show anything here: its read is refused in this state, or needs an answer."""


class SignReader:
    """Reads one sign for one request; its placeholders of an answer are filled from the 200s to that request."""

    def __init__(self, case: Case, request: Request, effect: Effect, key: str) -> None:
        self.key = key
        self.effect = effect
        self.scope = request.scope
        self._case = case
        self._request = request
        names = placeholders(effect.templates)
        self._answer_names = sorted(name for name in names if name.startswith(ANSWER))
        self._names = names - {*self._answer_names}
        self._answers: list[dict[str, Any]] = []
        """The values of the answer's placeholders, one entry for each distinct answer."""
        self._was_present = False
        if self._answer_names:
            case.runtime.signs.observe_answers(self)

    @property
    def awaits_answer(self) -> bool:
        """Whether no answer has come yet that the sign could be read by."""
        return bool(self._answer_names) and not self._answers

    def note_answer(self, answer: Answer) -> None:
        values = {name: _value_at(answer.value, name.removeprefix(ANSWER)) for name in self._answer_names}
        if values not in self._answers:
            self._answers.append(values)

    async def read(self) -> Any:
        """The value now; `absent` of the profile where there is none yet. Raises Blind, and as test APIs fail."""
        if self.awaits_answer:
            return self.effect.absent
        values = [await self._value(values) for values in self._answers or [{}]]
        if len(values) == 1:
            return values[0]
        if all(is_number(value) for value in (*values, self.effect.absent)):
            return self.effect.absent + sum(value - self.effect.absent for value in values)
        return values

    async def _value(self, answer_values: Mapping[str, Any]) -> Any:
        for name, value in answer_values.items():
            if value is MISSING or isinstance(value, (dict, list, bool)) or value is None:
                place = name.removeprefix(ANSWER)
                raise self._blind(f"cannot be read: the call's answer has no text or number at {place}")
        document = await self._document(answer_values)
        if document is not MISSING and pointer.has(document, self.effect.pointer):
            self._was_present = True
            return pointer.get(document, self.effect.pointer)
        if self.effect.absent is None:
            place = self.effect.pointer
            raise self._blind(f"shows nothing at {place}" if document is not MISSING else "shows nothing: 404")
        if self._was_present and self.effect.step is not None:
            raise self._blind("was there and is absent now: it is not a count of effects")
        return self.effect.absent

    def _blind(self, problem: str) -> Blind:
        return Blind(f"{self.key} {problem}", cause=self.key)

    async def _document(self, answer_values: Mapping[str, Any]) -> Any:
        """The whole answer that holds the sign; MISSING where there is none."""
        scope = await self._case.runtime.arranger.extend_scope(self._request, self._names, own_fixtures=True)
        scope |= answer_values
        if (call := self.effect.http) is None:
            return await self._operation_document(scope)
        try:
            return await self._case.runtime.fixtures.http(call, scope, self.key)
        except ResourceMissing:
            if self.effect.absent is None and not self._answer_names:
                raise
            return MISSING

    async def _operation_document(self, scope: Mapping[str, Any]) -> Any:
        operation = self._case.contract.operations[self.effect.operation]
        look = await self._case.arrange(operation, preset=fixtures_of(self._request), prove_control=False)
        path = {name: str(value) for name, value in render(dict(self.effect.path), scope).items()}
        answer = await self._case.send(look.with_path(**path), "effect observation")
        if answer.ok:
            require_whole(answer)
            return answer.value
        if answer.status in _ABSENT_STATUSES and self.effect.absent is not None:
            return MISSING
        if answer.is_refused and answer.status not in (401, 403):
            message = f"{self.key} cannot be read in this state: {operation.id} was answered {answer.summary}"
            raise Unobservable(message, answer, cause=self.key)
        raise control_failed(answer)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; `2.0` is one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or abs(value) < float("inf")


def _value_at(document: Any, place: str) -> Any:
    return pointer.get(document, place) if pointer.has(document, place) else MISSING
