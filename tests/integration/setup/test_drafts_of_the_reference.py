"""A drafted profile gives a conformant run: the reference and the first half of its variants.

Base URL, keys and what only a person knows go in; what a variant changes of the rest is the probe's to find.
Two files, so that two processes share the work.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.model import Verdict
from conformance.reference.registry import variants
from conformance.runner.embedded_reference import Embedded
from tests.support.drafts import EVERY, bad, drafted, verdict


@pytest.mark.parametrize("target", EVERY[: len(EVERY) // 2], ids=lambda target: target or "reference")
def test_the_draft_of_a_target_gives_a_conformant_run(target: str, served: Embedded, tmp_path: Path) -> None:
    """All 20 operations are proven by the probe, and the run with its draft as it stands is conformant."""
    draft = drafted(served, tmp_path, target)
    assert draft.proven == draft.operations == 20
    run = verdict(draft, tmp_path)
    assert run.verdict is Verdict.CONFORMANT, bad(run)


def test_every_variant_is_drafted() -> None:
    """35 of 35: the reference and its 34 variants, in this file and in its twin."""
    assert ["", *variants()] == EVERY
    assert len(EVERY) == 35
