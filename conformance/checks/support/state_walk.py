"""A random walk over one resource: what is called on it, what is refused, replayed and read in between.

Every answer on the way is judged. The model is what the profile's transitions tell. Where they are silent the resource
is compared with a twin on which only the calls were made that succeeded: what was refused, replayed or read must have
left no trace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from conformance.checks.support.authorization import lacking
from conformance.checks.support.case import Case
from conformance.checks.support.replays import expect_same, pinned, replay
from conformance.checks.support.signals import Inconclusive, Violated
from conformance.checks.support.transitions import ALLOWED, CONFLICT, UNKNOWN, Place, States
from conformance.checks.support.unknown_ids import like_but_unknown
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer, Counted
from conformance.contract import Operation
from conformance.profile.model import FOREIGN
from conformance.profile.render import placeholders

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine

STEPS: Final = 6
STATE: Final = "state"
REPLAY: Final = "replay"
Turn = tuple[str, tuple[Any, ...]]
"""One step: which of the Walker's, and its arguments."""


def kind_of(case: Case, operation: Operation) -> str:
    """The kind of fixture that an operation's path names; empty where it names none, or several."""
    path = case.runtime.arranger.facts(operation).path
    kinds = {name.partition(".")[0] for name in placeholders(dict(path)) if "." in name}
    return kinds.pop() if len(kinds) == 1 else ""


@dataclass(frozen=True)
class Ground:
    """What can be walked on: one kind of resource, its states, what changes it and what reads it."""

    kind: str
    states: tuple[str, ...]
    writes: tuple[str, ...]
    reads: tuple[str, ...]


def ground_of(case: Case) -> Ground:
    """The ground of the case's own operation. Raises MissingFact where too little of it is told."""
    kind = kind_of(case, case.operation)
    case.further(kind, "the id in the path comes from no fixture")
    fixtures = case.profile.fixtures.get(kind, {})
    states = tuple(state for state, fixture in fixtures.items() if state != FOREIGN and not fixture.values)
    case.further(states, f"fixtures.{kind} are lists that are used up, which random walks exceed")
    same = [operation for operation in case.contract.all if kind_of(case, operation) == kind]
    writes = tuple(operation.id for operation in same if operation.idempotent)
    return Ground(kind, states, writes, tuple(operation.id for operation in same if not operation.idempotent))


Refuse = Callable[[Case, Request], Request]


def _without_scope(case: Case, request: Request) -> Request:
    names = lacking(case.profile, request.operation) if request.operation.scope else []
    return case.as_credential(request, names[0]) if names else request.without_body()


REFUSALS: Final[Mapping[str, Refuse]] = {
    "without a body": lambda case, request: request.without_body(),
    "without a credential": lambda case, request: (
        request.with_authorization() if request.operation.auth == "api_key" else request.without_body()
    ),
    "without the scope": _without_scope,
    "with another id": lambda case, request: request.with_path(
        **{name: like_but_unknown(value) for name, value in request.path.items()}
    ),
}


class Slip(Violated):
    """A violation that a walk came upon: `question` is STATE or REPLAY, `operation` the one whose answer is wrong."""

    question = ""
    operation = ""

    def of(self, question: str, operation: str) -> Slip:
        self.question, self.operation = question, operation
        return self


