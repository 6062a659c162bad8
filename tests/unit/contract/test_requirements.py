"""Every sentence of the interface belongs to a requirement that is checked, or says why it states nothing testable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest
import yaml

from conformance.checks.support.registry import all_checks
from conformance.contract import load_contract
from conformance.core.outcomes import Level
from conformance.judge.invariant_results import INVARIANTS
from tests.support.documents import shared

CONTRACT = load_contract()
LISTED: list[dict[str, Any]] = yaml.safe_load(
    (resources.files("conformance.contract") / "sentences.yaml").read_text(encoding="utf-8")
)
CHECKED = {check.requirement for check in all_checks()} | set(INVARIANTS)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a Markdown text: of its paragraphs and list items, and each row of a table but its head."""
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if not line.strip() or line.startswith(("#", "|---")) or following.startswith("|---"):
            continue
        if line.startswith("|"):
            yield line.strip()
        else:
            yield from re.split(r"(?<=\.) (?=[A-Z])", re.sub(r"^(- |\d+\. )", "", line.strip()))


def test_the_list_holds_every_sentence_of_the_interface_and_no_other() -> None:
    """In the interface's order, word for word."""
    assert [entry["sentence"] for entry in LISTED] == list(sentences(shared("interface.md")))


def test_sentences_are_told_apart() -> None:
    """What the comparison rests on: no part of a document is left out of it."""
    text = (
        "# Head\n\nOne of 2.0 and more. Two: none.\n\n| A | B |\n|---|---|\n| c | d. E |\n\n1. Three. Four:\n- five\n"
    )
    assert list(sentences(text)) == ["One of 2.0 and more.", "Two: none.", "| c | d. E |", "Three.", "Four:", "five"]


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry["sentence"][:40])
def test_a_sentence_belongs_to_requirements_that_are_checked_or_says_why_not(entry: dict[str, Any]) -> None:
    """One of the two, and neither empty: a requirement that exists and has a check, or a reason in a sentence."""
    assert set(entry) <= {"sentence", "requirements", "nothing", "remark"}
    assert ("requirements" in entry) != ("nothing" in entry)
    named = entry.get("requirements", [])
    assert len(set(named)) == len(named)
    assert [one for one in named if one not in CONTRACT.requirements or one not in CHECKED] == []
    for reason in (entry.get("nothing"), entry.get("remark")):
        assert reason is None or re.fullmatch(r"[A-Z].{15,}\.", reason)
    assert named or "nothing" in entry


@pytest.mark.parametrize("operation", CONTRACT.all, ids=lambda operation: operation.id)
def test_the_requirements_of_an_operation_apply_to_it(operation: Any) -> None:
    """The row of an operation in the table of endpoints names only what is checked on that very operation."""
    row = next(entry for entry in LISTED if entry["sentence"].startswith(f"| {operation.id} |"))
    alien = [one for one in row["requirements"] if operation.id not in CONTRACT.requirements[one].operations]
    assert alien == []


def test_every_required_requirement_belongs_to_a_sentence() -> None:
    """What is required of a service is the text of the interface, and nothing else."""
    named = {one for entry in LISTED for one in entry.get("requirements", ())}
    required = {one.id for one in CONTRACT.requirements.values() if one.level is Level.REQUIRED and not one.unchecked}
    assert required - named == set()
