"""What the probe reads from answers alone."""

from __future__ import annotations

import time
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.setup.probe.answers import clock_offset


@pytest.mark.parametrize("age_s", [0, 60])
def test_a_date_is_compared_with_the_moment_when_it_arrived(age_s: int) -> None:
    """However long the probe waited since: the Date of an old answer is not a late clock."""
    date = formatdate(time.time() - age_s, usegmt=True)
    answer = SimpleNamespace(at=5.0, duration_s=0.0, header=lambda _: date)
    probe = SimpleNamespace(answers=[answer], sender=SimpleNamespace(elapsed_s=5.0 + age_s))
    offset = clock_offset(cast(Any, probe))
    assert offset is not None
    assert abs(offset) < 2