@dataclass
class Walker:
    """One walk. `begin` comes first; every step leaves a word in `log`."""

    case: Case
    ground: Ground
    states: States
    answers: dict[str, list[Counted]]
    """By operation; shared with the other walks on the same ground."""
    log: list[str] = field(default_factory=list)
    calls: list[tuple[str, Answer]] = field(default_factory=list)
    """What was answered 200, in order."""
    disturbed: bool = False
    """Whether anything happened that must not matter."""
    _members: Members = field(default_factory=dict)
    _fixture: str = ""

    async def begin(self, state: str) -> None:
        self._fixture = f"{self.ground.kind}.{state}"
        self._members = await self._resource()
        self.log.append(self._fixture)

    async def write(self, name: str) -> None:
        answer = await self._called(name, self._members)
        if answer is None:
            return
        self.log.append(f"{name} {answer.status}")
        await self._judge(name, answer)
        if answer.ok:
            self.calls.append((name, answer))
        else:
            self.disturbed = True

    async def replay(self, which: int) -> None:
        """An earlier call once more. Violated if it is answered otherwise than before.

        Where another call has succeeded since, only by its status: a replay may show the resource as it is now.
        """
        if not self.calls:
            return
        name, first = self.calls[which % len(self.calls)]
        unchanged = first is self.calls[-1][1]
        again = await replay(self.case, first.request, "walk: replay")
        self.log.append(f"{name} replayed {again.status}")
        self.disturbed = True
        self.answers[name].append(again.counted)
        try:
            if unchanged or again.status != first.status:
                expect_same(self.case, first, again)
        except Violated as other:
            raise Slip(other.message, *other.answers, expected=other.expected, observed=other.observed).of(
                REPLAY, name
            ) from None

    async def refuse(self, name: str, how: str) -> None:
        request = await self._request(name, self._members)
        if request is None:
            return
        refused = REFUSALS[how](self.case, request).with_fresh_key()
        answer = await self.case.send(refused, f"walk: {name} {how}")
        self.log.append(f"{name} {how} {answer.status}")
        self.disturbed = True

    async def read(self, name: str) -> None:
        answer = await self._called(name, self._members)
        self.log.append(f"{name} {answer.status}" if answer is not None else f"{name} left out")
        self.disturbed = True

    async def end(self) -> None:
        """The calls that succeeded once more, the oldest last; then whether that has changed a state. Twice."""
        for _ in range(2):
            calls = range(len(self.calls))
            for index in sorted({*calls[:2], *calls[-1:]}, reverse=True):
                await self.replay(index)
            for name in self.ground.writes:
                await self.write(name)

    async def _judge(self, name: str, answer: Answer) -> None:
        before = tuple(called for called, _ in self.calls)
        expected = self.states.expected(Place(self._fixture, before), name)
        if name in before and self.case.contract.operations[name].auth == "none":
            return  # a ticket that is used twice is HO-2's question
        if answer.ok and expected == CONFLICT:
            what = f"{name} succeeded where the profile tells of a conflict"
            raise Slip(what, answer, expected="409", observed=answer.summary).of(STATE, name)
        if (answer.ok == (expected == ALLOWED) and expected != UNKNOWN) or not self.disturbed:
            return
        twin = await self._twin(name)
        if twin is not None and twin.ok != answer.ok:
            what = f"{name} is answered otherwise on a resource on which only what succeeded was ever called"
            raise Slip(what, twin, answer, expected=twin.summary, observed=answer.summary).of(STATE, name)

    async def _twin(self, name: str) -> Answer | None:
        """The answer on another resource that has seen what succeeded and nothing else; None if it cannot be had."""
        members = await self._resource()
        for called, _ in self.calls:
            answer = await self._called(called, members)
            if answer is None or not answer.ok:
                return None
        return await self._called(name, members)

    async def _resource(self) -> Members:
        runtime = self.case.runtime
        fixture = runtime.fixtures.find(self.ground.kind, self._fixture.partition(".")[2])
        assert fixture is not None
        return await runtime.fixtures.fresh(fixture, {})

    async def _request(self, name: str, members: Members) -> Request | None:
        """A good request on that resource; None where the profile does not tell how it is made."""
        operation = self.case.contract.operations[name]
        try:
            request = await self.case.arrange(operation, given={self.ground.kind: members}, proven=False)
        except MissingFact:
            return None
        return pinned(request)

    async def _called(self, name: str, members: Members) -> Answer | None:
        request = await self._request(name, members)
        if request is None:
            return None
        answer = await self.case.send(request, f"walk: {name}")
        self.answers[name].append(answer.counted)
        return answer


def turns_of(ground: Ground) -> list[Turn]:
    """Everything that can be done in one step; what changes a resource comes up more often than its share."""
    writes: list[Turn] = [("write", (name,)) for name in ground.writes]
    refusals: list[Turn] = [("refuse", (name, how)) for name in ground.writes for how in REFUSALS]
    replays: list[Turn] = [("replay", (which,)) for which in range(3)]
    return [*writes * 3, *replays, *refusals, *(("read", (name,)) for name in ground.reads)]


@dataclass
class Walks:
    """All walks on one ground: walks one, and keeps what was answered and what went wrong."""

    case: Case
    ground: Ground
    states: States
    answers: dict[str, list[Counted]] = field(default_factory=lambda: defaultdict(list))
    """By operation."""
    slips: dict[tuple[str, str], tuple[str, Slip]] = field(default_factory=dict)
    """By question and operation: the shortest walk, and what went wrong on it."""

    async def __call__(self, turns: Sequence[Turn]) -> None:
        """Walks so. Raises Slip where it goes wrong."""
        walker = Walker(self.case, self.ground, self.states, self.answers)
        try:
            for what, arguments in (*turns, ("end", ())):
                await getattr(walker, what)(*arguments)
        except Inconclusive:  # this walk has come to its end, the others have not
            return
        except Slip as slip:
            shown, tag = ", ".join(walker.log), (slip.question, slip.operation)
            if tag not in self.slips or len(shown) < len(self.slips[tag][0]):
                self.slips[tag] = shown, slip
            raise


@cache
def machine() -> Callable[[Ground, Callable[[tuple[Turn, ...]], None]], RuleBasedStateMachine]:
    """The state machine: it draws a walk on a ground, and at its end says which. Who is told raises where that slips.

    One class for all searches, since hypothesis keeps every class that it has seen. One rule for all steps: of several,
    hypothesis leaves some out of each walk.
    """
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

    def of_the_ground(named: Callable[[Ground], Sequence[Any]]) -> Any:
        return st.runner().flatmap(lambda walk: st.sampled_from(named(walk.ground)))

    class Walk(RuleBasedStateMachine):
        def __init__(self, ground: Ground, done: Callable[[tuple[Turn, ...]], None]) -> None:
            super().__init__()
            self.ground = ground
            self.done = done
            self.turns: list[Turn] = []

        @initialize(state=of_the_ground(lambda ground: ground.states))
        def begin(self, state: str) -> None:
            self.turns.append(("begin", (state,)))

        @rule(turn=of_the_ground(turns_of))
        def step(self, turn: Turn) -> None:
            self.turns.append(turn)

        def teardown(self) -> None:
            if self.turns:
                self.done(tuple(self.turns))

    return Walk
