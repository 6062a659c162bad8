"""A random walk over one resource: calls, refused calls, replays and reads.

Every answer is judged. The model is the profile's transitions. Where they are silent, the resource is compared with a
twin that received only the successful calls: refused calls, replays and reads must not have changed its state.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from conformance.checks.support.authorization import credentials_without_scope
from conformance.checks.support.case import Case
from conformance.checks.support.equal_calls import may_be_replay
from conformance.checks.support.replays import expect_same, fix_proof_id, replay
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.checks.support.transitions import ALLOWED, CONFLICT, SETTLE_S, UNKNOWN, Place, States, stated_lag_s
from conformance.checks.support.unknown_ids import unknown_id_like
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer, AnswerRef
from conformance.contract import Operation
from conformance.profile.render import placeholders

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine

STEPS: Final = 6
STATE: Final = "state"
REPLAY: Final = "replay"
Action = tuple[str, tuple[Any, ...]]
"""One step: a method of Walker and its arguments."""


def kind_of(case: Case, operation: Operation) -> str:
    """The kind of fixture in an operation's path; empty where there is none, or several."""
    path = case.runtime.arranger.facts(operation).path
    kinds = {name.partition(".")[0] for name in placeholders(dict(path)) if "." in name}
    return kinds.pop() if len(kinds) == 1 else ""


@dataclass(frozen=True)
class WalkModel:
    """The model of a walk: one kind of resource, its states, its writes and reads."""

    kind: str
    states: tuple[str, ...]
    writes: tuple[str, ...]
    reads: tuple[str, ...]


def model_of(case: Case) -> WalkModel:
    """The model for the case's operation. Raises MissingFact where the profile states too little."""
    kind = kind_of(case, case.operation)
    case.require_case(kind, "the id in the path comes from no fixture")
    fixtures = case.profile.fixtures.get(kind, {})
    states = tuple(state for state, fixture in fixtures.items() if not fixture.is_foreign and not fixture.values)
    case.require_case(states, f"fixtures.{kind} are finite lists, which random walks exceed")
    operations = [operation for operation in case.contract.all if kind_of(case, operation) == kind]
    writes = tuple(operation.id for operation in operations if operation.idempotent)
    return WalkModel(kind, states, writes, tuple(operation.id for operation in operations if not operation.idempotent))


Refuse = Callable[[Case, Request], Request]


def _without_scope(case: Case, request: Request) -> Request:
    names = credentials_without_scope(case.profile, request.operation) if request.operation.scope else []
    return case.as_credential(request, names[0]) if names else request.without_body()


REFUSALS: Final[Mapping[str, Refuse]] = {
    "without a body": lambda case, request: request.without_body(),
    "without a credential": lambda case, request: (
        request.with_authorization() if request.operation.auth == "api_key" else request.without_body()
    ),
    "without the scope": _without_scope,
    "with another id": lambda case, request: (
        request.with_path(**{name: unknown_id_like(value) for name, value in request.path.items()})
        if _leaves_no_trace_elsewhere(request.operation)
        else request.without_body()
    ),
}


def _leaves_no_trace_elsewhere(operation: Operation) -> bool:
    """Whether a call on another resource says nothing of this one: a ticket may end wherever it is presented."""
    return operation.auth != "none"


def _effect_of(operation: Operation, defect: str) -> str:
    """Names the effect of a refused call by the requirement that forbids it, as a cause: `effect:SCO-4:OPERATION`."""
    if defect == "with another id" and _leaves_no_trace_elsewhere(operation):
        return ""
    is_unauthorized = (defect, operation.auth) == ("without a credential", "api_key") or (
        defect == "without the scope" and operation.scope
    )
    return f"effect:{'SCO-4' if is_unauthorized else 'BODY-8'}:{operation.id}"


class WalkViolation(Violation):
    """A violation found by a walk: `question` is STATE or REPLAY, `operation` the one with the wrong answer."""

    question = ""
    operation = ""

    def about(self, question: str, operation: str) -> WalkViolation:
        self.question, self.operation = question, operation
        return self


