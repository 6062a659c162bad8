"""Whether the ids of two installations are numbers of one counter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive
from conformance.client.request_builder import MissingFact
from conformance.core.errors import FixtureError

_ROUNDS: Final = 4
_NUMBER: Final = re.compile("[0-9]+")


async def is_one_counter(case: Case, home: Mapping[str, str], foreign: Mapping[str, str]) -> bool:
    """Whether resources that are made for two installations by turns have ascending numbers: one number names one.

    Where each installation counts for itself, the numbers of one lie between those of the other only by a chance that
    is rare over eight. `home` and `foreign` are states by kind. False where they are not made when they are needed: the
    order of a list says nothing.
    """
    states = [*home.items(), *foreign.items()]
    if home.keys() != foreign.keys() or not states or not all(_is_made(case, *state) for state in states):
        return False
    numbers: list[int] = []
    for use in (home, foreign) * _ROUNDS:
        try:
            request = await case.arrange(use=use, prove_control=False)
        except (MissingFact, FixtureError, Inconclusive):
            return False
        digits = _NUMBER.findall(next(iter(request.path.values())))
        if not digits:
            return False
        numbers.append(int(digits[-1]))
    return all(number < successor for number, successor in pairwise(numbers))


def _is_made(case: Case, kind: str, state: str) -> bool:
    """Whether each resource is made by a call of its own."""
    fixture = case.runtime.fixtures.find(kind, state)
    if fixture is None or fixture.values or fixture.reusable or fixture.items is not None:
        return False
    return not fixture.origin or _is_made(case, kind, fixture.origin)
