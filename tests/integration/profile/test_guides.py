"""What two operators tell their integrators is in their profiles, sentence by sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.profile.loader import load_profile
from tests.support.guides import quotations, sentences
from tests.support.paths import PROFILES

GUIDES = PROFILES / "guides"
NAMES = ("kestrel", "heron")
STATEABLE = 0.95


def _path(name: str, suffix: str) -> Path:
    return GUIDES / f"{name}.{suffix}"


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_of_the_guide_is_quoted_in_its_profile(name: str) -> None:
    """No sentence is missing, and none is quoted that the guide does not have."""
    quoted = [sentence for quotation in quotations(_path(name, "toml")) for sentence in quotation.sentences]
    assert sorted(quoted) == sorted(sentences(_path(name, "md")))


@pytest.mark.parametrize("name", NAMES)
def test_a_quotation_is_stated_or_left_out_with_a_reason(name: str) -> None:
    """Keys follow each quotation, or the reason why there are none; never neither, never both."""
    for quotation in quotations(_path(name, "toml")):
        assert bool(quotation.keys) != bool(quotation.left_out), quotation.sentences


@pytest.mark.parametrize("name", NAMES)
def test_at_least_95_percent_of_the_sentences_are_stated(name: str) -> None:
    """The language of profiles is as wide as what operators say."""
    found = list(quotations(_path(name, "toml")))
    stated = sum(len(quotation.sentences) for quotation in found if quotation.keys)
    assert stated / sum(len(quotation.sentences) for quotation in found) >= STATEABLE


@pytest.mark.parametrize("name", NAMES)
def test_the_profile_of_a_guide_loads(name: str) -> None:
    """It is a profile like any other: every key is known, every name leads somewhere."""
    profile = load_profile(_path(name, "toml"))
    assert profile.name == name
    assert profile.schemas.by_name


def test_a_sentence_without_a_statement_is_noticed(tmp_path: Path) -> None:
    """The instrument of the tests above: the last quotation has nothing under it."""
    (tmp_path / "p.toml").write_text("#> One.\nname = 1\n\n#> Two.\n# Left out: why.\n\n#> Three.\n", encoding="utf-8")
    found = list(quotations(tmp_path / "p.toml"))
    assert [(q.sentences, bool(q.keys), q.left_out) for q in found] == [
        (("One.",), True, ""),
        (("Two.",), False, "why."),
        (("Three.",), False, ""),
    ]
