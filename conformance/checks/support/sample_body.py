"""A valid body without the values of its fixtures: what is generated from it fits every run and every request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from conformance.checks.support import strategies
from conformance.checks.support.value_pools import SMALL_SIZE, Pool
from conformance.client.request import Request
from conformance.core.strict_json import ABSENT, differences
from conformance.profile.subschema import Schema

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_MAX_CHANGES: Final = 20
"""Maximum number of changed places that a message names."""
_MIN_DISTINCT_LENGTH: Final = 8
"""A shorter text may occur in another one by chance."""


class SampleBody:
    """The body of a valid request, with a placeholder for each value of a fixture."""

    def __init__(self, sample: Request, schema: Schema | None, keep: frozenset[str]) -> None:
        """`keep` names the places that stay as they are."""
        self._sample = sample
        self._schema = schema
        self._keep = keep

    @cached_property
    def value(self) -> Any:
        """The body with placeholders."""
        values = {value: _placeholder(name) for name, value in self._sample.scope.items() if _is_text(value)}
        return _replace_values(self._sample.body, values)

    @property
    def fitting(self) -> Pool:
        """Bodies with one long, non-ASCII or unusual text; they may be invalid."""
        return Pool(Any, _fitting, self._arguments, SMALL_SIZE)

    @property
    def meaningful(self) -> Pool:
        """Bodies that differ in the meaning of one leaf; they may be invalid."""
        return Pool(Any, _meaningful, self._arguments, SMALL_SIZE)

    @property
    def _arguments(self) -> tuple[str, str, tuple[str, ...]]:
        return json.dumps(self.value), json.dumps(self._schema, sort_keys=True), tuple(sorted(self._keep))

    @staticmethod
    def adapt(body: Any, request: Request) -> Request:
        """The request with a body that was generated, and with the values of its own fixtures."""
        values = {_placeholder(name): str(value) for name, value in request.scope.items()}
        return request.with_body(_replace_values(body, values))

    def change_in_words(self, body: Any) -> str:
        """The places where a generated body differs from the sample's: `/reason is 5`."""
        adapted = self.adapt(body, self._sample).body
        found = [
            f"{place or 'the body'} is {'absent' if value is ABSENT else json.dumps(value, ensure_ascii=False)}"
            for place, _, value in differences(self._sample.body, adapted, _MAX_CHANGES)
        ]
        return " and ".join(found) or "the good body"


@lru_cache(maxsize=64)
def _fitting(body: str, schema: str, keep: tuple[str, ...]) -> SearchStrategy[Any]:
    return strategies.fitting_documents(json.loads(body), json.loads(schema), frozenset(keep))


@lru_cache(maxsize=64)
def _meaningful(body: str, schema: str, keep: tuple[str, ...]) -> SearchStrategy[Any]:
    return strategies.meaningful_changes(json.loads(body), json.loads(schema), frozenset(keep))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _placeholder(name: str) -> str:
    """Long enough to be recognized inside another text."""
    return f"fixture-{name}"


def _replace_values(value: Any, substitutions: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _replace_values(item, substitutions) for name, item in value.items()}
    if isinstance(value, list):
        return [_replace_values(item, substitutions) for item in value]
    if not isinstance(value, str):
        return value
    for old, new in substitutions.items():
        if value == old:
            return new
        value = value.replace(old, new) if len(old) >= _MIN_DISTINCT_LENGTH else value
    return value
