"""The facts about resources: where fixtures come from, what operations need, how both are removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from msgspec import Meta

from conformance.profile.facts import (
    CommandTemplate,
    Entries,
    Excludable,
    FunctionName,
    Members,
    Method,
    OperationId,
    Pointer,
    Pointers,
    Template,
    Templates,
    TemplateTable,
    Text,
    TextTemplate,
    describe_values,
    excludable,
    fact,
)


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A call to a test API of the target's owner. All strings may hold placeholders."""

    url: Annotated[TextTemplate, fact("An http or https URL.")]
    method: Annotated[Method, fact("The method.")] = "GET"
    json: Annotated[Template, fact("The body.")] = None
    headers: Annotated[Templates, fact("Further headers.")] = field(default_factory=dict)


FOREIGN: Final = "foreign"
"""A state of resources of another installation. A placeholder without a state never refers to one."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One kind in one state, with exactly one of values, http, command, python, call and from."""

    kind: str
    state: str
    values: Annotated[Entries, fact("Sets of members, each used once.")] = ()
    http: Annotated[HttpCall | None, fact("A call to a test API; the answer is a JSON object.")] = None
    command: Annotated[CommandTemplate, fact("A program that prints a JSON object.")] = ()
    python: Annotated[FunctionName, fact("A function, called with keyword `context`.")] = ""
    call: Annotated[OperationId, fact("An operation of the interface.")] = ""
    origin: Annotated[Text, fact("Another state of the same kind.", key="from")] = ""
    via: Annotated[tuple[OperationId, ...], fact("The operations that lead from that state to this one.")] = ()
    members: Annotated[Members, fact("Member name to JSON pointer into the result.")] = field(default_factory=dict)
    items: Annotated[Pointer | None, fact("An array in the result: each element is one fixture.")] = None
    """None: the provider returns one fixture at a time."""
    reusable: Annotated[bool, fact("Each may be used repeatedly.")] = False
    foreign: Annotated[bool, fact("Each belongs to another installation; always so in the state `foreign`.")] = False
    unused_places: tuple[int, ...] | None = None
    """The indices of the `values` that may still be used; None: all of them."""

    @property
    def name(self) -> str:
        return f"{self.kind}.{self.state}"

    @property
    def is_foreign(self) -> bool:
        """Whether it belongs to another installation than the keys that the suite uses by default."""
        return self.foreign or self.state == FOREIGN

    @property
    def places(self) -> tuple[int, ...]:
        """The indices of the `values` that may be used, in order."""
        return tuple(range(len(self.values))) if self.unused_places is None else self.unused_places


States = Annotated[
    Mapping[str, Excludable[Fixture]], Meta(min_length=1), describe_values("at least one state"), excludable()
]


def default_state(states: Mapping[str, Any]) -> str | None:
    """The state for a placeholder without one: the first that is not another installation's.

    `states`: the fixtures of one kind, or their tables.
    """
    return next((state for state, fixture in states.items() if not _is_foreign(state, fixture)), None)


def foreign_states(states: Mapping[str, Fixture]) -> tuple[str, ...]:
    """The states of a kind whose fixtures belong to another installation."""
    return tuple(state for state, fixture in states.items() if fixture.is_foreign)


def _is_foreign(state: str, fixture: Any) -> bool:
    return state == FOREIGN or bool(fixture.get("foreign") if isinstance(fixture, Mapping) else fixture.foreign)


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """Facts about one operation."""

    body: Annotated[Template, fact("A valid body.")] = None
    bodies: Annotated[tuple[Template, ...], fact("Other valid bodies, which differ in meaning.", exclusion=True)] = ()
    conflicts: Annotated[tuple[Template, ...], fact("Valid bodies that are answered 409 on any such resource.")] = ()
    path: Annotated[Templates, fact("Path parameters.", exclusion=True)] = field(default_factory=dict)
    query: Annotated[TemplateTable, fact("Query parameters.")] = field(default_factory=dict)
    headers: Annotated[Templates, fact("Sent with every request of the operation.")] = field(default_factory=dict)
    unknown: Annotated[Templates, fact("Values of unknown resources.", exclusion=True)] = field(default_factory=dict)
    volatile: Annotated[Pointers, fact("Adds to [idempotency] volatile.")] = ()

    @property
    def all_bodies(self) -> list[Any]:
        """The templates of bodies, those that conflict too."""
        return [self.body, *self.bodies, *self.conflicts]


@dataclass(frozen=True, slots=True)
class Cleanup:
    """How one kind is removed."""

    http: Annotated[HttpCall, fact("The call that removes one.")]
