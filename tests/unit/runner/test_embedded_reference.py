"""The profile that `demo` states for a fault or a variant."""

from __future__ import annotations

import tomllib

import pytest

from conformance.core.errors import ConformanceError, UsageError
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import patched_profile
from conformance.profile import load_profile
from conformance.reference.registry import faults, variants
from conformance.runner import embedded_reference as module
from conformance.runner.embedded_reference import bundled_profiles, reference, stated_profile

BUNDLED = bundled_profiles() / "reference.toml"
SEEDED = [name for name, fault in faults().items() if fault.profile]


@pytest.mark.parametrize("ids", [{"fault": "F470"}, {"fault": SEEDED[0]}, {"variant": faults()["F470"].seeded_in}])
def test_a_fault_of_a_variant_is_judged_by_the_profile_of_that_variant(ids: dict[str, str]) -> None:
    """As in the kill matrix: the fault is a defect against what the variant's owner states."""
    (name,) = ids.values()
    seeded = faults().get(name) or variants()[name]
    assert seeded.profile
    with stated_profile(**ids) as path:
        stated = load_profile(path)
        expected = patched_profile(RunOptions(profile=BUNDLED), seeded.profile)
        assert stated.digest != load_profile(BUNDLED).digest
        assert (stated.authorization, stated.idempotency) == (expected.authorization, expected.idempotency)
        assert (stated.credentials, stated.operations) == (expected.credentials, expected.operations)
    assert not path.exists()


def test_what_states_nothing_else_has_the_bundled_profile() -> None:
    """Without ids, and for a fault of the base."""
    plain = next(name for name, fault in faults().items() if not fault.profile)
    for fault in ("", plain):
        with stated_profile(fault=fault) as path:
            assert path == BUNDLED
            assert tomllib.loads(path.read_text())["name"] == "reference"


def test_an_unknown_id_is_refused_before_a_service_is_started() -> None:
    """With the nearest one."""
    with pytest.raises(UsageError, match="F999"), stated_profile(fault="F999"):
        pass


def test_what_a_service_logs_does_not_hold_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads its standard error during a run: a full pipe blocked the service, and other faults survived."""
    started = 'print(\'{"base_url": "b", "control_url": "c", "credentials": {}}\', flush=True)'
    statements = f"import time; sys.stderr.write('x' * 1_000_000); {started}; time.sleep(60)"
    monkeypatch.setattr(module, "_CHILD_SOURCE", statements)
    with reference() as service:
        assert (service.base_url, service.control_url, service.environment) == ("b", "c", {})


def test_a_service_that_does_not_start_says_why_in_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHILD_SOURCE", "sys.exit('a\\nno port is free')")
    with pytest.raises(ConformanceError, match=r"^no port is free$"), reference():
        pass
