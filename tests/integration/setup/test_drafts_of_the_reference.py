"""A drafted profile gives a conformant run: the reference and the first half of its variants.

Base URL, keys and what only a person knows go in; what a variant changes of the rest is the probe's to find.
Two files, so that two processes share the work.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.outcomes import Verdict
from conformance.runner.embedded_reference import EmbeddedReference
from tests.support.drafts import CONFORMANT, bad, drafted, verdict

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=20)]


@pytest.mark.parametrize("target", CONFORMANT[: len(CONFORMANT) // 2], ids=lambda target: target or "reference")
def test_the_draft_of_a_target_gives_a_conformant_run(target: str, served: EmbeddedReference, tmp_path: Path) -> None:
    """All 20 operations are proven by the probe, and the run with its draft as it stands is conformant."""
    draft = drafted(served, tmp_path, target)
    assert draft.proven_operations == draft.operations == 20
    run = verdict(draft, tmp_path)
    assert run.verdict is Verdict.CONFORMANT, bad(run)
