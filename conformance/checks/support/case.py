"""What a check is given: one operation, and the few verbs that checks are written in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.checks.support.context import Runtime, control_failed, is_read
from conformance.checks.support.signals import Inapplicable, Inconclusive, Violated
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer, Counted
from conformance.contract import Contract, Operation
from conformance.core.model import Level
from conformance.profile.model import Credential, OperationFacts, Profile
from conformance.profile.render import placeholders


class Case:
    """One check on one operation. Every answer that it gets is kept in `answers`."""

    def __init__(self, runtime: Runtime, operation: Operation) -> None:
        self.runtime = runtime
        self.operation = operation
        self.answers: list[Counted] = []
        self.notes: list[str] = []
        self.warnings: list[Violated] = []

    @property
    def profile(self) -> Profile:
        return self.runtime.settings.profile

    @property
    def contract(self) -> Contract:
        return self.runtime.settings.contract

    @property
    def facts(self) -> OperationFacts:
        return self.runtime.arranger.facts(self.operation)

    @property
    def volatile(self) -> tuple[str, ...]:
        declared = self.profile.idempotency.volatile if self.profile.idempotency else ()
        return (*declared, *self.facts.volatile)

    @property
    def examples(self) -> int:
        """How many generated inputs a property is to be tried on."""
        return self.runtime.settings.examples

    # Facts

    def need(self, held: object, key: str, why: str) -> None:
        """Unstated, naming the profile key that would enable the check, unless the fact is there."""
        if not held:
            raise MissingFact(key, why)

    def need_credential(self, held: object, why: str, suits: Callable[[Credential], bool]) -> None:
        """Unstated unless there is a credential; `suits` says which ones the profile may exclude instead."""
        if not held:
            raise MissingFact("credentials", why, suits)

    def exists(self, there: object, why: str) -> None:
        """Inapplicable unless what the check is about exists, by the interface or by what the profile states."""
        if not there:
            raise Inapplicable(why)

    def further(self, there: object, why: str) -> None:
        """Inapplicable, as a further case, unless this target can have it; other checks carry the requirement."""
        if not there:
            raise Inapplicable(why, further=True)

    def need_plenty(self) -> None:
        """Inapplicable where the operation's fixtures are a list that is used up: generated inputs take too many."""
        templates = (dict(self.facts.path), self.facts.body)
        for name in frozenset().union(*(placeholders(part) for part in templates if part is not None)):
            kind, _, rest = name.partition(".")
            fixture = self.runtime.fixtures.find(kind, rest.rpartition(".")[0] or None)
            if fixture is not None and fixture.values and not fixture.reusable:
                self.further(False, f"fixtures.{fixture.name} is a list that is used up, which generated inputs exceed")

    @property
    def named_in_body(self) -> frozenset[str]:
        """The kinds of fixtures that the profile's body of the operation refers to."""
        names = placeholders(self.facts.body) if self.facts.body is not None else frozenset[str]()
        return frozenset(name.partition(".")[0] for name in names) & frozenset(self.profile.fixtures)

    # Arranging

    async def arrange(
        self,
        operation: Operation | None = None,
        *,
        use: Mapping[str, str] | None = None,
        given: Mapping[str, Members] | None = None,
        credential: str = "",
        body: Any = None,
        proven: bool = True,
    ) -> Request:
        """A request that ought to be answered 200; reads share their fixtures.

        Inconclusive where the operation's control was not proven in this run, unless `proven` is not asked for.
        """
        operation = operation or self.operation
        if proven:
            await self.runtime.controls.proven(operation)
        shared = is_read(operation) and not use and not given
        return await self.runtime.arranger.arrange(
            operation, use=use, given=given, shared=shared, credential=credential, body=body
        )

    def fixture_of(self, request: Request, kind: str) -> Members:
        """The members of a kind's fixture that a request was made with."""
        found: dict[str, Any] = {}
        for name, value in request.scope.items():
            head, _, rest = name.partition(".")
            if head == kind:
                found[rest.rpartition(".")[2]] = value
        return found

    def as_credential(self, request: Request, name: str) -> Request:
        return self.runtime.arranger.as_credential(request, name)

    def stranger(self) -> str:
        """The name of an active key of another installation, with the operation's scope. Unstated without one."""
        home, scope = self.runtime.arranger.home, self.operation.scope
        for credential in self.profile.credentials.values():
            if credential.active and credential.installation != home and (not scope or scope in credential.scopes):
                return credential.name
        raise MissingFact(
            "credentials",
            "an active key of a second installation is needed",
            lambda one: one.active and one.installation != home,
        )

    # Sending

    async def send(self, request: Request, purpose: str, *, take: Iterable[int] = ()) -> Answer:
        """One answer to judge. Inconclusive where the target only ever limits, or does not answer at all."""
        taken = frozenset(take)
        answer = await self.runtime.flow.send(request, purpose, take=taken)
        self.runtime.signs.wrote(answer)
        self.answers.append(answer.counted)
        if answer.status in taken:
            return answer
        if answer.status == 429:
            raise Inconclusive(self._impatient(answer), answer, cause="rate limit")
        if answer.gateway_trouble:
            raise Inconclusive(f"no answer of the target: {answer.summary}", answer, cause="no answer")
        return answer

    def _impatient(self, answer: Answer) -> str:
        """Why a 429 was not waited out."""
        patience, told = self.profile.limits.patience_s, answer.header("Retry-After") or ""
        asked_s = float(told.strip()[:9]) if told.strip().isdecimal() else 0.0
        if asked_s > patience:
            return f"rate limited: Retry-After asks for {asked_s:,.0f} s, and limits.patience_s is {patience:g}"
        return f"rate limited for {patience:g} s"

    async def control(self, request: Request, purpose: str = "control") -> Answer:
        """A request that must be answered 200 for anything to be said."""
        answer = await self.send(request, purpose)
        if not answer.ok:
            raise control_failed(answer)
        return answer

    async def stubborn(self, request: Request, purpose: str, control: Request | None = None) -> Answer:
        """As `send`, but trouble that comes back while the control goes well is tied to the input: it is returned.

        Without a `control`, one on new fixtures is made where it is needed.
        """
        for _ in range(2):
            answer = await self.runtime.flow.send(request, purpose)
            self.answers.append(answer.counted)
            if answer.status == 429 or not answer.gateway_trouble:
                break
            if not (await self.runtime.flow.send(control or await self.arrange(), "control")).ok:
                raise Inconclusive(f"no answer of the target: {answer.summary}", answer, cause="no answer")
        if answer.status == 429:
            raise Inconclusive("rate limited", answer, cause="rate limit")
        return answer

    # Judging

    def violated(
        self, message: str, *answers: Answer, expected: str = "", observed: str = "", level: Level | None = None
    ) -> Violated:
        """What to raise. Raises Inconclusive where calls under one key were further apart than keys are kept."""
        self._expect_in_time(answers)
        shown = observed or (answers[-1].summary if answers else "")
        return Violated(message, *answers, expected=expected, observed=shown, level=level)

    def _expect_in_time(self, answers: Iterable[Answer]) -> None:
        kept_s = self.profile.idempotency.retention_s if self.profile.idempotency else None
        if kept_s is None:
            return
        first: dict[tuple[str, str | None], float] = {}
        for answer in sorted(answers, key=lambda answer: answer.at):
            request = answer.request
            began = first.setdefault((request.operation.id, request.key), answer.at)
            after_s = answer.at + answer.duration_s - began
            if request.key is not None and after_s > kept_s:
                told = f"an idempotency key was used again {after_s:.1f} s later, and is kept for {kept_s:g} s"
                raise Inconclusive(told, answer, cause="idempotency.retention_s")

    def warn(self, message: str, *answers: Answer, expected: str = "") -> None:
        """Something worth a warning that does not end the check."""
        self.warnings.append(self.violated(message, *answers, expected=expected, level=Level.RECOMMENDED))

    def note(self, text: str) -> None:
        """An observation; judges nothing."""
        self.notes.append(text)

    async def negative(
        self,
        request: Request,
        defective: Request,
        allowed: Iterable[int],
        purpose: str,
        *,
        message: str = "",
        any_refusal: bool = False,
        control: Request | None = None,
        level: Level | None = None,
    ) -> Answer:
        """`defective`, one defect off `request`, is answered with one of `allowed`; then `request` still gets 200.

        `any_refusal` lets an undeclared 4xx pass here: that it is undeclared is STA-1's question.
        """
        # with a key of its own: a target may keep a refusal under its key, and answer it again
        reproof = (control or request).with_fresh_key()
        try:
            answer = await self.refusal(
                defective, allowed, purpose, message=message, any_refusal=any_refusal, control=reproof, level=level
            )
        except Violated as violated:
            if not violated.answers[-1].ok:
                await self.reproven(reproof, purpose, violated.answers[-1])
            raise
        await self.reproven(reproof, purpose, answer)
        return answer

    async def refusal(
        self,
        defective: Request,
        allowed: Iterable[int],
        purpose: str,
        *,
        message: str = "",
        any_refusal: bool = False,
        control: Request | None = None,
        level: Level | None = None,
    ) -> Answer:
        """The half of `negative` that sends the defect: violated unless it is answered with one of `allowed`."""
        allowed = tuple(allowed)
        expected = " or ".join(str(status) for status in allowed)
        answer = await self.stubborn(defective, purpose, control)
        tolerated = any_refusal and answer.refused and not answer.declared
        if answer.status in allowed or tolerated:
            return answer
        message = message or f"{self.operation.id} with {purpose} was not answered {expected}"
        raise self.violated(message, answer, expected=expected, level=level)

    async def reproven(self, control: Request, purpose: str = "the last defect", *answers: Answer) -> None:
        """Inconclusive unless a control, under a key of its own, is still answered 200."""
        again = await self.send(control.with_fresh_key(), "control again")
        if not again.ok:
            told = f" was answered {answers[-1].summary}" if answers else ""
            raise Inconclusive(
                f"after {purpose}{told}, its control was answered {again.summary}",
                *answers,
                again,
                cause=f"control:{self.operation.id}",
            )
