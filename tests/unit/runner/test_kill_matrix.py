"""The subjects of a kill matrix."""

from __future__ import annotations

import pytest

from conformance.core.errors import UsageError
from conformance.runner.kill_matrix import select_subjects


def test_a_subject_that_is_named_twice_is_judged_once() -> None:
    """Its second run found the report folder of the first one, and the fault counted as survived."""
    assert [subject.id for subject in select_subjects(("F031", "D01", "F031"), with_variants=False)] == ["F031", "D01"]


def test_an_unknown_id_is_no_subject() -> None:
    with pytest.raises(UsageError, match="F0031"):
        select_subjects(("F0031",), with_variants=False)
