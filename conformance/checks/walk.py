"""A random walk over one resource: what is called on it, what is refused, replayed and read in between.

The model is what the profile's transitions tell. Where they are silent the resource is compared with a twin on which
only the calls were made that succeeded: what was refused, replayed or read must have left no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from conformance.checks.case import Case
from conformance.checks.check_not_found import like_but_unknown
from conformance.checks.check_scopes import lacking
from conformance.checks.explore import Exploration
from conformance.checks.replays import expect_same, pinned, replay
from conformance.checks.states import ALLOWED, CONFLICT, UNKNOWN, Place, States
from conformance.client.answer import Answer
from conformance.client.arrange import MissingFact
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.profile.render import placeholders

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine

STEPS: Final = 6


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
    case.need(kind, f"operations.{case.operation.id}.path", "an id that comes from a fixture is needed")
    fixtures = case.profile.fixtures.get(kind, {})
    states = tuple(state for state, fixture in fixtures.items() if state != "foreign" and not fixture.values)
    case.need(states, f"fixtures.{kind}.STATE.http", "fixtures that are made when they are needed are needed")
    same = [operation for operation in case.contract.all if kind_of(case, operation) == kind]
    writes = tuple(operation.id for operation in same if operation.idempotent)
    return Ground(kind, states, writes, tuple(operation.id for operation in same if not operation.idempotent))


def home_of(case: Case, ground: Ground) -> str:
    """The state in which the case's own operation is answered 200."""
    names = placeholders(dict(case.facts.path))
    told = next(name for name in names if name.startswith(f"{ground.kind}.")).split(".")[1:-1]
    fixture = case.runtime.fixtures.find(ground.kind, ".".join(told) or None)
    assert fixture is not None
    return fixture.state


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


@dataclass
class Walker:
    """One walk. `begin` comes first; every step leaves a word in `log`."""

    case: Case
    ground: Ground
    states: States
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
        if name == self.case.operation.id:
            await self._judge(answer)
        if answer.ok:
            self.calls.append((name, answer))
        else:
            self.disturbed = True

    async def replay(self, which: int) -> None:
        """An earlier call once more. Violated if it is the case's own and is answered otherwise than before."""
        if not self.calls:
            return
        name, first = self.calls[which % len(self.calls)]
        again = await replay(self.case, first.request, "walk: replay")
        self.log.append(f"{name} replayed {again.status}")
        self.disturbed = True
        if name == self.case.operation.id:
            expect_same(self.case, first, again)

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

    async def _judge(self, answer: Answer) -> None:
        name = self.case.operation.id
        expected = self.states.expected(Place(self._fixture, tuple(called for called, _ in self.calls)), name)
        if answer.ok and expected == CONFLICT:
            raise self.case.violated(f"{name} succeeded where the profile tells of a conflict", answer, expected="409")
        if (answer.ok == (expected == ALLOWED) and expected != UNKNOWN) or not self.disturbed:
            return
        twin = await self._twin(name)
        if twin is not None and twin.ok != answer.ok:
            raise self.case.violated(
                f"{name} is answered otherwise on a resource on which only what succeeded was ever called",
                twin,
                answer,
                expected=twin.summary,
            )

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
            if operation == self.case.operation:
                raise
            return None
        return pinned(request)

    async def _called(self, name: str, members: Members) -> Answer | None:
        request = await self._request(name, members)
        return await self.case.send(request, f"walk: {name}") if request is not None else None


def machine(  # noqa: C901 - one rule after the other
    found: Exploration,
    make: Callable[[], Walker],
    ground: Ground,
    finish: Callable[[Walker], Any],
    start: Callable[[Walker], Any] | None = None,
) -> type[RuleBasedStateMachine]:
    """The state machine over a ground: hypothesis chooses the steps between `start` and `finish`."""
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

    def some(names: Sequence[str]) -> st.SearchStrategy[str]:
        return st.sampled_from(names)

    class Walk(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.walker = make()
            self.live = found.begun()

        def take(self, step: Callable[[], Any]) -> None:
            if self.live:
                found.step(step, lambda: ", ".join(self.walker.log))

        @initialize(state=some(ground.states))
        def begin(self, state: str) -> None:
            self.take(lambda: self.walker.begin(state))
            if start is not None:
                self.take(lambda: start(self.walker))

        @rule(name=some(ground.writes))
        def write(self, name: str) -> None:
            self.take(lambda: self.walker.write(name))

        @rule(which=st.integers(0, STEPS))
        def replay(self, which: int) -> None:
            self.take(lambda: self.walker.replay(which))

        @rule(name=some(ground.writes), how=some(list(REFUSALS)))
        def refuse(self, name: str, how: str) -> None:
            self.take(lambda: self.walker.refuse(name, how))

        @rule(name=some(ground.reads or ground.writes))
        def read(self, name: str) -> None:
            if ground.reads:
                self.take(lambda: self.walker.read(name))

        def teardown(self) -> None:
            if self.walker.log:
                self.take(lambda: finish(self.walker))

    return Walk
