"""`conformance` with the order of another evidence file: `python -m tests.benchmarks.unseen_order FILE run ...`."""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.__main__ import main
from conformance.core.gc_tuning import reduce_collections

if __name__ == "__main__":
    file = Path(sys.argv.pop(1))
    with reduce_collections():  # as the program imports it: the time from its start is measured
        from conformance.runner import evidence
    evidence.EVIDENCE_FILE = file  # type: ignore[misc]
    main()
