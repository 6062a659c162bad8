"""Drawing random targets: repeatable, varied, and only where it is asked for."""

from __future__ import annotations

import json
import subprocess
import sys

from conformance.reference.random_targets.choices import target_from
from conformance.reference.random_targets.legitimate_values import CHOICES
from conformance.reference.random_targets.strategy import random_targets


def test_drawing_is_repeatable_and_varied() -> None:
    some = random_targets(60, 5)
    assert some == random_targets(60, 5) != random_targets(60, 6)
    assert len(set(some)) == 60
    assert all(target_from(json.loads(json.dumps(one.differences()))) == one for one in some)
    assert all(len({getattr(one, name) for one in some}) > 1 for name in CHOICES)


def test_what_no_word_excludes_is_stated_where_all_silence_is_excluded() -> None:
    """IDEM-4 needs a body with a member, and a schema whose members are all optional has none."""
    omitted = ["body.quotePublicCart", "body.createInstallationWebhook"]
    excluded, silent = (target_from({"silence": how, "omitted_facts": omitted}) for how in ("excluded", "silent"))
    assert list(silent.omitted_facts) == omitted
    assert list(excluded.omitted_facts) == omitted[1:]


def test_importing_the_reference_needs_no_hypothesis() -> None:
    code = "import sys, conformance.reference.server; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
