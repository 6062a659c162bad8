"""The gate takes a part of the kill matrix by its commit: over as many commits as there are parts, all of it."""

from __future__ import annotations

import pytest

from conformance.reference.registry import faults, variants
from tests.matrix.rotate import part


@pytest.mark.parametrize("first", [0, 7, 268_435_455])
def test_parts_in_a_row_are_the_whole_matrix(first: int) -> None:
    """Each fault and variant in exactly one of them."""
    taken = [name for seed in range(first, first + 4) for name in part(seed, 4)]
    assert sorted(taken) == sorted([*faults(), *variants()])


def test_a_part_has_some_of_both() -> None:
    """Sharpness and soundness are looked at for every commit."""
    for seed in range(4):
        assert set(part(seed, 4)) & set(faults())
        assert set(part(seed, 4)) & set(variants())
