"""Side by side with the reference, a fault is a regression in its own row, and a variant is none anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.checks.support.registry import Instance
from conformance.core.model import Run
from conformance.decisions.comparison import CONFORM, Kind, compare
from conformance.engine.in_process import judge, patched_profile, reference_options
from conformance.reference.registry import faults, variants
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ASKED = frozenset({"AUTH-1", "SCO-1", "TEN-1", "BODY-2", "OA-2", "NF-1", "STA-2"})
"""Enough of the suite to see these faults by, and every status; their rows are looked at, and all invariants."""
FAULTS = (
    "F030", "F031", "F032", "F035", "F039", "F041", "F042", "F044", "F045", "F048", "F051", "F052", "F026", "F137",
    "F138", "F141", "F059", "F018", "F020", "F010",
)  # fmt: skip
VARIANTS = ("D01", "D02", "D04", "D05", "D07", "D09", "D11", "D14", "D17", "D28")
_SLOW = ("check_generated", "check_hostile", "check_walks")


def _shown(instance: Instance) -> bool:
    return instance.check.requirement in ASKED and instance.check.subject not in _SLOW


def _run(name: str, served: EmbeddedReference, folder: Path) -> Run:
    profile = bundled_profiles() / "reference.toml"
    options = reference_options(served.base_url, served.control_url, name, profile, folder / (name or "reference"))
    patch = variants()[name].profile if name in variants() else {}
    return judge(options, _shown, profile=patched_profile(options, patch), keep_journal=False)


@pytest.fixture(scope="module")
def reference(served: EmbeddedReference, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return _run("", served, tmp_path_factory.mktemp("reference"))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_a_regression_in_its_row(
    name: str, served: EmbeddedReference, reference: Run, tmp_path: Path
) -> None:
    """Requirement and operation are the fault's."""
    fault = faults()[name]
    comparison = compare([reference, _run(name, served, tmp_path)], ["reference", name])
    regressed = [one for one in comparison.differences if one.kind is Kind.REGRESSED]
    own = [one for one in regressed if one.requirement == fault.requirement]
    assert own, [(one.kind, one.requirement, one.operation, one.text) for one in comparison.differences][:20]
    if fault.operations:
        assert {one.operation for one in own} <= set(fault.operations)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_no_regression(name: str, served: EmbeddedReference, reference: Run, tmp_path: Path) -> None:
    """Whatever differs is free, or the profile's doing, or how long it takes."""
    comparison = compare([reference, _run(name, served, tmp_path)], ["reference", name])
    odd = [one for one in comparison.differences if not (CONFORM[one.kind] or one.kind in (Kind.PROFILE, Kind.LATENCY))]
    assert not odd, [(one.kind, one.requirement, one.operation, one.text) for one in odd][:20]


def test_the_reference_does_not_differ_from_itself(served: EmbeddedReference, reference: Run, tmp_path: Path) -> None:
    """Two runs of one service: nothing to tell, but perhaps the time that it took."""
    comparison = compare([reference, _run("", served, tmp_path)], ["reference", "again"])
    odd = [one for one in comparison.differences if one.kind is not Kind.LATENCY]
    assert not odd, [(one.kind, one.requirement, one.operation, one.text) for one in odd][:20]