@dataclass
class Walker:
    """One walk. `begin` comes first; every step is recorded in `log`."""

    case: Case
    model: WalkModel
    states: States
    answers: dict[str, list[AnswerRef]]
    """By operation; shared with the other walks on the same ground."""
    log: list[str] = field(default_factory=list)
    calls: list[tuple[str, Answer]] = field(default_factory=list)
    """The calls answered 200, in order."""
    has_side_calls: bool = False
    """Whether a refused call, a replay or a read came in between."""
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    """The refused calls: the number of successful calls before each, its operation, and its defect."""
    _members: Members = field(default_factory=dict)
    _fixture: str = ""
    _began: float = 0.0

    async def begin(self, state: str) -> None:
        self._fixture = f"{self.model.kind}.{state}"
        self._members, self._began = await self._resource(), self._elapsed_s
        self.log.append(self._fixture)

    async def write(self, name: str) -> None:
        answer = await self._call(name, self._members)
        if answer is None:
            return
        self.log.append(f"{name} {answer.status}")
        if may_be_replay(self.case, answer):
            raise Inconclusive("without keys, it is not known whether an equal call was carried out again", answer)
        await self._judge(name, answer)
        if answer.ok:
            self.calls.append((name, answer))
        else:
            self.has_side_calls = True

    async def replay(self, index: int) -> None:
        """Repeats an earlier call. Violated if it is answered differently.

        After another successful call only its status counts: a replay may show the present state.
        """
        if not (writes := self._successful_writes):
            return
        name, first = writes[index % len(writes)]
        is_latest = first is self.calls[-1][1]
        repeat = await replay(self.case, first.request, "walk: replay")
        self.log.append(f"{name} replayed {repeat.status}")
        self.has_side_calls = True
        self.answers[name].append(repeat.ref)
        try:
            if is_latest or repeat.status != first.status:
                expect_same(self.case, first, repeat)
        except Violation as other:
            violation = WalkViolation(other.message, *other.answers, expected=other.expected, observed=other.observed)
            violation.identity, violation.kind = other.identity, other.kind
            raise violation.about(REPLAY, name) from None

    async def refuse(self, name: str, defect: str) -> None:
        answer = await self._refuse(name, defect, self._members)
        if answer is None:
            return
        self.log.append(f"{name} {defect} {answer.status}")
        self.has_side_calls = True
        if answer.ok:
            raise Inconclusive("a call that must be refused was answered 200", answer)
        self.refused.append((len(self.calls), name, defect))

    async def read(self, name: str) -> None:
        """A read that changes the state as the profile states is a call like any write."""
        answer = await self._call(name, self._members)
        self.log.append(f"{name} {answer.status}" if answer is not None else f"{name} left out")
        self.has_side_calls = True
        if answer is not None and answer.ok and self.states.names(name):
            self.calls.append((name, answer))

    async def end(self) -> None:
        """Repeats all writes, then the successful calls, the oldest last, and all writes once more.

        Whatever changed the state in between shows in the answer of a write. Then it is read, so that the invariants
        judge what is shown of a resource after any order of calls.
        """
        await self._write_all()
        calls = range(len(self._successful_writes))
        for index in sorted({*calls[:2], *calls[-1:]}, reverse=True):
            await self.replay(index)
        await self._write_all()
        for name in self.model.reads:
            await self.read(name)

    async def _write_all(self) -> None:
        for name in self.model.writes:
            await self.write(name)

    async def _judge(self, name: str, answer: Answer) -> None:
        earlier_calls = tuple(operation_id for operation_id, _ in self.calls)
        expected = self.states.expected_outcome(Place(self._fixture, earlier_calls), name)
        if name in earlier_calls and self.case.contract.operations[name].auth == "none":
            return  # HO-2 covers a ticket that is used twice
        if answer.ok and expected == CONFLICT:
            self._expect_pauses(answer)
            message = f"{name} succeeded where the profile states a conflict"
            violation = WalkViolation(message, answer, expected="409", observed=answer.summary)
            violation.explanation = f"effect:CONF-3:{name}"  # which tries each conflict; a walk meets it by chance
            raise violation.about(STATE, name)
        if (answer.ok == (expected == ALLOWED) and expected != UNKNOWN) or not self.has_side_calls:
            return
        twin = await self._twin(name)
        if twin is not None and twin.ok != answer.ok:
            twin = await self._twin(name, at=answer.at)  # a lifetime may make the difference
        if twin is not None and twin.ok != answer.ok and not await self._settles(name, answer, twin):
            self._expect_pauses(answer)
            message = f"{name} is answered differently on a resource that received only the successful calls"
            violation = WalkViolation(message, twin, answer, expected=twin.summary, observed=answer.summary)
            violation.explanation = await self._explanation(name, answer)
            raise violation.about(STATE, name)

    def _expect_pauses(self, answer: Answer) -> None:
        """Inconclusive where a call came before the effect of the one before it has to show, by the profile."""
        lag_s = stated_lag_s(self.case.profile, [name for name, _ in self.calls])
        times = [*(earlier.at for _, earlier in self.calls), answer.at]
        if any(after - before < lag_s for before, after in pairwise(times)):
            raise Inconclusive(f"calls came within {lag_s:g} s, in which their effects need not show", answer)

    async def _twin(
        self, name: str, refused: tuple[int, str, str] | None = None, *, at: float | None = None
    ) -> Answer | None:
        """The answer on another resource that received only the successful calls; None if a call fails there.

        `refused`: a refused call that this resource received as well. `at`: when the walk's own resource received the
        call; then each call comes as long after the beginning as it did there.
        """
        members, began = await self._resource(), self._elapsed_s
        for number, (operation_id, original) in enumerate(self.calls):
            if refused is not None and refused[0] == number:
                await self._refuse(*refused[1:], members)
            if at is not None:
                await asyncio.sleep(original.at - self._began - (self._elapsed_s - began))
            answer = await self._call(operation_id, members)
            if answer is None or not answer.ok:
                return None
        if refused is not None and refused[0] == len(self.calls):
            await self._refuse(*refused[1:], members)
        if at is not None:
            await asyncio.sleep(at - self._began - (self._elapsed_s - began))
        return await self._call(name, members)

    async def _settles(self, name: str, answer: Answer, twin: Answer) -> bool:
        """Whether the resource was only in use for a moment: the call that was refused is answered 200 some time later.

        On the walk's own resource that is a call like any other, which the next twins receive too.
        """
        refused = twin if answer.ok else answer
        if refused.status != 409:
            return False
        await asyncio.sleep(max(0.0, refused.at + SETTLE_S - self._elapsed_s))
        later = await self.case.send(refused.request.with_fresh_key(), "walk: the same call later")
        if later.ok and refused is answer:
            self.calls.append((name, later))
            self.log.append(f"{name} {later.status}")
        return later.ok

    @property
    def _successful_writes(self) -> list[tuple[str, Answer]]:
        return [(name, answer) for name, answer in self.calls if name in self.model.writes]

    @property
    def _elapsed_s(self) -> float:
        """The time of the run, by which answers are dated."""
        return self.case.runtime.sender.elapsed_s

    async def _explanation(self, name: str, answer: Answer) -> str:
        """The effect of the first refused call that alone leads to this answer; empty if none does."""
        for refused in self.refused:
            effect = _effect_of(self.case.contract.operations[refused[1]], refused[2])
            twin = await self._twin(name, refused) if effect else None
            if twin is not None and twin.ok == answer.ok:
                return effect
        return ""

    async def _resource(self) -> Members:
        runtime = self.case.runtime
        fixture = runtime.fixtures.find(self.model.kind, self._fixture.partition(".")[2])
        assert fixture is not None
        return await runtime.fixtures.get_fresh(fixture, {})

    async def _request(self, name: str, members: Members) -> Request | None:
        """A valid request on that resource; None where the profile does not state how to call it."""
        operation = self.case.contract.operations[name]
        try:
            request = await self.case.arrange(operation, preset={self.model.kind: members}, prove_control=False)
        except MissingFact:
            return None
        return fix_proof_id(request)

    async def _refuse(self, name: str, defect: str, members: Members) -> Answer | None:
        request = await self._request(name, members)
        if request is None:
            return None
        defective = REFUSALS[defect](self.case, request).with_fresh_key()
        return await self.case.send(defective, f"walk: {name} {defect}")

    async def _call(self, name: str, members: Members) -> Answer | None:
        request = await self._request(name, members)
        if request is None:
            return None
        answer = await self.case.send(request, f"walk: {name}")
        self.answers[name].append(answer.ref)
        return answer


