"""The other 50 of 100 runs that are interrupted at random moments and resumed: of a target with a fault."""

from __future__ import annotations

import pytest

from tests.integration.interruptions.harness import CHECKS, Bench, interrupted
from tests.support.commands import Desk, shared_reference

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=0)]

SELECTION = ("-k", "check_authentication and (Identity or quotePublicCart) or check_search or check_tenancy")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(Desk(tmp_path_factory.mktemp("runs"), shared_reference()), "F031", SELECTION)


@pytest.mark.parametrize("batch", range(5))
def test_an_interrupted_run_comes_to_what_a_whole_one_does(bench: Bench, batch: int) -> None:
    """Verdict, counts, exit code and each check's outcome; whatever the signal, and also where that happens twice."""
    assert bench.whole.told.verdict == "nonconformant"
    stages = interrupted(bench, range(10 * batch, 10 * batch + 10))
    print(dict(stages))
    assert sum(stages.values()) == 10
    assert stages[CHECKS]
