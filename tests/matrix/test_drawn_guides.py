"""Random targets come with guides of their own: what the operator says, the profile states, and nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from conformance.engine.in_process import merge_patch
from conformance.reference.random_targets.choices import REFERENCE, RandomTarget, target_from
from conformance.reference.random_targets.legitimate_values import CHOICES, SUBSETS
from conformance.reference.random_targets.profile_writer import profile_of
from conformance.reference.random_targets.strategy import random_targets
from tests.support.drawn_guides.stated import stated
from tests.support.drawn_guides.writer import guide_of, said, text_of
from tests.support.paths import PROFILES

DOCUMENT = tomllib.loads((PROFILES / "reference.toml").read_text(encoding="utf-8"))
TARGETS = (REFERENCE, *random_targets(60, 22))
UNSAID: Mapping[str, str] = {
    "silence": "of the profile alone",
    "facts": "of the profile alone",
    "omitted_facts": "of the profile alone",
    "omitted_schemas": "of the profile alone",
    "key_in_schema": "the schemas say it",
    "closed_schemas": "the schemas say it",
    "error": "the schemas say it",
    "meta": "the schemas say it",
    "id_look": "the schemas say it",
    "id_start": "the schemas say it",
    "scopes_form": "the schemas say it",
    "media_type": "any JSON media type is good, and an answer shows its own",
    "json_text": "any text of the same value is good",
    "fingerprint": "a repeated request has the same bytes",
    "json_edges": "edges of JSON are judged by RFC 8259 alone",
    "challenge": "a header of a 401 that the interface does not name",
    "other_methods": "methods that the interface does not name",
    "id_grammar": "an unknown id is judged by the ids that the profile calls unknown",
    "id_status": "an unknown id is judged by the ids that the profile calls unknown",
    "nonce_status": "either status is a refusal that asks for a nonce",
    "chance_429": "every operation may answer 429 at any time",
    "chunked": "of the transport",
    "gzip": "of the transport",
    "close": "of the transport",
    "latency_ms": "of the transport",
    "latency_every": "of the transport",
}
"""Choices that no sentence about these tables tells, each with the reason."""
CONTEXTS: tuple[dict[str, Any], ...] = ({}, {"carrier": "body"}, {"on_flight": "conflict"}, {"work_ms": 20})
"""Some choices show only beside others."""


def _stated(target: RandomTarget) -> dict[str, Any]:
    return stated(merge_patch(DOCUMENT, profile_of(target, DOCUMENT)))


@pytest.mark.parametrize("target", TARGETS, ids=range(len(TARGETS)))
def test_the_guide_says_what_the_profile_states(target: RandomTarget) -> None:
    """Fact by fact, with equal values, where the owner omits nothing. The guide does not look at the profile."""
    whole = replace(target, omitted_facts=())
    assert said(whole) == _stated(whole)


@pytest.mark.parametrize("target", TARGETS, ids=range(len(TARGETS)))
def test_an_owner_states_no_fact_that_the_operator_could_not_say(target: RandomTarget) -> None:
    """What a profile with omissions states is in the guide with the same value, where the guide names every sign."""
    facts = said(replace(target, signs="several"))
    assert {name: value for name, value in _stated(target).items() if facts.get(name, facts) != value} == {}


def _is_said(name: str, value: Any) -> bool:
    return any(said(target_from({**others, name: value})) != said(target_from(others)) for others in CONTEXTS)


@pytest.mark.parametrize("name", [*CHOICES, *SUBSETS])
def test_a_choice_is_said_or_there_is_a_reason(name: str) -> None:
    """A new choice that no sentence tells is noticed, and so is a reason that is none any more."""
    values = CHOICES[name][1:] if name in CHOICES else [[item] for item in SUBSETS[name]]
    assert any(_is_said(name, value) for value in values) != (name in UNSAID)


def test_a_guide_leaves_out_what_its_operator_does_not_say() -> None:
    """The text has a sentence for each fact that is left, and none for what the profile omits."""
    target = target_from({"omitted_facts": ["bodies.unknown_members", "transitions"]})
    text = text_of(guide_of(target), _stated(target))
    assert "Unknown members" not in text
    assert "## States\n\n- A ticket can be used once." in text