def actions_of(model: WalkModel) -> list[Action]:
    """All possible steps; writes have a higher share."""
    writes: list[Action] = [("write", (name,)) for name in model.writes]
    refusals: list[Action] = [("refuse", (name, defect)) for name in model.writes for defect in REFUSALS]
    replays: list[Action] = [("replay", (index,)) for index in range(3)]
    return [*writes * 3, *replays, *refusals, *(("read", (name,)) for name in model.reads)]


@dataclass
class Walks:
    """All walks on one model: runs a walk, and keeps answers and violations."""

    case: Case
    model: WalkModel
    states: States
    answers: dict[str, list[AnswerRef]] = field(default_factory=lambda: defaultdict(list))
    """By operation."""
    violations: dict[tuple[str, str], tuple[str, WalkViolation]] = field(default_factory=dict)
    """By question and operation: the shortest walk and its violation."""

    async def __call__(self, actions: Sequence[Action]) -> None:
        """Runs one walk. Raises WalkViolation."""
        walker = Walker(self.case, self.model, self.states, self.answers)
        try:
            for method_name, arguments in (*actions, ("end", ())):
                await getattr(walker, method_name)(*arguments)
        except Inconclusive:  # only this walk ends
            return
        except WalkViolation as violation:
            log_text, tag = ", ".join(walker.log), (violation.question, violation.operation)
            if tag not in self.violations or len(log_text) < len(self.violations[tag][0]):
                self.violations[tag] = log_text, violation
            raise


@cache
def machine() -> Callable[[WalkModel, Callable[[tuple[Action, ...]], None]], RuleBasedStateMachine]:
    """The state machine: it generates a walk on a model, and calls `on_finish` with it, which raises on a violation.
    One class for all searches, since hypothesis keeps every class. One rule for all steps: with several, hypothesis
    omits some of them from each walk.
    """
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

    def sample_model(choices: Callable[[WalkModel], Sequence[Any]]) -> Any:
        return st.runner().flatmap(lambda walk: st.sampled_from(choices(walk.model)))

    class Walk(RuleBasedStateMachine):
        def __init__(self, model: WalkModel, on_finish: Callable[[tuple[Action, ...]], None]) -> None:
            super().__init__()
            self.model = model
            self.on_finish = on_finish
            self.actions: list[Action] = []

        @initialize(state=sample_model(lambda model: model.states))
        def begin(self, state: str) -> None:
            self.actions.append(("begin", (state,)))

        @rule(action=sample_model(actions_of))
        def step(self, action: Action) -> None:
            self.actions.append(action)

        def teardown(self) -> None:
            if self.actions:
                self.on_finish(tuple(self.actions))

    return Walk
