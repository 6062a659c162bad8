"""The context of a check: one operation, and the methods that checks are written with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from conformance.checks.support.certainty import Doubts, note_doubts
from conformance.checks.support.context import Runtime, control_failed
from conformance.checks.support.control_reads import control_again, idle_watch
from conformance.checks.support.signals import Inapplicable, Inconclusive, Violation, are_other_statuses, require_whole
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer, AnswerRef
from conformance.contract import Contract, Operation
from conformance.core.outcomes import Level
from conformance.judge.public_calls import demands_credential
from conformance.profile.installations import installation_fact
from conformance.profile.model import Credential, Profile
from conformance.profile.render import placeholders
from conformance.profile.resources import Fixture, OperationFacts

Refuse = Callable[[Request], Awaitable[Answer]]
_MAX_KEY_AGE_S: Final = 5.0
"""Where no retention is stated."""


class Case:
    """One check on one operation. `answers` keeps every answer."""

    def __init__(self, runtime: Runtime, operation: Operation, *, is_repeated: bool = False) -> None:
        """`is_repeated`: an earlier attempt left doubt."""
        self.is_repeated = is_repeated
        self.runtime = runtime
        self.operation = operation
        self.answers: list[AnswerRef] = []
        self.notes: list[str] = []
        self.warnings: list[Violation] = []
        self.doubts = Doubts()

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
        declared = self.profile.idempotency.volatile if self.profile.idempotency else None
        return (*(declared or ()), *self.facts.volatile)

    @property
    def examples(self) -> int:
        """The number of generated inputs for each property."""
        return self.runtime.settings.examples

    # Facts

    def need(self, value: object, key: str, reason: str) -> None:
        """Unstated with the profile key that would enable the check, unless the fact is present."""
        if not value:
            raise MissingFact(key, reason)

    def need_credential(self, candidates: object, reason: str, suits: Callable[[Credential], bool]) -> None:
        """Unstated unless there is a credential; `suits` tells which ones the profile may exclude instead."""
        if not candidates:
            raise MissingFact(installation_fact(self.profile, suits) or "credentials", reason, suits)

    def require_applicable(self, condition: object, reason: str) -> None:
        """Inapplicable unless the condition of the check holds, by the interface or by the profile."""
        if not condition:
            raise Inapplicable(reason)

    def require_case(self, condition: object, reason: str) -> None:
        """Inapplicable as a further case unless this target has it; other checks carry the requirement."""
        if not condition:
            raise Inapplicable(reason, further=True)

    def need_unlimited_fixtures(self) -> None:
        """Inapplicable where the operation's fixtures are a finite list: generated inputs need too many."""
        for name in self.finite_fixtures:
            self.require_case(False, f"fixtures.{name} is a finite list, which generated inputs exceed")

    @property
    def finite_fixtures(self) -> list[str]:
        return [fixture.name for fixture in self.named_fixtures if fixture.values and not fixture.reusable]

    @property
    def named_fixtures(self) -> list[Fixture]:
        """The fixtures that the operation's path and body refer to."""
        templates = (dict(self.facts.path), self.facts.body)
        names = frozenset().union(*(placeholders(part) for part in templates if part is not None))
        places = [(kind, suffix.rpartition(".")[0] or None) for kind, _, suffix in (n.partition(".") for n in names)]
        found = [self.runtime.fixtures.find(kind, state) for kind, state in places]
        return [fixture for fixture in found if fixture is not None]

    @property
    def has_generated_body(self) -> bool:
        """Whether the profile states no body of the operation: its schema says what is valid, not what exists."""
        return self.operation.has_body and self.facts.body is None

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
        preset: Mapping[str, Members] | None = None,
        credential: str = "",
        body: Any = None,
        prove_control: bool = True,
    ) -> Request:
        """A request that should be answered 200; reads share their fixtures.

        Inconclusive where the operation's control was not proven in this run, unless `prove_control` is False.
        """
        operation = operation or self.operation
        if prove_control:
            await self.runtime.controls.prove(operation)
        shared = operation.is_read and not use and not preset
        return await self.runtime.arranger.arrange(
            operation, use=use, preset=preset, shared=shared, credential=credential, body=body
        )

    def fixture_of(self, request: Request, kind: str) -> Members:
        """The members of the request's fixture of a kind, those too that the request does not use."""
        known = (members for name, members in request.fixtures.members.items() if name.partition(".")[0] == kind)
        found: dict[str, Any] = dict(next(known, {}))
        for name, value in request.scope.items():
            head, _, suffix = name.partition(".")
            if head == kind:
                found[suffix.rpartition(".")[2]] = value
        return found

    def as_credential(self, request: Request, name: str) -> Request:
        return self.runtime.arranger.as_credential(request, name)

    # Sending

    async def send(self, request: Request, purpose: str, *, accept_statuses: Iterable[int] = ()) -> Answer:
        """One answer to judge. Inconclusive where the target answers only 429, or not at all."""
        statuses = frozenset(accept_statuses)
        answer = await self.runtime.sender.send(request, purpose, accept_statuses=statuses)
        self.runtime.signs.note_write(answer)
        self.runtime.calls_with_key[request.operation.id] += request.key is not None
        self._note_answer(answer, statuses)
        if answer.status in statuses:
            return answer
        if answer.status == 429:
            raise Inconclusive(self.rate_limit_message(answer), answer, cause="rate limit")
        if answer.gateway_trouble:
            raise Inconclusive(f"no answer of the target: {answer.summary}", answer, cause="no answer")
        return answer

    def _note_answer(self, answer: Answer, accepted: frozenset[int] = frozenset()) -> None:
        self.answers.append(answer.ref)
        self.runtime.control_reads.note(answer)
        note_doubts(self, answer, accepted)

    def rate_limit_message(self, answer: Answer) -> str:
        """The message for a 429 that was not waited out."""
        patience, header_value = self.profile.limits.patience_s, answer.header("Retry-After") or ""
        requested_s = float(header_value.strip()[:9]) if header_value.strip().isdecimal() else 0.0
        if requested_s > patience:
            return f"rate limited: Retry-After asks for {requested_s:,.0f} s, and limits.patience_s is {patience:g}"
        return f"rate limited for {patience:g} s"

    async def control(self, request: Request, purpose: str = "control") -> Answer:
        """A request that must be answered 200. Inconclusive otherwise."""
        answer = await self.send(request, purpose)
        if not answer.ok:
            raise control_failed(answer, self.profile.oauth)
        return answer

    async def good_answer(self, operation: Operation | None = None) -> Answer:
        """The 200 of an operation's control, for checks that judge what a good answer says.

        It is sent again where it was too long to be kept. Inconclusive where the control was not answered 200.
        """
        operation = operation or self.operation
        answer = await self.runtime.controls.prove(operation)
        if not answer.body:
            return await self.control(await self.arrange(operation))
        self.answers.append(answer.ref)
        return answer

    async def first_call(self) -> Answer:
        """A 200 whose key and resource no other check uses: for the first that asks soon, it is the control's.

        Inconclusive where it was not answered 200.
        """
        answer = await self.runtime.controls.take(self.operation, self.key_age_s)
        if answer is None:
            return await self.control(await self.arrange())
        self.answers.append(answer.ref)
        return answer

    @property
    def key_age_s(self) -> float:
        """The seconds for which a key of another check is used again: it must still be known."""
        retention_s = self.profile.idempotency.retention_s if self.profile.idempotency else None
        return _MAX_KEY_AGE_S if retention_s is None else min(_MAX_KEY_AGE_S, retention_s / 4)

    async def answer_to(self, credential: str, operation: Operation | None = None) -> Answer:
        """The answer to the operation's read with a credential, which the checks of what it says share."""
        operation = operation or self.operation
        return await self.runtime.answers_to_keys[operation.id, credential].get(self, operation, credential)

    async def send_with_retry(self, request: Request, purpose: str, control: Request | None = None) -> Answer:
        """Like `send`, but gateway trouble that recurs while the control succeeds is returned: it is tied to the input.

        Without a `control`, a new one is arranged where needed.
        """
        for _ in range(2):
            answer = await self.runtime.sender.send(request, purpose)
            self._note_answer(answer)
            if answer.status == 429 or not answer.gateway_trouble:
                break
            if not (await self.runtime.sender.send(control or await self.arrange(), "control")).ok:
                raise Inconclusive(f"no answer of the target: {answer.summary}", answer, cause="no answer")
        if answer.status == 429:
            raise Inconclusive("rate limited", answer, cause="rate limit")
        return answer

    # Judging

    def violation(
        self, message: str, *answers: Answer, expected: str = "", observed: str = "", level: Level | None = None
    ) -> Violation:
        """The exception to raise. Raises Inconclusive where a key was reused after its retention time, or where an
        answer was cut off and not its status alone is the violation, or a public read was answered 401 (PUB-1)."""
        self._expect_in_time(answers)
        if demand := next(filter(demands_credential, answers), None):
            raise Inconclusive(f"{message}: a public operation demands a credential", demand, cause="PUB-1")
        observed_text = observed or (answers[-1].summary if answers else "")
        if not are_other_statuses(observed_text, expected):
            require_whole(*answers)
        return Violation(message, *answers, expected=expected, observed=observed_text, level=level)

    def _expect_in_time(self, answers: Iterable[Answer]) -> None:
        retention_s = self.profile.idempotency.retention_s if self.profile.idempotency else None
        if retention_s is None:
            return
        for answer in answers:
            age_s = self.runtime.sender.key_uses.age_s(answer.request)
            if age_s > retention_s:
                self.doubts.has_expired_key = True
                message = f"an idempotency key was used again {age_s:.1f} s later, and is kept for {retention_s:g} s"
                raise Inconclusive(message, answer, cause="idempotency.retention_s")

    def warn(self, message: str, *answers: Answer, expected: str = "") -> None:
        """Records a warning; the check goes on."""
        self.warnings.append(self.violation(message, *answers, expected=expected, level=Level.RECOMMENDED))

    def note(self, text: str) -> None:
        """Records an observation; judges nothing."""
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
        # with a new key: a target may store a refusal under the key and replay it
        reproof = (control or request).with_fresh_key()
        try:
            answer = await self.refusal(
                defective, allowed, purpose, message=message, any_refusal=any_refusal, control=reproof, level=level
            )
        except Violation as violation:
            if not violation.answers[-1].ok:
                await self.reprove_control(reproof, purpose, violation.answers[-1])
            raise
        await self.reprove_control(reproof, purpose, answer)
        return answer

    async def repeat_changed(
        self, change: Callable[[Request], Awaitable[Request]], purpose: str, *, defect: str = "payload"
    ) -> tuple[Answer, Answer]:
        """The 200 of a call, and the answer to its changed request under the same key.

        Checks with the same kind of defect share the call, since what is refused does not change what the key stands
        for. Inconclusive where the call is refused.
        """
        return await self.runtime.first_calls[self.operation.id, defect].repeat(self, change, purpose)

    async def shared_negative(
        self,
        change: Callable[[Request], Request],
        allowed: Iterable[int],
        purpose: str,
        *,
        message: str = "",
        any_refusal: bool = False,
        level: Level | None = None,
    ) -> Answer:
        """Like `negative`, with a request and a control that the negatives of this operation share."""
        allowed = tuple(allowed)

        async def refuse(request: Request) -> Answer:
            return await self.refusal(
                change(request),
                allowed,
                purpose,
                message=message,
                any_refusal=any_refusal,
                control=request.with_fresh_key(),
                level=level,
            )

        return await self.share_control(refuse, purpose)

    async def share_control(self, refuse: Refuse, purpose: str) -> Answer:
        """Sends refusals of a good request, which the negatives of this operation share, as their last control.

        `refuse` gets the request with a new key, sends its defects and returns the last answer. It is called again,
        with a request of its own, where the others' defects or the control leave in doubt why it was refused.
        """

        async def refuse_with_new_key(request: Request) -> Answer:
            return await refuse(request.with_fresh_key())  # a target may store refusals

        async def prove(request: Request) -> Answer:
            return await control_again(self, request)

        answer, proof = await self.runtime.shared_controls[self.operation.id].negative(
            self.arrange, refuse_with_new_key, prove, idle_watch(self)
        )
        if proof is None or not proof.ok:
            request = await self.arrange()
            answer = await self._refuse_alone(refuse, request, purpose)
            await self.reprove_control(request, purpose, answer)
        elif proof.ref not in self.answers:
            self.answers.append(proof.ref)
        return answer

    async def _refuse_alone(self, refuse: Refuse, request: Request, purpose: str) -> Answer:
        try:
            return await refuse(request)
        except Violation as violation:
            if not violation.answers[-1].ok:
                await self.reprove_control(request, purpose, violation.answers[-1])
            raise

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
        """Sends the defective request of `negative`: violated unless it is answered with one of `allowed`."""
        allowed = tuple(allowed)
        expected = " or ".join(str(status) for status in allowed)
        answer = await self.send_with_retry(defective, purpose, control)
        is_undeclared_refusal = any_refusal and answer.is_refused and not answer.has_declared_status
        if answer.status in allowed or is_undeclared_refusal:
            return answer
        message = message or f"{self.operation.id} with {purpose} was not answered {expected}"
        raise self.violation(message, answer, expected=expected, level=level)

    async def reprove_control(self, control: Request, purpose: str = "the last defect", *answers: Answer) -> None:
        """Inconclusive unless a control with a new key is still answered 200."""
        repeat = await control_again(self, control)
        if not repeat.ok:
            result_text = f" was answered {answers[-1].summary}" if answers else ""
            message = f"after {purpose}{result_text}, its control was answered {repeat.summary}"
            raise Inconclusive(message, *answers, repeat, cause=f"control:{self.operation.id}")
