"""The subjects of a kill matrix."""

from __future__ import annotations

import pytest

from conformance.core.errors import UsageError
from conformance.runner.kill_matrix import Row, format_row, select_subjects


def test_a_subject_that_is_named_twice_is_judged_once() -> None:
    """Its second run found the report folder of the first one, and the fault counted as survived."""
    assert [subject.id for subject in select_subjects(("F031", "D01", "F031"), with_variants=False)] == ["F031", "D01"]


def test_an_unknown_id_is_no_subject() -> None:
    with pytest.raises(UsageError, match="F0031"):
        select_subjects(("F0031",), with_variants=False)


@pytest.mark.parametrize(("verdict", "says_why"), [("incomplete", True), ("conformant", False)])
def test_a_fault_that_survives_an_incomplete_run_is_no_proof_of_a_gap(verdict: str, *, says_why: bool) -> None:
    """Not everything was judged, as on a service that stopped answering."""
    row = Row("F031", "a fault", "AUTH-1", False, verdict, (), (), 0, 75, 122.0)
    text = format_row(row)
    assert "SURVIVED" in text
    assert ("incomplete: not everything was judged" in text) == says_why
