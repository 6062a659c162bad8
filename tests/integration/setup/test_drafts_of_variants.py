"""A drafted profile gives a conformant run: the other half of the variants, and what is drafted without any schema.

Base URL, keys and what only a person knows go in; what a variant changes of the rest is the probe's to find.
Two files, so that two processes share the work.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.outcomes import Verdict
from conformance.runner.embedded_reference import EmbeddedReference
from tests.support.drafts import CONFORMANT, KEYLESS, OPEN, SECRET, bad, drafted, verdict

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=20)]


@pytest.mark.parametrize("target", CONFORMANT[len(CONFORMANT) // 2 :], ids=lambda target: target or "reference")
def test_the_draft_of_a_target_gives_a_conformant_run(target: str, served: EmbeddedReference, tmp_path: Path) -> None:
    """All 20 operations are proven by the probe, and the run with its draft as it stands is conformant."""
    draft = drafted(served, tmp_path, target)
    assert draft.proven_operations == draft.operations == 20
    run = verdict(draft, tmp_path)
    assert run.verdict is Verdict.CONFORMANT, bad(run)


@pytest.mark.parametrize(("target", "requirement"), OPEN.items(), ids=list(OPEN))
def test_a_draft_leaves_open_what_only_a_person_can_exclude(
    target: str, requirement: str, served: EmbeddedReference, tmp_path: Path
) -> None:
    """No draft states an exclusion, for example that scopes are shown by other names."""
    draft = drafted(served, tmp_path, target)
    run = verdict(draft, tmp_path)
    assert {gap.requirement for gap in run.scope.open} == {requirement}, bad(run)


@pytest.mark.parametrize("target", KEYLESS)
def test_a_draft_takes_no_member_for_a_key_where_there_is_none(
    target: str, served: EmbeddedReference, tmp_path: Path
) -> None:
    """Where an equal call is a retry, every member of a body changes the outcome as a key would: nothing is stated."""
    run = verdict(drafted(served, tmp_path, target), tmp_path)
    assert run.verdict is Verdict.INCOMPLETE, bad(run)
    assert "idempotency" in {fact.key for fact in run.missing}


@pytest.mark.parametrize("target", SECRET)
def test_a_draft_asks_for_a_header_whose_value_it_masks(target: str, served: EmbeddedReference, tmp_path: Path) -> None:
    """A draft contains no credential, and the run with it is open where one is missing."""
    draft = drafted(served, tmp_path, target)
    text = draft.profile.read_text(encoding="utf-8")
    assert "Basic " not in text
    assert '# headers = {Authorization = "..."} # TODO' in text
    assert verdict(draft, tmp_path).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("target", ["", "D11", "D12", "D17", "D19", "D20"], ids=lambda target: target or "reference")
def test_a_draft_without_any_schema_gives_a_conformant_run(
    target: str, served: EmbeddedReference, tmp_path: Path
) -> None:
    """What is inferred of answers never fails the service that gave them, whichever answers the run then meets."""
    draft = drafted(served, tmp_path, target, schemas=False)
    inferred = draft.schema_document["components"]["schemas"]
    assert len(inferred) == 17
    run = verdict(draft, tmp_path)
    assert run.verdict is Verdict.CONFORMANT, bad(run)
