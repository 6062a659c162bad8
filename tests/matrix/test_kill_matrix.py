"""Sharp: each seeded fault turns the requirement red that it violates. Sound: no legitimate variant fails.

A fault is shown here to the checks of its own requirement, and a fault of an invariant to the checks that bring about
every status, or to the few that have found it; the whole matrix, every fault and variant against every check, is a
command of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec
import pytest

from conformance.checks.support.registry import Instance
from conformance.core.outcomes import Outcome, Verdict
from conformance.engine.in_process import judge, patched_profile, reference_options
from conformance.judge.invariant_results import INVARIANTS
from conformance.reference.registry import Fault, Variant, faults, resolve, variants
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles
from conformance.runner.evidence import EVIDENCE_FILE, EvidenceFile

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RED = (Outcome.FAILED, Outcome.WARNED)
EVERY_STATUS = {
    "AUTH-1": ("absent", "one-character-changed"), "SCO-1": ("none",), "NF-1": ("",), "PUB-3": ("",),
    "BODY-1": ("absent",), "BODY-2": ("truncated",), "BODY-4": (), "BODY-6": ("charset",), "SRCH-1": ("q",),
    "IDEM-4": (), "VER-1": ("",), "ENV-2": (), "ENV-3": (), "OA-2": ("wrong",), "RATE-1": ("",),
}  # fmt: skip
"""Requirement -> the cases that show every status of every operation to the invariants; () for all."""
EVERY_SCRIPT = "a_text_of_any_script_is_replayed"
EVIDENCE = msgspec.json.decode(EVIDENCE_FILE.read_bytes(), type=EvidenceFile)
FINDERS = {
    "X165": "check_body_rules::a_body_ends_at_the_stated_depth",
    "X166": "check_search_pages::all_pages_together_hold_every_item_once",
    "X167": "check_public::an_unknown_merchant_is_answered_404",
    "X193": "check_search::odd_values_are_recorded",
}
"""Of faults that are newer than the evidence: a check of another requirement whose calls show them to an invariant."""
VARIANTS = ("D01", "D04", "D11", "D17")
"""Those that differ most; `conformance faults --all` takes all of them, and `.ci/run` runs it."""
SHORT_WINDOW = "F599"
"""A limit whose window is 50 ms: a machine that is busy for longer than that sends no burst within it."""


def _few_finders(fault: Fault) -> Collection[str]:
    """The checks that found the fault when the order was fitted, where they are so few that no other would do."""
    found = EVIDENCE.faults.get(fault.id)
    return found.checks.keys() if found is not None and not found.controls and len(found.checks) <= 4 else ()


def _shown(fault: Fault, instance: Instance) -> bool:
    requirement = instance.check.requirement
    if instance.check.id == FINDERS.get(fault.id):
        return True
    if fault.requirement not in INVARIANTS:
        return requirement == fault.requirement
    if instance.check.id in _few_finders(fault):
        return True
    if fault.operations and instance.operation.id not in fault.operations:
        return False
    if instance.check.name == EVERY_SCRIPT or requirement == fault.requirement:
        return True
    return requirement in EVERY_STATUS and (not EVERY_STATUS[requirement] or instance.case in EVERY_STATUS[requirement])


@pytest.mark.parametrize("fault", faults().values(), ids=lambda fault: fault.id)
def test_a_fault_is_killed_by_the_requirement_that_it_violates(
    fault: Fault, served: EmbeddedReference, tmp_path: Path
) -> None:
    """One seeded defect, its requirement red, and nothing broken in the suite itself.

    A lost update shows where one call begins while another one is between its read and its write, and a short window
    where a burst is shorter: three runs at most.
    """
    for number in range(3 if resolve(fault.id).overlap or fault.id == SHORT_WINDOW else 1):
        options = reference_options(
            served.base_url, served.control_url, fault.id, bundled_profiles() / "reference.toml", tmp_path / str(number)
        )
        profile = patched_profile(options, fault.profile) if fault.profile else None
        run = judge(options, lambda instance: _shown(fault, instance), profile=profile, keep_journal=False)
        assert not [result for result in run.results if result.outcome is Outcome.BROKEN]
        if any(result.requirement == fault.requirement and result.outcome in RED for result in run.results):
            return
    judged = [(r.requirement, r.operation, r.outcome.value, r.message) for r in run.results]
    pytest.fail(f"not red: {[line for line in judged if line[2] != 'inapplicable'][:20]}")


@pytest.mark.parametrize("name", VARIANTS)
def test_a_legitimate_variant_is_conformant(name: str, served: EmbeddedReference, tmp_path: Path) -> None:
    """Another way to fill in what the interface leaves open is certified like the first, with nothing inconclusive."""
    variant: Variant = variants()[name]
    options = reference_options(
        served.base_url, served.control_url, name, bundled_profiles() / "reference.toml", tmp_path / "run"
    )
    run = judge(options, profile=patched_profile(options, variant.profile), keep_journal=False)
    bad = [
        result for result in run.results if result.outcome not in (Outcome.PASSED, Outcome.INAPPLICABLE, Outcome.WARNED)
    ]
    assert run.verdict is Verdict.CONFORMANT, [(r.requirement, r.operation, r.outcome.value, r.message) for r in bad][
        :20
    ]
